"""Where a text states something that can be contradicted later: anchors, and where and how to contradict them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.continuity.book import determiner, run_after, stem
from fabula.continuity.inject.slips import misspelt
from fabula.continuity.lexicon import (
    CIVIL,
    COLOURS,
    DETERMINERS,
    FLEETING,
    FUNCTION,
    INDEFINITE,
    KIN,
    KINDS,
    LIVES,
    LOOSE_HEADS,
    NUMBER_UNITS,
    TITLES,
)
from fabula.continuity.numbers import quantities, spell

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from fabula.continuity.book import Book, Line, Word
    from fabula.continuity.candidate import Reading
    from fabula.continuity.inject.labels import Kind, Method

_PLAIN_COLOURS: Final = ("red", "blue", "green", "yellow", "black", "white", "brown", "grey", "purple", "orange")
_PLACES: Final = ("Harwick", "Ostermouth", "Castellar", "Brannock", "Velden", "Tarsholm", "Lindow", "Marrabel")
_OFFICES: Final = ("captain", "major", "sergeant", "colonel", "professor", "judge", "inspector", "lieutenant", "deputy")
_IN: Final = frozenset({"in", "from", "to", "near", "at", "of", "through", "outside", "leaving", "reached"})
# Things that cannot be taken for each other, unlike a note and a letter.
_DISTINCT: Final = frozenset(
    [
        "car",
        "truck",
        "motorcycle",
        "bicycle",
        "bus",
        "ambulance",
        "violin",
        "piano",
        "guitar",
        "cello",
        "flute",
        "trumpet",
        "labrador",
        "poodle",
        "greyhound",
        "husky",
        "beagle",
        "tea",
        "coffee",
        "wine",
        "beer",
        "milk",
        "lemonade",
        "knife",
        "sword",
        "pistol",
        "rifle",
        "canoe",
        "yacht",
        "ferry",
        "rose",
        "lily",
        "tulip",
        "orchid",
        "oak",
        "pine",
        "birch",
        "willow",
        "ring",
        "necklace",
        "bracelet",
        "helmet",
        "beret",
        "briefcase",
        "backpack",
        "suitcase",
        "purse",
        "lantern",
        "candle",
        "typewriter",
        "laptop",
        "cigar",
        "cigarette",
        "boots",
        "sandals",
        "slippers",
    ]
)
_MENTIONS: Final = 5
_FEWEST: Final = 2
_HUNDRED: Final = 100


@dataclass(frozen=True, slots=True)
class Site:
    """Where another value can be put: the words at `start` to `end` become `new`; added words stand before them."""

    start: int
    end: int
    new: str
    line: Line
    method: Method


@dataclass(frozen=True, slots=True)
class Anchor:
    """A statement of the text, and what would contradict it.

    Attributes:
        kind: of the slot.
        subject: what it is about, as it stands in a sentence ("door").
        values: the text's own, and the other one.
        start, end: the words that state it.
        line: their sentence.
        sites: later mentions that can be changed.
        again: a sentence that states the other value; empty where mentions alone can be changed.
    """

    kind: Kind
    subject: str
    values: tuple[str, str]
    start: int
    end: int
    line: Line
    sites: tuple[Site, ...]
    again: str = ""


def anchors(reading: Reading, kind: Kind, rng: random.Random) -> list[Anchor]:
    """All anchors of a kind, in the order of the text."""
    return sorted(_FINDERS[kind](reading, rng), key=lambda anchor: anchor.start)


def _like(word: str, model: str) -> str:
    """`word` with the capitals of `model`."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def _raw(line: Line, first: Word, last: Word) -> str:
    return line.text[first.start - line.start : last.end - line.start]


def _names(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    """A name that stands often enough, and a slip in it."""
    known = {word.text for line in reading.book.lines for word in line.words}
    places: defaultdict[str, list[tuple[Line, Word]]] = defaultdict(list)
    for line in reading.book.lines:
        for word in line.words:
            if word.text in reading.cast.tokens and word.capital and not word.owner:
                places[word.text].append((line, word))
    for name, found in sorted(places.items()):
        slip = misspelt(name, known, rng) if len(found) >= _MENTIONS and name.isascii() and name.isalpha() else ""
        if slip:
            line, word = found[0]
            sites = tuple(Site(w.start, w.end, _like(slip, _raw(at, w, w)), at, "swap") for at, w in found[1:])
            yield Anchor("name", name.title(), (name.title(), slip.title()), word.start, word.end, line, sites)


def _numbers(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    """A number of things, and another one for the same things."""
    for line in reading.book.lines:
        for found in quantities(line):
            run = (
                run_after(line, found.last, reading.book) if found.kind == "cardinal" and found.value >= _FEWEST else []
            )
            if len(run) != 1 or run[0].gap or stem(run[0].text) == run[0].text:
                continue
            head = run[0]
            before = line.words[found.first - 1].text if found.first else ""
            if (
                head.text in LOOSE_HEADS
                or head.text in NUMBER_UNITS
                or before in {"of", "or", "than", "about", "another"}
            ):
                continue
            other = spell(_another(int(found.value), rng))
            sites = tuple(_counted_again(reading, line, head, (spell(int(found.value)), other)))
            yield Anchor("number", head.text, (spell(int(found.value)), other), line.words[found.first].start, head.end,
                         line, sites, f"The {other} {head.text} had not been forgotten.")  # fmt: skip


def _another(value: int, rng: random.Random) -> int:
    """Another number of about that size."""
    low, high = max(_FEWEST, value // 2), max(value + 4, value * 2)
    if value >= _HUNDRED and value % _HUNDRED == 0:
        return rng.choice([n * 100 for n in range(max(1, low // 100), high // 100 + 1) if n * 100 != value])
    return rng.choice([n for n in range(low, min(high, low + 60) + 1) if n != value])


def _counted_again(reading: Reading, line: Line, head: Word, values: tuple[str, str]) -> Iterator[Site]:
    """Later mentions of the same things: with their number, or after a determiner."""
    for other in reading.book.lines[line.number + 1 :]:
        for at, word in enumerate(other.words):
            if word.text != head.text or not at or word.gap:
                continue
            before = other.words[at - 1]
            if before.text == values[0]:
                raw = _raw(other, before, before)
                if at > 1 and other.words[at - 2].text in DETERMINERS:
                    yield Site(before.start, before.end, _like(values[1], raw), other, "swap")
            elif before.text in {"the", "these", "those"} and _ends_group(other, at):
                yield Site(word.start, word.end, f"{values[1]} {_raw(other, word, word)}", other, "qualify")


def _ends_group(line: Line, at: int) -> bool:
    """Whether a noun group ends at a word: nothing that it could describe comes right after it."""
    return at + 1 == len(line.words) or line.words[at + 1].gap or line.words[at + 1].text in FUNCTION


def _colours(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    """A thing of a colour, and another colour for it."""
    for line in reading.book.lines:
        for at, word in enumerate(line.words[:-1]):
            if word.text not in COLOURS or not at or line.words[at + 1].gap:
                continue
            run = run_after(line, at + 1, reading.book)
            article = determiner(line, at)
            if len(run) != 1 or not article or run[0].text in FLEETING or stem(run[0].text) != run[0].text:
                continue
            if not reading.book.heads[run[0].text]:
                continue
            other = rng.choice([c for c in _PLAIN_COLOURS if c != word.text and {c, word.text} != {"gray", "grey"}])
            sites = tuple(_coloured_again(reading, line, run[0], (word.text, other)))
            yield Anchor("colour", run[0].text, (word.text, other), word.start, run[0].end, line, sites,
                         f"The {other} {run[0].text} came to mind again.")  # fmt: skip


def _coloured_again(reading: Reading, line: Line, head: Word, values: tuple[str, str]) -> Iterator[Site]:
    for other in reading.book.lines[line.number + 1 :]:
        for at, word in enumerate(other.words):
            if word.text != head.text or not at or word.gap:
                continue
            before = other.words[at - 1]
            if before.text == values[0]:
                yield Site(before.start, before.end, _like(values[1], _raw(other, before, before)), other, "swap")
            elif before.text in {"the", "his", "her", "their"} and _ends_group(other, at):
                yield Site(word.start, word.end, f"{values[1]} {_raw(other, word, word)}", other, "qualify")


def _swapped(
    reading: Reading, kind: Kind, other_of: Callable[[Line, int], tuple[str, str, int, int] | None]
) -> Iterator[Anchor]:
    """Anchors of values that are told twice: `other_of` gives slot, other value, and first and last word."""
    told: defaultdict[str, list[tuple[Line, int, str, int, int]]] = defaultdict(list)
    for line in reading.book.lines:
        for at in range(len(line.words)):
            found = other_of(line, at)
            if found is not None:
                slot, new, first, last = found
                told[f"{slot} {line.words[at].text}"].append((line, at, new, first, last))
    for slot, places in sorted(told.items()):
        line, at, new, first, last = places[0]
        sites = tuple(
            Site(there.words[place].start, there.words[place].end,
                 _like(new, _raw(there, there.words[place], there.words[place])), there, "swap")
            for there, place, _, _, _ in places[1:]
        )  # fmt: skip
        subject = slot.rpartition(" ")[0]
        if sites:
            value = line.words[at].text
            yield Anchor(kind, subject, (value, new), line.words[first].start, line.words[last].end, line, sites)


def _places(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    acting = {line.words[at].text for line in reading.book.lines for at in range(len(line.words) - 1)
              if line.words[at + 1].text in LIVES}  # fmt: skip
    other = rng.choice(_PLACES)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        known = word.text in reading.cast.tokens and word.capital and word.text not in acting and not word.owner
        alone = at + 1 >= len(line.words) or not line.words[at + 1].capital
        if known and alone and at and line.words[at - 1].text in _IN and word.text not in reading.cast.sex:
            return "place", other, at, at
        return None

    yield from _swapped(reading, "place", other_of)


def _objects(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    present = {stem(word.text) for line in reading.book.lines for word in line.words}
    options: defaultdict[str, list[str]] = defaultdict(list)
    for word, kind in KINDS.items():
        if word in _DISTINCT and word not in present:
            options[kind].append(word)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        kind = KINDS.get(word.text)
        if kind is None or word.text not in _DISTINCT or not options[kind]:
            return None
        article = determiner(line, at)
        return (word.text, options[kind][0], at, at) if article and article not in INDEFINITE else None

    for choice in options.values():
        rng.shuffle(choice)
    yield from _swapped(reading, "object", other_of)


def _titles(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    other = rng.choice(_OFFICES)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        follows = line.words[at + 1] if at + 1 < len(line.words) else None
        office = word.text in TITLES and word.text not in KIN and word.text not in CIVIL and word.capital
        if office and follows is not None and follows.text in reading.cast.tokens and not follows.gap:
            return follows.text, other if other != word.text else "warden", at, at + 1
        return None

    yield from _swapped(reading, "title", other_of)


def _deaths(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    """A person who acts; a later sentence lets them have died long before the story."""
    acts: defaultdict[str, list[tuple[Line, int]]] = defaultdict(list)
    for line in reading.book.lines:
        for at, word in enumerate(line.words[:-1]):
            if word.text in reading.cast.tokens and word.capital and line.words[at + 1].text in LIVES:
                acts[word.text].append((line, at))
    years = spell(rng.randrange(3, 20))
    for name, places in sorted(acts.items()):
        if len(places) >= _FEWEST:
            line, at = places[0]
            start, end = line.words[at].start, line.words[at + 1].end
            again = f"{name.title()} had died {years} years before all of this began."
            yield Anchor("life", name.title(), ("alive", "dead"), start, end, line, (), again)


def line_is_plain(book: Book, line: Line) -> bool:
    """Whether a sentence can be added after this one: it is told, not spoken, and ends with a full stop."""
    scene = book.scenes[line.scene].text
    return not line.spoken and line.text.endswith(".") and not set('"“”') & set(scene[line.start : line.end + 2])


def _none(reading: Reading, rng: random.Random) -> Iterator[Anchor]:
    """Nothing: another mention of a day, a hand or a relative need not contradict the first; see `plants`."""
    del reading, rng
    yield from ()


_FINDERS: Final[dict[Kind, Callable[[Reading, random.Random], Iterator[Anchor]]]] = {
    "name": _names,
    "number": _numbers,
    "date": _none,
    "colour": _colours,
    "side": _none,
    "place": _places,
    "object": _objects,
    "title": _titles,
    "kin": _none,
    "life": _deaths,
    "state": _none,
}
