"""Putting labelled errors, and changes that are none, into a text."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.base.errors import UnknownNameError, UsageError
from fabula.continuity.book import Book
from fabula.continuity.inject.anchors import (
    ERROR_KINDS,
    PLANTED,
    REASONS,
    Anchor,
    Kind,
    Method,
    Reason,
    Site,
    anchors,
    line_is_plain,
    plants,
)
from fabula.continuity.lexicon import LIVES
from fabula.continuity.scenes import NumberedScene
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.continuity.book import Line

_TOLERANCE: Final = 0.25
_PAIR: Final = 2
_MOST_PEOPLE: Final = 6
_ANNOUNCED: Final[dict[Kind, str]] = {
    "name": "From that day on {old} spelt the name {new}, as the new papers had it.",
    "number": "The number of the {subject} had been changed, and there were {new} of them now.",
    "date": "It had been moved from {old} to {new}, as everyone had been told.",
    "colour": "The {subject} had been painted {new} in the meantime.",
    "side": "It was {new} and no longer {old}, after all that had been moved about.",
    "place": "They had since left {old} for {new}.",
    "object": "The {subject} had since been exchanged for something else, namely: {new}.",
    "title": "The promotion had come through, from {old} to {new}.",
    "kin": "Only later did it come out that there was a {new} after all, given away at birth.",
    "life": "{subject} would die in the end, but that lay far ahead.",
    "state": "The {subject} had since been changed from {old} to {new}.",
}
_REPORTED: Final[dict[Kind, str]] = {
    "name": "Someone at the door had once, wrongly, written the name as {new}.",
    "number": "A rumour, a wrong one, spoke of {new} {subject}.",
    "date": "Someone claimed, wrongly, that it was {new}.",
    "colour": "Someone claimed that the {subject} was {new}, which was a lie.",
    "side": "Someone claimed, wrongly, that it was the {new} {subject}.",
    "place": "Someone claimed, wrongly, that it was {new}.",
    "object": "Someone claimed, wrongly, to have seen the {new}.",
    "title": "A stranger said {new} by mistake.",
    "kin": "A stranger took the person for somebody's {new}, by mistake.",
    "life": "A rumour, a false one, had it that {subject} was dead.",
    "state": "Someone claimed, wrongly, that the {subject} was {new}.",
}
_SECOND: Final[dict[Kind, str]] = {
    "name": "A stranger by the name of {new}, no relation, had passed through.",
    "number": "Elsewhere there were {new} other {subject} as well.",
    "date": "Another occasion fell on {new}.",
    "colour": "There was another {subject} as well, a {new} one.",
    "side": "Somebody else had trouble with the {new} {subject}.",
    "place": "Somebody else had come from {new}.",
    "object": "There was a second thing elsewhere: {new}.",
    "title": "Another officer, a {new}, had passed through.",
    "kin": "Somebody else had brought a {new}.",
    "life": "Another person of the same first name had died long ago.",
    "state": "There was another {subject}, and that one was {new}.",
}
_SENTENCES: Final = {"announced": _ANNOUNCED, "reported": _REPORTED, "second": _SECOND}


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the changed text: where it is, in characters, and what it says."""

    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Label:
    """One change.

    Attributes:
        id: kind and number, as "colour-2".
        kind: what was changed.
        error: whether it contradicts the story; a matched negative does not.
        reason: why a negative is no error: the change is announced, only reported, or of a second thing; else empty.
        method: an existing mention was changed ("swap"), a word was added to one ("qualify"), a sentence was added
            that states it again ("restate"), or fact and contradiction were both added ("plant").
        subject: what it is about.
        values: the story's own value, and the one put in.
        fact: where the story states its own value.
        place: where the other value stands.
        distance: words between both.
    """

    id: str
    kind: Kind
    error: bool
    reason: Reason | Literal[""]
    method: Method
    subject: str
    values: tuple[str, str]
    fact: Span
    place: Span
    distance: int

    def data(self) -> dict[str, Any]:
        """The label for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Injected:
    """A text with its changes.

    Attributes:
        text: the changed text.
        labels: every change, in the order of the text.
        missing: by kind, how many of the errors asked for found no place.
    """

    text: str
    labels: tuple[Label, ...]
    missing: dict[str, int]

    @property
    def errors(self) -> tuple[Label, ...]:
        """The labels of errors."""
        return tuple(label for label in self.labels if label.error)

    @property
    def negatives(self) -> tuple[Label, ...]:
        """The labels of changes that are no errors."""
        return tuple(label for label in self.labels if not label.error)


@dataclass(frozen=True, slots=True)
class _Edit:
    """Text put at `start` to `end` of the source, and the part of it that holds the other value."""

    start: int
    end: int
    new: str
    focus: tuple[int, int]
    anchor: Anchor
    method: Method
    reason: Reason | Literal[""]
    error: bool
    planted: _Edit | None = None


@dataclass
class _Work:
    """A text under change: which of its sentences are taken, and the edits so far."""

    text: str
    book: Book
    rng: random.Random
    starts: list[int]
    edits: list[_Edit] = field(default_factory=list)
    facts: list[_Edit] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    used: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def on(cls, text: str, rng: random.Random) -> _Work:
        book = Book.of([NumberedScene(1, "", text, 0)])
        starts = [word.start for line in book.lines for word in line.words]
        return cls(text, book, rng, starts)

    def word(self, place: int) -> int:
        """How many words stand before a place in the text."""
        return bisect_left(self.starts, place)

    def free(self, line: Line) -> bool:
        """Whether a sentence can be changed or added to."""
        return line.number not in self.taken


def inject(
    text: str,
    kinds: Iterable[str] = ERROR_KINDS,
    *,
    n: int = 1,
    distance: int | None = None,
    seed: int = 1,
    negatives: bool = True,
) -> Injected:
    """A text with `n` errors of each kind, and for each error a change that looks like one and is none.

    Args:
        text: any story as plain text.
        kinds: of errors, out of `ERROR_KINDS`.
        n: errors of each kind; fewer are made where the text gives no more places, and `missing` says how many.
        distance: words between a fact and its contradiction, met as nearly as the text allows; any if not given.
        seed: the same seed gives the same text and labels.
        negatives: whether matched negatives are made: an announced change, reported speech, a second thing, in turns.

    Raises:
        UnknownNameError: there is no such kind.
        UsageError: the text is empty, or `n` or `distance` is no positive number.
    """
    wanted = _kinds(kinds)
    if not count_words(text):
        raise UsageError("The story is empty. Give a text with words in it.")
    if n < 1 or (distance is not None and distance < 1):
        raise UsageError(f"n = {n} and distance = {distance} have to be at least 1. Give larger numbers.")
    rng = random.Random(seed)  # noqa: S311 - draws of test stories, no secrets
    work = _Work.on(text, rng)
    missing: dict[str, int] = {}
    for kind in wanted:
        pool = anchors(work.book, kind, rng)
        rng.shuffle(pool)
        made = _some(work, pool, n, distance)
        made += _planted(work, kind, n - made, distance)
        if made < n:
            missing[kind] = n - made
        if negatives:
            _harmless(work, _bare(work, kind, pool), made)
    return _written(work, missing)


def _kinds(kinds: Iterable[str]) -> tuple[Kind, ...]:
    asked = tuple(dict.fromkeys(kinds))
    for name in asked:
        if name not in ERROR_KINDS:
            raise UnknownNameError("kind of error", name, ERROR_KINDS)
    return tuple(kind for kind in ERROR_KINDS if kind in asked)


def _some(work: _Work, pool: Sequence[Anchor], n: int, distance: int | None) -> int:
    """Make up to `n` errors from a shuffled pool; how many were made."""
    if distance is not None:
        pool = sorted(pool, key=lambda anchor: _miss(work, anchor, distance))
    made = 0
    for anchor in pool:
        if made == n:
            break
        if (anchor.kind, anchor.subject) in work.used or not work.free(anchor.line):
            continue
        edit = _error(work, anchor, distance)
        if edit is not None:
            _take(work, edit, anchor)
            made += 1
    return made


def _take(work: _Work, edit: _Edit, anchor: Anchor) -> None:
    work.edits.append(edit)
    work.used.add((anchor.kind, anchor.subject))
    work.taken.add(anchor.line.number)


def _planted(work: _Work, kind: Kind, n: int, distance: int | None) -> int:
    """Up to `n` facts put in together with their contradictions, where the story itself gives no more; how many."""
    lines = [line for line in work.book.lines if line_is_plain(work.book, line)]
    made = 0
    for plant in plants(kind, _people(work), work.rng) if n > 0 and lines else ():
        free = [line for line in lines if work.free(line)]
        if made == n or len(free) < _PAIR:
            break
        if (kind, plant.subject) in work.used:
            continue
        first, second = _apart(work, free, distance)
        anchor = Anchor(kind, plant.subject, plant.values, first.end, first.end, first, ())
        work.taken |= {first.number, second.number}
        fact = _added(anchor, first, plant.fact, "")
        edit = replace(_added(anchor, second, plant.again, ""), planted=fact, method="plant")
        work.facts.append(fact)
        _take(work, edit, anchor)
        made += 1
    return made


def _people(work: _Work) -> list[str]:
    """Whom a planted fact can be about: those who are named most, in words of one name."""
    tokens = work.book.names.tokens
    acting = Counter(
        word.text
        for line in work.book.lines
        for word, after in pairwise(line.words)
        if word.capital and word.text in tokens and after.text in LIVES
    )
    return [name.title() for name, _ in acting.most_common(_MOST_PEOPLE)] or ["Ansel"]


def _apart(work: _Work, lines: Sequence[Line], distance: int | None) -> tuple[Line, Line]:
    """Two sentences, as far from each other as asked, or as nearly so as the story allows."""
    if distance is None:
        first, second = sorted(work.rng.sample(range(len(lines)), 2))
        return lines[first], lines[second]
    at = [work.word(line.end) for line in lines]
    last = bisect_left(at, at[-1] - distance)
    first = work.rng.randrange(max(1, min(last, len(lines) - 1)))
    second = min(range(first + 1, len(lines)), key=lambda place: abs(at[place] - at[first] - distance))
    return lines[first], lines[second]


def _miss(work: _Work, anchor: Anchor, distance: int) -> float:
    """How far an anchor's best place is off the distance, in steps of a quarter of it, so that the shuffle decides."""
    sites = [site.start for site in anchor.sites]
    room = work.word(len(work.text)) - work.word(anchor.start)
    best = min((abs(work.word(start) - work.word(anchor.start) - distance) for start in sites), default=distance * 9)
    if anchor.again:
        best = min(best, max(0, distance - room))
    return best // max(1, distance * _TOLERANCE)


def _error(work: _Work, anchor: Anchor, distance: int | None) -> _Edit | None:
    """The edit that contradicts an anchor; by a mention near the distance, else by a sentence put there."""
    here = work.word(anchor.start)
    sites = [site for site in anchor.sites if work.free(site.line) and site.line is not anchor.line]
    if distance is not None:
        sites.sort(key=lambda site: abs(work.word(site.start) - here - distance))
        near = sites and abs(work.word(sites[0].start) - here - distance) <= distance * _TOLERANCE
        sites = sites[:1] if near or not (anchor.again or anchor.kind in PLANTED) else []
    else:
        work.rng.shuffle(sites)
    if sites:
        work.taken.add(sites[0].line.number)
        return _changed(anchor, sites[0])
    line = _place(work, anchor, distance) if anchor.again else None
    if line is None:
        return None
    work.taken.add(line.number)
    return _added(anchor, line, anchor.again, "")


def _changed(anchor: Anchor, site: Site) -> _Edit:
    return _Edit(site.start, site.end, site.new, (0, len(site.new)), anchor, site.method, "", error=True)


def _added(anchor: Anchor, line: Line, sentence: str, reason: Reason | Literal[""]) -> _Edit:
    """A sentence after a line."""
    return _Edit(
        line.end, line.end, f" {sentence}", (1, len(sentence) + 1), anchor, "restate", reason, error=not reason
    )


def _place(work: _Work, anchor: Anchor, distance: int | None) -> Line | None:
    """A free sentence after the anchor, near the distance, that another one can follow."""
    lines = [
        line for line in work.book.lines[anchor.line.number + 1 :] if work.free(line) and line_is_plain(work.book, line)
    ]
    if not lines:
        return None
    if distance is None:
        return work.rng.choice(lines)
    here = work.word(anchor.start)
    return min(lines, key=lambda line: abs(work.word(line.end) - here - distance))


def _bare(work: _Work, kind: Kind, pool: Sequence[Anchor]) -> list[Anchor]:
    """The anchors of a kind for negatives; where a story has none, a planted fact that nothing contradicts."""
    lines = [line for line in work.book.lines if line_is_plain(work.book, line) and work.free(line)]
    if pool or not lines:
        return list(pool)
    found = plants(kind, _people(work), work.rng)
    places = zip(found, work.rng.sample(lines, len(lines)), strict=False)
    return [Anchor(kind, one.subject, one.values, line.end, line.end, line, (), one.fact) for one, line in places]


def _harmless(work: _Work, pool: Sequence[Anchor], n: int) -> None:
    """Up to `n` negatives, on anchors that no error uses."""
    made = 0
    for anchor in pool:
        if made == n:
            return
        line = None if (anchor.kind, anchor.subject) in work.used else _place(work, anchor, None)
        if line is None or not work.free(anchor.line):
            continue
        reason = REASONS[made % len(REASONS)]
        old, new = anchor.values
        sentence = _SENTENCES[reason][anchor.kind].format(old=old, new=new, subject=anchor.subject)
        edit = _added(anchor, line, sentence, reason)
        if anchor.start == anchor.end:
            fact = _added(anchor, anchor.line, anchor.again, "")
            work.facts.append(fact)
            edit = replace(edit, planted=fact)
        work.taken.add(line.number)
        _take(work, edit, anchor)
        made += 1


def _written(work: _Work, missing: dict[str, int]) -> Injected:
    """The text with all edits, and their labels with places in it."""
    edits = sorted([*work.edits, *work.facts], key=lambda edit: (edit.start, edit.end))
    pieces, at = [], 0
    for edit in edits:
        pieces += [work.text[at : edit.start], edit.new]
        at = edit.end
    text = "".join([*pieces, work.text[at:]])
    counted: Counter[str] = Counter()
    labels = []
    for edit in sorted(work.edits, key=lambda edit: (edit.start, edit.end)):
        name = edit.anchor.kind if edit.error else f"{edit.anchor.kind}-negative"
        counted[name] += 1
        labels.append(_label(f"{name}-{counted[name]}", edit, edits, text, work))
    return Injected(text, tuple(labels), missing)


def _label(name: str, edit: _Edit, edits: Sequence[_Edit], text: str, work: _Work) -> Label:
    anchor = edit.anchor
    fact = (_moved(anchor.start, edits), _moved(anchor.end, edits))
    if edit.planted is not None:
        fact = _focus(edit.planted, edits)
    place = _focus(edit, edits)
    apart = abs(work.word(edit.start) - work.word(anchor.start))
    spans = (Span(*fact, text[slice(*fact)]), Span(*place, text[slice(*place)]))
    return Label(
        name, anchor.kind, edit.error, edit.reason, edit.method, anchor.subject, anchor.values, *spans, distance=apart
    )


def _moved(place: int, edits: Sequence[_Edit]) -> int:
    """Where a place of the source lies in the changed text; what is put in there lies after it."""
    return place + sum(len(e.new) - (e.end - e.start) for e in edits if e.end <= place and e.start < place)


def _focus(edit: _Edit, edits: Sequence[_Edit]) -> tuple[int, int]:
    """Where the words that an edit put in lie in the changed text."""
    start = edit.start + sum(len(e.new) - (e.end - e.start) for e in edits if e.end <= edit.start and e is not edit)
    return start + edit.focus[0], start + edit.focus[1]
