"""What readers of an exported file see: its language, titles of the story's own, and no notes of anybody."""

# ruff: noqa: RUF001 - letters of other scripts are what is tested

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime

import pytest

from fabula.story import Story
from fabula.story.export import Meta, formats, without_comments
from fabula.story.export.meta import title_for_readers
from fabula.story.language import language_of
from tongues import PARAGRAPHS


def meta(language: str = "en") -> Meta:
    return Meta(title="Mara", author="Ada", created=datetime(2026, 3, 1, tzinfo=UTC), words=1, language=language)


def shown(name: str, data: bytes) -> str:
    if name not in {"docx", "epub", "odt"}:
        return data.decode()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "".join(archive.read(one).decode() for one in archive.namelist() if one.endswith(("html", "xml", "opf")))


@pytest.mark.parametrize("tongue", PARAGRAPHS)
def test_the_language_is_read_from_the_text(tongue: str) -> None:
    assert language_of("\n\n".join(PARAGRAPHS[tongue])) == tongue


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("The lamp was lit, and nobody came to the door that night.", "en"),
        ("La lampada è accesa e non viene nessuno, ma il mare è calmo come sempre.", "it"),
        ("A lâmpada está acesa e ninguém vem, mas o mar não dorme e ela espera.", "pt"),
        ("De lamp is aan en niemand komt, maar zij wacht nog op het schip van haar vader.", "nl"),
        ("Лампа горить, і ніхто не йде, її світло їй не потрібне.", "uk"),
        ("Xyzzy.", "en"),
        ("", "en"),
    ],
)
def test_other_languages_are_told_apart_and_what_shows_none_is_english(text: str, tag: str) -> None:
    assert language_of(text) == tag


@pytest.mark.parametrize(
    "label", ["Exposition", "Rising Action", "Story", "story", "dialogue", "step-3", "Scene 4", "cell-2/dialogue", "7"]
)
def test_what_says_only_which_part_of_the_work_it_is_is_no_title(label: str) -> None:
    assert not title_for_readers(label, "en")
    book = shown("epub", formats()["epub"].render(Story("Mara").add(label, "It is cold."), meta()))
    assert label not in book.replace("epub:type", "")[book.find("<nav") :] or label in {"7", "story"}
    assert f">{label}<" not in book


def test_titles_of_the_story_stay_and_chapters_have_labels_in_other_languages() -> None:
    assert title_for_readers("The Letter", "en") == "The Letter"
    assert title_for_readers("Kapitel 3: Der Sturm", "de") == "Kapitel 3: Der Sturm"
    assert title_for_readers("Chapter 3", "en") == "Chapter 3"
    assert title_for_readers("Chapter 3", "de") == "Kapitel 3"


@pytest.mark.parametrize("name", sorted(formats()))
def test_notes_in_comments_stay_out_of_every_format(name: str) -> None:
    story = Story("Mara").add(
        "The Letter",
        "It is cold.\n\n<!-- make her colder -->\n\nShe waits. <!-- why?\nfor whom? -->Nobody comes.\n\n<!-- open",
    )
    text = shown(name, formats()[name].render(story, meta()))
    assert "colder" not in text
    assert "for whom" not in text
    assert "Nobody comes." in text
    assert without_comments(story).scenes[0].text == "It is cold.\n\nShe waits. Nobody comes.\n\n<!-- open"


def test_a_book_says_its_language_and_heads_its_contents_in_it() -> None:
    book = shown("epub", formats()["epub"].render(Story("Mara").add("Der Brief", "Es ist kalt."), meta("de")))
    assert "<dc:language>de</dc:language>" in book
    assert "<h1>Inhalt</h1>" in book
    assert ">Contents<" not in book
