"""Files that writers have: word processors, e-books and old encodings, at every door; and files that mean harm."""

# ruff: noqa: RUF001 - texts in many languages

from __future__ import annotations

import contextlib
import zipfile
from typing import TYPE_CHECKING

import pytest

from fabula.app.checking import stories_to_check
from fabula.app.importing import read_manuscript
from fabula.app.item_files import Selection, read_items
from fabula.app.sources import read_story
from fabula.base.errors import UsageError
from fabula.data import unpacked
from fabula.data.story_files import SUFFIXES, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

MOST = 20_000_000
EXPECTED = "# One\n\nMara *kept* the lamp.\n\n# Two\n\nThe gulls\u2014all of them\u2014were **gone**."
CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
BOOK = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="nav" href="nav.xhtml" properties="nav"/>'
    '<item id="b" href="text/b.xhtml"/><item id="a" href="text/a%20a.xhtml"/></manifest>'
    '<spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="b"/></spine></package>'
)
PAGE = (
    '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD" "x.dtd"><html><head><title>No</title></head>'
    "<body>{}</body></html>"
)
FIRST = PAGE.format("<h1>One</h1>\n<div><p>Mara\n <em>kept</em> the lamp.</p></div>")
SECOND = PAGE.format("<h1>Two</h1><p>The gulls&mdash;all of them&mdash;were <b>gone</b>.</p>")
ODT = (
    '<o:document-content xmlns:o="urn:office" xmlns:t="urn:text" xmlns:s="urn:style" xmlns:f="urn:fo">'
    '<o:automatic-styles><s:style s:name="T1"><s:text-properties f:font-style="italic"/></s:style>'
    '<s:style s:name="T2"><s:text-properties f:font-weight="bold"/></s:style></o:automatic-styles><o:body><o:text>'
    '<t:tracked-changes><t:p>Deleted.</t:p></t:tracked-changes><t:h t:outline-level="1">One</t:h>'
    '<t:p>Mara <t:span t:style-name="T1">kept</t:span><t:s/>the lamp.<t:note><t:p>A note.</t:p></t:note></t:p>'
    '<t:h t:outline-level="1">Two</t:h><t:p>The gulls\u2014all of them\u2014were '
    '<t:span t:style-name="T2">gone</t:span>.</t:p>'
    "</o:text></o:body></o:document-content>"
).replace("urn:office", "urn:oasis:names:tc:opendocument:xmlns:office:1.0")
RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\stylesheet{\s1 heading 1;}}{\*\generator Word;}"
    r"\pard\outlinelevel0 One\par\pard Mara {\i kept} the lamp.{\footnote A note.}{\deleted Gone.}\par"
    r"\pard\outlinelevel0 Two\par\pard The gulls\emdash all of them\u8212?were {\b gone}.\par}"
)


def packed(file: Path, parts: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file


def epub(file: Path, **parts: str) -> Path:
    pages = {"OPS/text/a a.xhtml": FIRST, "OPS/text/b.xhtml": SECOND, "OPS/nav.xhtml": PAGE.format("<p>Contents</p>")}
    return packed(file, {"META-INF/container.xml": CONTAINER, "OPS/book.opf": BOOK} | pages | parts)


def odt(file: Path) -> Path:
    return packed(file, {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ODT})


def rtf(file: Path) -> Path:
    file.write_text(RTF, encoding="ascii")
    return file


MADE: dict[str, Callable[[Path], Path]] = {"book.epub": epub, "novel.odt": odt, "old.rtf": rtf}


@pytest.mark.parametrize("name", MADE)
def test_headings_and_emphasis_of_word_processors_and_e_books_are_read_at_every_door(name: str, tmp_path: Path) -> None:
    file = MADE[name](tmp_path / name)
    assert text_of(file, MOST) == EXPECTED
    (checked,) = stories_to_check([file], Selection(None))
    (measured,) = read_items([file])
    assert checked.story.text.strip() == EXPECTED
    assert [scene.label for scene in measured.story.scenes] == [scene.label for scene in read_story(file).scenes]
    assert "Mara *kept* the lamp." in measured.story.text
    assert [part.title for part in read_manuscript(file).parts] == ["One", "Two"]
    (found,) = read_items([tmp_path])
    assert found.id == file.stem


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("\u201cSchöne Grüße\u201d, sagte er \u2013 über die Straße.", "cp1252"),
        ("Elle était très fatiguée, et déjà à la fenêtre.", "cp1252"),
        ("Zażółć gęślą jaźń, mówił żołnierz.", "cp1250"),
        ("«Où est-elle\u00a0?» dit Zoé à l\u2019été.", "mac_roman"),
        ("Она стояла у окна и смотрела на снег, и никто не знал почему.", "cp1251"),
        ("Она стояла у окна и смотрела на снег, и никто не знал почему.", "koi8_r"),
        ("他在灯塔里等了一个晚上，没有人来。她说：这是我的家。", "gb18030"),
        ("彼女は灯台のなかで一晩じゅう待っていたが、だれも来なかった。", "shift_jis"),
        ("그는 등대에서 밤새 기다렸지만 아무도 오지 않았다. 이것은 나의 집이다.", "cp949"),
        ("Mara kept the lamp. Она ждала.", "utf-16"),
        ("Mara kept the lamp.", "utf-16-le"),
        ("Mara kept the lamp: über.", "utf-16-be"),
        ("Mara kept the lamp: über.", "utf-8-sig"),
    ],
)
def test_texts_in_older_encodings_are_read(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes(text.encode(encoding))
    assert text_of(tmp_path / "old.txt", MOST) == text
    assert read_items([tmp_path / "old.txt"])[0].story.text == text


def test_a_screenplay_has_its_scenes_wherever_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "script.fountain"
    file.write_text("INT. LAMP - DAY\n\nMara came.\n\nEXT. QUAY - DAY\n\nShe left.\n", encoding="utf-8")
    (measured,) = read_items([file])
    assert [scene.label for scene in measured.story.scenes] == ["INT. LAMP - DAY", "EXT. QUAY - DAY"]
    assert ".fountain" in SUFFIXES


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.7 x", "is a PDF file. Save it as DOCX, Markdown or plain text"),
        (b"\xd0\xcf\x11\xe0abc", "is an old Word file, or one with a password"),
        (b"<!DOCTYPE html><p>Mara</p>", "is a web page"),
        (b"PK\x03\x04 no zip", "cannot be read as an archive: it is damaged"),
        (b"\xff\xfe\x00\xd8a", "not a text file"),
        (b"Mara \xb5\xb6\xb7\xa6 \xb7\xb6 came", "in an unknown encoding. Save it as UTF-8 text."),
        (b"Mara \x00\x01\x02 came", "contains binary data"),
        (b"{\\rtf1" + b"{" * 5000, "cannot be read as a Rich Text file: it is damaged"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(data: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "novel.txt"
    file.write_bytes(data)
    for door in (
        read_manuscript,
        read_story,
        lambda path: read_items([path]),
        lambda path: stories_to_check([path], Selection(None)),
    ):
        with pytest.raises(UsageError) as caught:
            door(file)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "what"), [("novel.odt", "an OpenDocument file"), ("a.docx", "a Word file"), ("b.epub", "an EPUB")]
)
@pytest.mark.parametrize("data", [b"Mara kept the lamp.", b"", b"PK\x03\x04"])
def test_a_damaged_file_of_a_word_processor_is_never_read_as_text(
    name: str, what: str, data: bytes, tmp_path: Path
) -> None:
    whole = odt(tmp_path / "whole.zip").read_bytes()
    for content in (data, whole[:-40], whole[4:], packed(tmp_path / "none.zip", {"a.xml": "<a/>"}).read_bytes()):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=rf"read as {what}|empty|is an archive, but"):
            read_manuscript(tmp_path / name)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"OPS/text/b.xhtml": "<html><p>not closed</html>"}, "cannot be read as an EPUB file: it is damaged"),
        ({"OPS/text/b.xhtml": '<!DOCTYPE html [<!ENTITY a "b">]><html><p>&a;</p></html>'}, "cannot be read as an EPUB"),
        ({"OPS/text/b.xhtml": "<html><p>" + "a" * 3_000_000 + "</p></html>"}, "unpacks to more than 1,000,000 bytes"),
        ({"META-INF/container.xml": "<container/>"}, "cannot be read as an EPUB"),
    ],
)
def test_books_that_mean_harm_are_refused(
    parts: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacked, "_UNPACKED", 1_000_000)
    with pytest.raises(UsageError, match=message):
        text_of(epub(tmp_path / "book.epub", **parts), MOST)


def test_a_book_reads_nothing_that_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "secret.xhtml").write_text(PAGE.format("<p>Secret.</p>"), encoding="utf-8")
    outside = BOOK.replace("text/b.xhtml", "../../secret.xhtml")
    assert "Secret" not in text_of(epub(tmp_path / "book.epub", **{"OPS/book.opf": outside}), MOST)


@pytest.mark.parametrize("piece", ["{", "}", "\\", "\\'", "\\a", "\\u1", "a", "\n", "\\*", "<", "&a", "&", "\xe9"])
def test_hostile_texts_are_read_in_linear_time(piece: str, tmp_path: Path) -> None:
    file = tmp_path / "old.rtf"
    file.write_bytes(b"{\\rtf1 " + (piece * (200_000 // len(piece))).encode("latin-1"))
    with contextlib.suppress(UsageError):
        text_of(file, MOST)
