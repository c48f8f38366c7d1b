"""Markdown, plain text and JSON, and what holds for every format."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.story import Brief, Story
from fabula.story.export import Meta, find, formats
from fabula.story.export.plain import render_json, render_markdown, render_text

CREATED = datetime(2026, 3, 1, 12, 30, 15, 999, tzinfo=UTC)
STORY = (
    Story("The Keeper").add("Exposition", "A *cold* night.\n\n“Who's there?”").add("Climax", "The lamp & <b>it</b>.")
)


def meta(**changes: Any) -> Meta:  # noqa: ANN401 - any field of Meta
    fields: dict[str, Any] = {"title": "The Keeper", "author": "Ada Quill", "created": CREATED, "words": STORY.words}
    return Meta(**{**fields, **changes})


def test_the_formats() -> None:
    assert sorted(formats()) == ["docx", "epub", "fdx", "fountain", "json", "markdown", "odt", "rtf", "text"]
    suffixes = {".docx", ".epub", ".fdx", ".fountain", ".json", ".md", ".odt", ".rtf", ".txt"}
    assert {e.suffix for e in formats().values()} == suffixes


@pytest.mark.parametrize(("name", "found"), [("epub", "epub"), ("EPUB", "epub"), ("md", "markdown"), (".TXT", "text")])
def test_a_format_is_found_by_name_or_suffix(name: str, found: str) -> None:
    assert found == find(name).name


def test_an_unknown_format_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown format 'epubb'. Did you mean 'epub'\?"):
        find("epubb")
    with pytest.raises(UnknownNameError, match="Known: docx, epub, fdx, fountain, json, markdown, odt, rtf, text"):
        find("zzzzzz")


def test_the_table_of_formats_imports_nothing_heavy() -> None:
    code = "import fabula.story.export, sys; print([m for m in ('docx', 'lxml', 'markdown_it') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", sorted(formats()))
@pytest.mark.parametrize(
    "story",
    [
        STORY,
        Story(),
        Story("t").add("", ""),
        Story("t").add("a\x00b", "\ud83d \x01 \x0b\x0c ]]> <script>&amp; \ufffe\U0001f600 \u202e שלום"),
    ],
    ids=["normal", "empty", "blank scene", "hostile"],
)
def test_equal_input_gives_equal_bytes_for_any_story(name: str, story: Story) -> None:
    first = formats()[name].render(story, meta(title=story.title))
    assert first
    assert formats()[name].render(story, meta(title=story.title)) == first


def test_a_moment_without_a_zone_is_utc_and_others_are_converted() -> None:
    assert meta(created=CREATED.replace(tzinfo=None)).stamp() == "2026-03-01T12:30:15Z"
    assert meta(created=CREATED.replace(tzinfo=timezone(timedelta(hours=2)))).stamp() == "2026-03-01T10:30:15Z"


def test_the_identifier_is_made_from_title_author_and_text_unless_one_is_given() -> None:
    made = meta().urn(STORY)
    assert made.startswith("urn:uuid:")
    assert meta(words=9, created=CREATED + timedelta(1)).urn(STORY) == made
    assert meta().urn(STORY.add("More", "text")) != made
    assert meta(author="Another").urn(STORY) != made
    assert meta(identifier=" isbn:1 ").urn(STORY) == "isbn:1"
    assert meta().urn(Story().add("a", "\ud83d")).startswith("urn:uuid:")


@pytest.mark.parametrize("language", ["", "e", "english language", 'en"', "en_GB"])
def test_a_language_must_be_a_tag(language: str) -> None:
    with pytest.raises(UsageError, match=r"is not a language tag\. Use a tag such as 'en' or 'pt-BR'\."):
        meta(language=language).language_tag()
    assert meta(language="pt-BR").language_tag() == "pt-BR"


def test_markdown_has_breaks_between_scenes() -> None:
    assert render_markdown(STORY, meta(subtitle="A [tale]")).decode() == (
        "# The Keeper\n\n**A \\[tale]**\n\n*Ada Quill*\n\nA *cold* night.\n\n“Who's there?”\n\n* * *\n\n"
        "The lamp & <b>it</b>.\n"
    )


def test_markdown_shows_a_title_as_it_is_and_has_no_marks_of_ours() -> None:
    out = render_markdown(STORY, meta(title="*Not* <b>this\nend")).decode()
    assert out.startswith("# *Not* \\<b>this end\n")
    assert "<!--" not in out
    assert render_markdown(Story(), meta(title="", author="")).decode() == "\n"


def test_plain_text_is_what_was_written() -> None:
    assert render_text(STORY, meta(subtitle="A tale")).decode() == (
        "The Keeper\nA tale\nby Ada Quill\n\n\nA *cold* night.\n\n“Who's there?”\n\n* * *\n\nThe lamp & <b>it</b>.\n"
    )


def test_json_holds_the_story_and_not_the_address() -> None:
    brief = Brief("About a lamp.").text
    out = json.loads(render_json(STORY, meta(brief=brief, contact="1 Secret Lane", identifier="urn:x:1")))
    assert out == {
        "format": "fabula-story",
        "version": 1,
        "title": "The Keeper",
        "author": "Ada Quill",
        "words": 8,
        "brief": "About a lamp.",
        "meta": {"subtitle": "", "language": "en", "identifier": "urn:x:1", "created": "2026-03-01T12:30:15Z"},
        "scenes": [
            {"label": "Exposition", "words": 5, "text": "A *cold* night.\n\n“Who's there?”"},
            {"label": "Climax", "words": 3, "text": "The lamp & <b>it</b>."},
        ],
    }
