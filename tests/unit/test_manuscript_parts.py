"""A manuscript in parts: where it is parted, what the parts are called, and that no word goes or comes."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from fabula.base.errors import UsageError
from fabula.continuity.parts import LONGEST, MOST, manuscript, of_story
from fabula.story import Scene, Story, count_words, plain, slug
from growth import LINEAR, growth

CHAPTERS = (
    "Chapter One\n\nMara lit the lamp.\n\n***\n\nPart of the way\n\nIvan slept.\n\nCHAPTER II\nThe Letter\n\nIt came."
)


def named(text: str) -> list[tuple[str, str]]:
    return [(part.name, part.title) for part in manuscript(text).parts]


def lines(text: str) -> list[str]:
    """The lines that are not blank: blank lines between two parts count as one."""
    return [line for line in plain(text).split("\n") if line]


@pytest.mark.parametrize(
    ("text", "way", "title", "names"),
    [
        ("# The Lamp\n\n## One\n\nA.\n\n## Two\n\nB.", "headings", "The Lamp", ["one", "two"]),
        ("# One\n\nA.\n\n# Two\n\nB.", "headings", "", ["one", "two"]),
        ("# The Lamp\n\n# One\n\nA.\n\n# Two\n\nB.", "headings", "The Lamp", ["one", "two"]),
        ("# The Lamp\n\nFor you.\n\n## One\n\nA.", "headings", "The Lamp", ["part-1", "one"]),
        ("## Part One\n\n### The Letter\n\nA.\n\n### The Storm\n\nB.", "headings", "", ["the-letter", "the-storm"]),
        ("## One\n\nA.\n\n```\n# no heading\n```\n\n## Two\n\nB.", "headings", "", ["one", "two"]),
        ("## One\n\nA.\n\n## Notes\n", "headings", "", ["one"]),
        (CHAPTERS, "chapters", "", ["chapter-one", "chapter-ii-the-letter"]),
        ("Kapitel 1\n\nA.\n\nKapitel 2\n\nB.", "chapters", "", ["kapitel-1", "kapitel-2"]),
        ("Prologue\n\nA.\n\n1\n\nB.\n\n2.\n\nMara.", "chapters", "", ["prologue", "chapter-1", "chapter-2"]),
        ("**I**\n\nA.\n\n**II**\n\nB.", "chapters", "", ["i", "ii"]),
        ("A.\n\n* * *\n\nB.\n\n#\n\nC.\n\n***\n", "breaks", "", ["part-1", "part-2", "part-3"]),
        ("Part of me went.\n\nPart of me\n\nstayed.", "whole", "", ["part-1"]),
        ("<!-- scene: Exposition -->\nA.\n\n<!-- scene: Climax -->\nB.", "scenes", "", ["exposition", "climax"]),
        ("INT. HALL - DAY\n\nMara.\n\nEXT. SEA - NIGHT\n\nIvan.", "scenes", "", ["int-hall-day", "ext-sea-night"]),
        ("Mara lit the lamp.", "whole", "", ["part-1"]),
    ],
)
def test_a_manuscript_is_parted_where_its_author_parted_it(text: str, way: str, title: str, names: list[str]) -> None:
    found = manuscript(text)
    assert (found.way, found.title, [part.name for part in found.parts]) == (way, title, names)
    if "<!--" not in text:
        assert lines("\n".join([f"# {title}" if title else "", *(part.text for part in found.parts)])) == lines(text)


def test_names_are_of_their_own_and_lead_nowhere() -> None:
    long = "The very long heading " * 8
    headings = ("../../etc/passwd", "One", "One", "Plan", "CON", "Глава 1", long)
    text = "\n\n".join(f"# {heading}\n\nMara." for heading in headings)
    names = [name for name, _ in named(text)]
    assert names == ["etc-passwd", "one", "one-2", "plan-2", "x-con", "chapter-1", slug(long)]
    assert named("# a --> {#b}\n\nA.\n\n# b\n\nB.")[0] == ("a-b", "a b}")


@pytest.mark.parametrize("paragraphs", [True, False])
def test_what_is_too_long_is_cut_and_keeps_every_word(*, paragraphs: bool) -> None:
    between = "\n\n" if paragraphs else " "
    text = between.join(f"Mara lit lamp {n} and went down to the sea." for n in range(3_000))
    found = manuscript(text)
    assert (found.way, found.cut) == ("length", len(found.parts) - 1)
    assert 4 <= len(found.parts) <= 7
    assert all(count_words(part.text) < LONGEST for part in found.parts)
    assert " ".join(part.text for part in found.parts).split() == text.split()
    headed = manuscript(f"# One\n\n{text}\n\n# Two\n\nB.")
    assert (headed.way, headed.parts[0].name, headed.parts[1].name) == ("headings", "one", "one-2")


def test_scenes_of_other_formats_get_their_labels_as_headings() -> None:
    story = Story(
        "The Lamp", (Scene("The Letter", "It came."), Scene("INT. HALL", "INT. HALL\n\nMara."), Scene("", "C."))
    )
    assert [part.text for part in of_story(story).parts] == ["## The Letter\n\nIt came.", "INT. HALL\n\nMara.", "C."]


def test_a_story_of_fabulas_own_keeps_its_breaks() -> None:
    story = Story("The Lamp", (Scene("one", "A."), Scene("two", "B.")), breaks=True)
    assert [part.text for part in manuscript(story.manuscript()).parts] == ["A.", "* * *\n\nB."]


@pytest.mark.parametrize("text", ["", " \n\n", "# The Lamp\n", "***\n\n---\n"])
def test_what_has_no_words_is_no_manuscript(text: str) -> None:
    with pytest.raises(UsageError, match=r"The manuscript is empty\. Give a manuscript with words in it\."):
        manuscript(text)


def test_more_headings_than_files_are_refused_in_words() -> None:
    text = "".join(f"# Chapter {n}\n\nMara.\n\n" for n in range(MOST + 1))
    with pytest.raises(UsageError, match=re.escape(f"has {MOST + 1:,} headings or breaks. Each becomes a file")):
        manuscript(text)


@pytest.mark.parametrize(
    "sign", ["#", "* ", " ", "\n", "-", "a", "I", "1.", "# a\n", "***\n\n", "Chapter 1\n", "`", "第"]
)
def test_long_runs_of_one_sign_take_linear_time(sign: str) -> None:
    def read(text: str) -> None:
        with suppress(UsageError):
            manuscript(text)

    assert growth(read, lambda n: "Mara. " + sign * (n // len(sign)) + " end.", 160_000) < LINEAR
