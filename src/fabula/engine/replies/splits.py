"""Where the sections of a story begin, from a reply that gives each section's name and first sentence.

A model that copies a sentence may change its quotation marks, white space, capitals, or a word. A sentence is therefore
found by its letters if possible, and otherwise by its likeness above a floor. Sections follow each other, so the
places chosen for their sentences must be in that order.
"""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fabula.engine.replies.problem import ReplyProblem
from fabula.story.sentences import sentences, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_REPLY: Final = 200_000
_COMPARED: Final = 160  # letters of a sentence that are compared
_FEWEST: Final = 8  # letters; less is found letter by letter alone
_LIKE: Final = 82.0  # per cent of likeness from which on a sentence is the one that was meant
_WHOLE: Final = 100.0
_SHOWN: Final = 80  # letters of a sentence in a message
_LONGEST_SENTENCE: Final = 2000
_LONGEST_HEAD: Final = 120  # characters of a line that hold a header
_MOST_PLACES: Final = 40  # of a sentence that stands more than once
_CHOICES: Final = 5
_WORD: Final = re.compile(r"[^\W_]+")
_MARKS: Final = " \t>*_#\"'“”‘’«»`:-–—"
_HEAD: Final = (
    r"^[ \t>*_#•★⋆\-–—]*+(?:\d{{1,2}}[.)][ \t*_]*+)?[\[(<{{\"“*_]*(?:the )?{label}(?: section| part)?[\])>}}\"”*_]*"
)
_CLOSE: Final = r"(?:[ \t]*(?:[:\-–—]|$)|(?<=[\])>}*_])[ \t]*)"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a section may begin, and how like the story's sentence there is to the one that was given."""

    at: int
    likeness: float


def read_split(reply: str, story: str, labels: Sequence[str]) -> tuple[int, ...]:
    """Where each section of `story` begins, by the first sentences in the reply; the first section begins at 0.

    Raises:
        ReplyProblem: a section is missing, no sentence of the story is like the one given, or the sections are out of
            order; the message names the section.
    """
    given = _given(reply[:_LONGEST_REPLY], labels)
    missing = [f"[{label}]" for label in labels if label not in given]
    if missing:
        raise ReplyProblem(f"It lacks {' and '.join(missing)}: each section has a header and its first sentence.")
    empty = [f"[{label}]" for label in labels[1:] if not _letters(given[label])]
    if empty:
        raise ReplyProblem(f"No sentence stands behind {' and '.join(empty)}.")
    text = _Text(story)
    places = [[_Place(0, _WHOLE)], *(_places(given[label], label, text) for label in labels[1:])]
    return _rising(places, labels)


def _given(reply: str, labels: Sequence[str]) -> dict[str, str]:
    """What stands behind each section's header, up to the next one; of a header that comes again, the first counts."""
    heads = [(label, re.compile(_HEAD.format(label=re.escape(label)) + _CLOSE, re.IGNORECASE)) for label in labels]
    given: dict[str, list[str]] = {}
    lines: list[str] = []
    bracketed = rf"(?=\[(?:{'|'.join(map(re.escape, labels))})\])"
    for line in re.sub(bracketed, "\n", reply, flags=re.IGNORECASE).splitlines():
        found = next(((label, head) for label, pattern in heads if (head := pattern.match(line[:_LONGEST_HEAD]))), None)
        if found is None:
            lines.append(line)
            continue
        label, head = found
        lines = [line[head.end() :]]
        given.setdefault(label, lines)
    return {label: _first("\n".join(lines)) for label, lines in given.items()}


def _first(text: str) -> str:
    """The first sentence of what stands behind a header; a line that says "First sentence:" is none."""
    for line in text.splitlines():
        said = re.sub(r"^[\s>*_•\-]*(?:the )?first sentence[ \t]*[:\-–—][ \t]*", "", line, flags=re.IGNORECASE)
        if _letters(said):
            return said.strip(_MARKS)
    return ""


def _letters(text: str) -> str:
    """`text` as sentences are compared: words with single blanks, no case, no marks."""
    return " ".join(_WORD.findall(text.casefold()))


class _Text:
    """A story to search for sentences."""

    def __init__(self, story: str) -> None:
        self.story = story
        found = [(match.start(), match[0]) for match in _WORD.finditer(story)]
        self._at = [at for at, _ in found]
        self._words = f" {' '.join([word for _, word in found])} ".casefold()

    def holding(self, said: str) -> list[_Place]:
        """The beginnings of the sentences that have the words of `said` in a row; a long `said` may lack its end."""
        if len(said) >= _COMPARED:
            said = said.rpartition(" ")[0] or said
        found: list[int] = []
        at = self._words.find(f" {said} ")
        while at >= 0 and len(found) < _MOST_PLACES:
            found.append(self._beginning(self._at[self._words.count(" ", 0, at)]))
            at = self._words.find(f" {said} ", at + 1)
        return [_Place(at, _WHOLE) for at in dict.fromkeys(found)]

    def _beginning(self, at: int) -> int:
        """Where the sentence, or line, begins that holds a place."""
        start = max(self.story.rfind("\n", 0, at) + 1, at - _LONGEST_SENTENCE)
        if not self.story[start:at].strip():
            return at
        end = self.story.find("\n", at)
        line = self.story[start : min(end if end >= 0 else len(self.story), at + _LONGEST_SENTENCE)]
        return max((start + begin for begin, _ in spans(line) if start + begin <= at), default=at)

    @cached_property
    def beginnings(self) -> dict[int, str]:
        """The beginnings of all sentences and lines, by position."""
        lines = (found.end() for found in re.finditer(r"\n\s*", self.story))
        starts = {start for start, _ in spans(self.story)} | {at for at in lines if at < len(self.story)}
        return {at: _letters(self.story[at : at + 3 * _COMPARED])[:_COMPARED] for at in sorted(starts)}


def _places(sentence: str, label: str, text: _Text) -> list[_Place]:
    """The places that a sentence may have in the story, all that are alike letter by letter, else the likest."""
    told = _letters(sentence)[:_COMPARED]
    found = text.holding(told)
    if not found:
        first = _letters("".join(sentences(sentence)[:1]))[:_COMPARED]
        found = text.holding(first) or _like(told, text) or _like(first, text)
    if not found:
        raise ReplyProblem(
            f"No sentence of the story begins like the one for [{label}]: {_shown(sentence)}. Copy the first sentence "
            "of that section exactly from the story."
        )
    return found


def _like(said: str, text: _Text) -> list[_Place]:
    """The places of the sentences that are likest to `said`, if they are like enough."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - few commands need it

    if len(said) < _FEWEST:
        return []
    beginnings = {at: words[: len(said)] for at, words in text.beginnings.items()}
    likest = process.extract(said, beginnings, scorer=fuzz.ratio, score_cutoff=_LIKE, limit=_CHOICES)
    return [_Place(at, likeness) for _, likeness, at in likest]


def _rising(places: Sequence[Sequence[_Place]], labels: Sequence[str]) -> tuple[int, ...]:
    """One place for each section, each behind the one before, the likest in all; of equal ones the earliest."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {place.at: (place.likeness, (place.at,)) for place in places[0]}
    for label, before, choices in zip(labels[1:], labels, places[1:], strict=False):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for place in sorted(choices, key=lambda place: place.at):
            ways = [(total, way) for at, (total, way) in best.items() if at < place.at]
            if ways:
                total, way = max(ways, key=lambda one: (one[0], [-at for at in one[1]]))
                reached[place.at] = (total + place.likeness, (*way, place.at))
        if not reached:
            raise ReplyProblem(
                f"The sentence for [{label}] does not stand behind the one for [{before}] in the story. The sections "
                "follow each other in the order in which the story is told, and none is empty."
            )
        best = reached
    return max(best.values(), key=lambda one: (one[0], [-at for at in one[1]]))[1]


def _shown(sentence: str) -> str:
    return f'"{sentence[:_SHOWN]}{"..." if len(sentence) > _SHOWN else ""}"'
