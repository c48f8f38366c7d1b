"""OpenDocument, Rich Text and Final Draft files."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.data.story_files import text_of
from fabula.story import Story
from fabula.story.export import Meta, fdx, find, odt, rtf

if TYPE_CHECKING:
    from pathlib import Path

STORY = Story("The *Keeper*").add("a", "## One\n\nA *cold* night.\n\n* * *\n\nFin.").add("b", "### Two\n\n“灯塔” {x}")
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def meta(**changes: Any) -> Meta:  # noqa: ANN401 - any field of Meta
    made = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
    fields = {"title": "The *Keeper*", "author": "Ada Quill", "created": made, "words": 1250, "contact": "1 Mill Lane"}
    return Meta(**{**fields, **changes})


def parts(story: Story, **changes: Any) -> dict[str, ET.Element]:  # noqa: ANN401 - any field of Meta
    with zipfile.ZipFile(io.BytesIO(odt.render(story, meta(**changes)))) as archive:
        assert archive.namelist()[0] == "mimetype"
        return {name: ET.fromstring(archive.read(name)) for name in archive.namelist()[1:]}  # noqa: S314 - our own


def test_an_opendocument_file_has_a_title_page_a_header_and_outline_levels() -> None:
    files = parts(STORY)
    shown = [("".join(one.itertext()), one.get(f"{TEXT}outline-level")) for one in files["content.xml"].iter()
             if one.tag in {f"{TEXT}p", f"{TEXT}h"}]  # fmt: skip
    assert shown == [
        ("1 Mill Laneabout 1,300 words", None), ("The Keeper", None), ("by Ada Quill", None), ("", None), ("One", "1"),
        ("A cold night.", None), ("#", None), ("Fin.", None), ("Two", "2"), ("“灯塔” {x}", None), ("END", None),
    ]  # fmt: skip
    header = "".join(files["styles.xml"].find(f"{OFFICE}master-styles").itertext())  # type: ignore[union-attr] # it is there
    assert header == "Quill / THE KEEPER / 2"


def test_han_has_fonts_of_its_own_in_every_word_processor() -> None:
    with zipfile.ZipFile(io.BytesIO(odt.render(STORY, meta(language="zh-TW")))) as archive:
        styles = archive.read("styles.xml").decode()
    assert 'style:language-asian="zh" style:country-asian="TW"' in styles
    assert 'style:font-name-asian="PMingLiU"' in styles
    assert "PMingLiU" in rtf.render(STORY, meta(language="zh-TW"))


def test_a_rich_text_file_is_ascii_and_has_outline_levels() -> None:
    text = rtf.render(STORY, meta())
    assert text.isascii()
    assert r"\outlinelevel1\pagebb" in text or r"\pagebb\outlinelevel1 Two\par" in text
    assert r"A {\i cold} night.\par" in text
    assert r"\u28783\'3f" in text
    assert r"\{x\}" in text


@settings(max_examples=15, deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_text_can_be_written(title: str, author: str, text: str) -> None:
    story = Story().add("a", text)
    assert "".join(parts(story, title=title, author=author, contact=text)["content.xml"].itertext()).endswith("END")
    made = rtf.render(story, meta(title=title, author=author, contact=text))
    assert len(re.findall(r"(?<!\\)\{", made.replace("\\\\", ""))) == len(
        re.findall(r"(?<!\\)\}", made.replace("\\\\", ""))
    )
    script = ET.fromstring(fdx.render(story, meta(title=title, author=author)))  # noqa: S314 - our own
    assert script.tag == "FinalDraft"


SCRIPT = """\
Title: The Lamp
Credit: written by
Author: Mara

FADE IN:

INT. LAMP ROOM - DAY #12#

= A synopsis.

Mara *kept* the _lamp_. [[a note]]

MARA
(softly)
Who's there?

@McAvoy ^
Me, **me**.

> Slowly to:

> FIN <
"""


def test_a_script_has_the_elements_of_final_draft(tmp_path: Path) -> None:
    made = fdx.render(Story().add("a", SCRIPT), meta(), is_fountain=True)
    assert fdx.left_out(Story().add("a", f"{SCRIPT}\n# Act Two\n\n===\n\n/* cut */")) == {
        "scene summary": 1,
        "note": 1,
        "section": 1,
        "cut passage": 1,
    }
    script = ET.fromstring(made)  # noqa: S314 - our own
    shown = [(one.get("Type"), "".join(text.text or "" for text in one.findall("Text"))) for one in
             script.iterfind("Content//Paragraph")]  # fmt: skip
    assert shown == [
        ("Action", "FADE IN:"), ("Scene Heading", "INT. LAMP ROOM - DAY"), ("Action", "Mara kept the lamp."),
        (None, ""), ("Character", "MARA"), ("Parenthetical", "(softly)"), ("Dialogue", "Who's there?"),
        ("Character", "McAvoy"), ("Dialogue", "Me, me."), ("Transition", "Slowly to:"), ("Action", "FIN"),
    ]  # fmt: skip
    assert '<Text Style="Italic">kept</Text><Text> the </Text><Text Style="Underline">lamp</Text>' in made
    assert "".join(script.find("TitlePage").itertext()) == "The Lampwritten byMara"  # type: ignore[union-attr] # it is there
    (tmp_path / "lamp.fdx").write_text(made, encoding="utf-8")
    again = text_of(tmp_path / "lamp.fdx", 10_000)
    assert again.startswith(
        "Title: The Lamp\nCredit: written by\nAuthor: Mara\n\n!FADE IN:\n\nINT. LAMP ROOM - DAY #12#"
    )
    assert "@McAvoy ^\nMe, **me**." in again or "MCAVOY ^\nMe, **me**." in again
    assert again.endswith("> Slowly to:\n\n> FIN <")


@pytest.mark.parametrize("name", ["docx", "odt", "rtf"])
def test_a_story_without_title_comes_back_without_one(name: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{name}").write_bytes(find(name).render(Story().add("a", "Mara *came*."), meta(title="")))
    assert text_of(tmp_path / f"a.{name}", 100_000) == "Mara *came*."
