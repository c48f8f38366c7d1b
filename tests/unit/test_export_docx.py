from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from typing import Any

import docx
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Inches, Pt
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.story import Story
from fabula.story.export import Meta
from fabula.story.export import docx as manuscript
from fabula.story.export.pages import rounded

STORY = (
    Story("The Keeper").add("Exposition", "A *cold* night.\n\n* * *\n\n“Who's **there**?”").add("Climax", "The lamp.")
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def meta(**changes: Any) -> Meta:  # noqa: ANN401 - any field of Meta
    made = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
    fields = {"title": "The Keeper", "author": "Ada Q. Quill", "created": made, "words": 1250, "language": "en-GB"}
    return Meta(**{**fields, "contact": "Ada Quill\n1 Mill Lane\nada@example.org", **changes})


def opened(story: Story = STORY, **changes: Any) -> Any:  # noqa: ANN401 - docx is untyped
    return docx.Document(io.BytesIO(manuscript.render(story, meta(**changes))))


def test_the_first_page_has_address_count_title_and_byline() -> None:
    paragraphs = opened(subtitle="A tale").paragraphs
    assert [p.text for p in paragraphs[:7]] == [
        "Ada Quill\tabout 1,300 words",
        "1 Mill Lane",
        "ada@example.org",
        "The Keeper",
        "A tale",
        "by Ada Q. Quill",
        "",
    ]
    assert paragraphs[0].style.paragraph_format.tab_stops[0].position == Inches(6.5)
    assert paragraphs[0].style.paragraph_format.line_spacing == 1.0
    assert paragraphs[3].style.paragraph_format.alignment == WD_ALIGN_PARAGRAPH.CENTER
    # Address and space together end in the middle of the page.
    assert paragraphs[3].paragraph_format.space_before.pt + 3 * 13.8 == pytest.approx(4.5 * 72, abs=1)


def test_the_story_is_indented_and_broken_by_a_centred_sign_and_ends() -> None:
    body = opened().paragraphs[6:]
    assert [(p.text, p.style.name) for p in body] == [
        ("A cold night.", "Manuscript Body"),
        ("#", "Manuscript Centred"),
        ("“Who's there?”", "Manuscript Body"),
        ("#", "Manuscript Centred"),
        ("The lamp.", "Manuscript Body"),
        ("END", "Manuscript End"),
    ]
    assert body[0].style.paragraph_format.first_line_indent == Inches(0.5)
    assert [(r.text, r.italic) for r in body[0].runs] == [("A ", None), ("cold", True), (" night.", None)]
    assert [r.text for r in body[2].runs if r.bold] == ["there"]


def test_page_and_type_are_those_of_a_manuscript() -> None:
    document = opened()
    section, normal = document.sections[0], document.styles["Normal"]
    assert (section.page_width, section.page_height) == (Inches(8.5), Inches(11))
    assert {section.left_margin, section.right_margin, section.top_margin, section.bottom_margin} == {Inches(1)}
    fonts = document.styles.element.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
    assert fonts.find(f"{W}rFonts").get(f"{W}ascii") == "Times New Roman"
    assert fonts.find(f"{W}sz").get(f"{W}val") == "24"
    assert (normal.paragraph_format.line_spacing, normal.paragraph_format.space_after) == (2.0, Pt(0))


def test_later_pages_have_a_header_with_a_page_field_and_the_first_has_none() -> None:
    section = opened().sections[0]
    header = section.header.paragraphs[0]
    assert header.text == "Quill / THE KEEPER / 2"
    assert header.alignment == WD_ALIGN_PARAGRAPH.RIGHT
    assert [e.text for e in header._p.iter(f"{W}instrText")] == [" PAGE "]
    assert [e.get(f"{W}fldCharType") for e in header._p.iter(f"{W}fldChar")] == ["begin", "separate", "end"]
    assert section.different_first_page_header_footer
    assert "".join(p.text for p in section.first_page_header.paragraphs) == ""


@pytest.mark.parametrize(
    ("title", "author", "header"),
    [
        ("", "", "UNTITLED / 2"),
        ("Short", "", "SHORT / 2"),
        ("A Very Long Title That Goes On And On", "Cher", "Cher / A VERY LONG TITLE THAT GOES / 2"),
        ("x" * 40, "Cher", "Cher / " + "X" * 30 + " / 2"),
    ],
)
def test_the_header_of_other_titles(title: str, author: str, header: str) -> None:
    assert opened(title=title, author=author).sections[0].header.paragraphs[0].text == header


@pytest.mark.parametrize(
    ("words", "stated"),
    [(0, 0), (49, 49), (50, 100), (149, 100), (150, 200), (1250, 1300), (1350, 1400), (30_049, 30_000)],
)
def test_word_counts_are_rounded_to_the_nearest_hundred(words: int, stated: int) -> None:
    assert rounded(words) == stated


def test_without_an_address_the_author_stands_there() -> None:
    assert opened(contact="").paragraphs[0].text == "Ada Q. Quill\tabout 1,300 words"
    assert opened(contact=" \n", author="").paragraphs[0].text == "\tabout 1,300 words"


def test_properties_say_what_was_handed_in() -> None:
    properties = opened(title="T" * 300).core_properties
    assert (properties.author, properties.last_modified_by) == ("Ada Q. Quill", "Ada Q. Quill")
    assert properties.title == "T" * 255
    assert (properties.created, properties.modified) == (datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC),) * 2
    assert (properties.comments, properties.revision, properties.language) == ("", 1, "en-GB")


def test_the_file_has_fixed_dates_and_no_foreign_picture() -> None:
    with zipfile.ZipFile(io.BytesIO(manuscript.render(STORY, meta()))) as archive:
        assert archive.namelist()[0] == "[Content_Types].xml"
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert [name for name in archive.namelist() if "thumbnail" in name] == []
        assert 'w:val="en-GB"' in archive.read("word/styles.xml").decode()


@settings(max_examples=15, deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_text_can_be_written(title: str, author: str, text: str) -> None:
    document = opened(Story().add("a", text), title=title, author=author, contact=text)
    assert document.paragraphs[-1].text == "END"
