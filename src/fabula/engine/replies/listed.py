"""Events that a model lists below headings, one a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.story import one_line
from fabula.story.sentences import spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LEAST_WORDS: Final = 4
_MARKS: Final = re.compile(r"[#*\s\d.):-]{1,12}")
_ITEM: Final = re.compile(r"\s{0,8}(?:[-*\u2022]|\d{1,2}[.):])\s{1,4}(.{1,400})")
_ABOUT: Final = re.compile(r"(?i)\b(?:story|mood|reader|scene|atmosphere)\b")  # no event, but speaks of the telling


def read_listed(text: str, headings: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The events that a list names, as single sentences, each with the heading that it stands below ("" for none).

    A heading is a line of few words that begins with one of `headings`, with whatever marks around it.
    """
    below = ""
    for line in text.splitlines():
        if heading := _heading(line, headings):
            below = heading
        elif event := _event(line):
            yield below, event


def _heading(line: str, headings: Sequence[str]) -> str:
    marks = _MARKS.match(line)
    said = line[marks.end() if marks else 0 :].lower()
    return next((one for one in headings if said.startswith(one.lower()) and len(said) < 2 * len(one)), "")


def _event(line: str) -> str:
    """The event of a line in a list, as one sentence; empty where there is none."""
    item = _ITEM.match(line)
    said = one_line(item[1]).replace("**", "").strip() if item else ""
    first = said[: spans(said)[0][1]] if said else ""
    whole = len(first.split()) >= _LEAST_WORDS and first.endswith((".", "!", "?", "\u201d", '"'))
    return first if whole and not _ABOUT.search(first) else ""
