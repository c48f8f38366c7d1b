"""Word files as Markdown: headings in every language, emphasis, what was deleted; and files that mean harm."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from fabula.app.importing import read_manuscript
from fabula.app.sources import read_story
from fabula.base.errors import UsageError
from fabula.data import unpacked
from fabula.data.story_files import text_of

if TYPE_CHECKING:
    from pathlib import Path

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = (
    f'<w:styles {W}><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>'
)


NOT_ITALIC = '<w:i w:val="0"/>'


def paragraph(text: str, style: str = "") -> str:
    shown = f'<w:pPr><w:pStyle w:val="{style}"/><w:rPr><w:i/></w:rPr></w:pPr>' if style else ""
    return f"<w:p>{shown}{text}</w:p>"


def run(text: str, emphasis: str = "") -> str:
    return f'<w:r><w:rPr>{emphasis}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def packed(file: Path, *paragraphs: str, head: str = "", name: str = "word/document.xml", styles: str = STYLES) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        if styles:
            archive.writestr("word/styles.xml", styles)
        archive.writestr(name, f"{head}<w:document {W}><w:body>{''.join(paragraphs)}</w:body></w:document>")
    return file


def test_paragraphs_headings_and_emphasis_are_read(tmp_path: Path) -> None:
    file = packed(
        tmp_path / "novel.docx",
        paragraph(run("The Lamp"), "Titel"),
        paragraph(run("by Mara")),
        paragraph(run("The ") + run("Letter"), "berschrift1"),
        paragraph(
            run("It was ") + run("not ", "<w:i/>") + run("there", '<w:i w:val="1"/>') + run(".", '<w:i w:val="0"/>')
        ),
        paragraph(
            "<w:r><w:tab/></w:r>" + run("Ivan", "<w:b/>") + run(" &lt;came&gt;") + "<w:r><w:br/></w:r>" + run("late.")
        ),
        paragraph(""),
        paragraph(
            f"<w:del>{run('Gone.')}</w:del><w:ins>{run('There.')}</w:ins><w:moveFrom>{run('Moved.')}</w:moveFrom>"
        ),
        "<w:tbl><w:tr><w:tc>" + paragraph(run("A cell.")) + "</w:tc></w:tr></w:tbl>",
        paragraph(run("The Storm"), "berschrift1"),
        paragraph(run("It blew.")),
    )
    assert text_of(file, 20_000_000) == (
        "# The Lamp\n\nby Mara\n\n## The Letter\n\nIt was *not there*.\n\n**Ivan** <came>\nlate.\n\nThere.\n\n"
        "A cell.\n\n## The Storm\n\nIt blew."
    )
    assert read_story(file).title == "The Lamp"
    found = read_manuscript(file)
    assert (found.title, [part.name for part in found.parts]) == ("The Lamp", ["part-1", "the-letter", "the-storm"])


def test_headings_are_read_where_no_styles_are_named(tmp_path: Path) -> None:
    words = paragraph(run("The Lamp"), "Title"), paragraph(run("One"), "Heading1"), paragraph(run("Mara came."))
    file = packed(tmp_path / "novel.docx", *words, styles="")
    assert text_of(file, 20_000_000) == "# The Lamp\n\n## One\n\nMara came."


def test_a_file_of_python_docx_is_read(tmp_path: Path) -> None:
    document = pytest.importorskip("docx", reason="python-docx is an extra").Document()
    document.add_heading("The Lamp", 0)
    document.add_heading("One", 1)
    document.add_paragraph("Mara ").add_run("kept").italic = True
    document.save(str(tmp_path / "novel.docx"))
    assert text_of(tmp_path / "novel.docx", 20_000_000) == "# The Lamp\n\n## One\n\nMara *kept*"


def test_what_unpacks_to_far_more_than_a_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "_UNPACKED", 1_000_000)
    file = packed(tmp_path / "bomb.docx", paragraph(run("a" * 5_000_000)))
    assert file.stat().st_size < 10_000
    with pytest.raises(
        UsageError, match=r"bomb\.docx unpacks to more than 1,000,000 bytes, which is too much for a text\."
    ):
        text_of(file, 20_000_000)


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
        "<unclosed>",
    ],
)
def test_entities_and_broken_files_are_refused_in_words(tmp_path: Path, head: str) -> None:
    file = packed(tmp_path / "novel.docx", paragraph(run("Mara.")), head=head)
    with pytest.raises(
        UsageError, match=r"novel\.docx cannot be read as a Word file: it is damaged or has another format\."
    ):
        read_manuscript(file)


def test_other_packed_and_empty_files_are_refused_in_words(tmp_path: Path) -> None:
    other = packed(tmp_path / "book.docx", name="pictures.xml")
    with pytest.raises(
        UsageError,
        match=r"is an archive, but no manuscript: it has no Markdown or text files, and is none of Markdown",
    ):
        read_manuscript(other)
    cut = tmp_path / "cut.docx"
    cut.write_bytes(packed(tmp_path / "whole.docx", paragraph(run("Mara."))).read_bytes()[:-40])
    with pytest.raises(UsageError, match="cannot be read as a Word file"):
        read_manuscript(cut)
    with pytest.raises(UsageError, match=r"The manuscript .*empty\.docx is empty"):
        read_manuscript(packed(tmp_path / "empty.docx", paragraph("")))
    locked = io.BytesIO(b"\xd0\xcf\x11\xe0 an encrypted file").getvalue()
    (tmp_path / "locked.docx").write_bytes(locked)
    with pytest.raises(UsageError, match="is an old Word file"):
        read_manuscript(tmp_path / "locked.docx")


def test_a_packed_file_that_nests_deeply_is_no_trouble(tmp_path: Path) -> None:
    deep = "<w:sdt>" * 50_000 + paragraph(run("Mara.")) + "</w:sdt>" * 50_000
    assert text_of(packed(tmp_path / "deep.docx", deep), 20_000_000) == "Mara."
