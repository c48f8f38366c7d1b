"""Where a text states something that can be contradicted, and what would contradict it.

Anchors are statements of the text itself. Plants are pairs of sentences that contradict each other, for any story that
names somebody: for kinds of which a story seldom says anything twice, and for short stories.
"""

# ruff: noqa: E501 - pairs of sentences are read side by side

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.continuity.book import determiner, run_after, singular
from fabula.continuity.lexicon import (
    CIVIL,
    COLOURS,
    DETERMINERS,
    DISTINCT,
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

Kind: TypeAlias = Literal[
    "name", "number", "date", "colour", "side", "place", "object", "title", "kin", "life", "state"
]
ERROR_KINDS: Final[tuple[Kind, ...]] = (
    "name", "number", "date", "colour", "side", "place", "object", "title", "kin", "life", "state",
)  # fmt: skip
Reason: TypeAlias = Literal["announced", "reported", "second"]
REASONS: Final[tuple[Reason, ...]] = ("announced", "reported", "second")
Method: TypeAlias = Literal["swap", "qualify", "restate", "plant"]
_PLAIN_COLOURS: Final = ("red", "blue", "green", "yellow", "black", "white", "brown", "grey", "purple", "orange")
_PLACES: Final = ("Harwick", "Ostermouth", "Castellar", "Brannock", "Velden", "Tarsholm", "Lindow", "Marrabel")
_OFFICES: Final = ("captain", "major", "sergeant", "colonel", "professor", "judge", "inspector", "lieutenant", "deputy")
_IN: Final = frozenset({"in", "from", "to", "near", "at", "of", "through", "outside", "leaving", "reached"})
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


def anchors(book: Book, kind: Kind, rng: random.Random) -> list[Anchor]:
    """All anchors of a kind, in the order of the text; none of kinds that are only planted."""
    finder = _FINDERS.get(kind)
    return sorted(finder(book, rng), key=lambda anchor: anchor.start) if finder else []


def _like(word: str, model: str) -> str:
    """`word` with the capitals of `model`."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def _raw(line: Line, first: Word, last: Word) -> str:
    return line.text[first.start - line.start : last.end - line.start]


def _names(book: Book, rng: random.Random) -> Iterator[Anchor]:
    """A name that stands often enough, and a slip in it."""
    known = {word.text for line in book.lines for word in line.words}
    places: defaultdict[str, list[tuple[Line, Word]]] = defaultdict(list)
    for line in book.lines:
        for word in line.words:
            if word.text in book.names.tokens and word.capital and not word.owner:
                places[word.text].append((line, word))
    for name, found in sorted(places.items()):
        slip = misspelt(name, known, rng) if len(found) >= _MENTIONS and name.isascii() and name.isalpha() else ""
        if slip:
            line, word = found[0]
            sites = tuple(Site(w.start, w.end, _like(slip, _raw(at, w, w)), at, "swap") for at, w in found[1:])
            yield Anchor("name", name.title(), (name.title(), slip.title()), word.start, word.end, line, sites)


def _numbers(book: Book, rng: random.Random) -> Iterator[Anchor]:
    """A number of things, and another one for the same things."""
    for line in book.lines:
        for found in quantities(line):
            run = run_after(line, found.last, book) if found.kind == "cardinal" and found.value >= _FEWEST else []
            if len(run) != 1 or run[0].gap or singular(run[0].text) == run[0].text:
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
            sites = tuple(_counted_again(book, line, head, (spell(int(found.value)), other)))
            yield Anchor("number", head.text, (spell(int(found.value)), other), line.words[found.first].start, head.end,
                         line, sites, f"The {other} {head.text} had not been forgotten.")  # fmt: skip


def _another(value: int, rng: random.Random) -> int:
    """Another number of about that size."""
    low, high = max(_FEWEST, value // 2), max(value + 4, value * 2)
    if value >= _HUNDRED and value % _HUNDRED == 0:
        return rng.choice([n * 100 for n in range(max(1, low // 100), high // 100 + 1) if n * 100 != value])
    return rng.choice([n for n in range(low, min(high, low + 60) + 1) if n != value])


def _counted_again(book: Book, line: Line, head: Word, values: tuple[str, str]) -> Iterator[Site]:
    """Later mentions of the same things: with their number, or after a determiner."""
    for other in book.lines[line.number + 1 :]:
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


def _colours(book: Book, rng: random.Random) -> Iterator[Anchor]:
    """A thing of a colour, and another colour for it."""
    for line in book.lines:
        for at, word in enumerate(line.words[:-1]):
            if word.text not in COLOURS or not at or line.words[at + 1].gap:
                continue
            run = run_after(line, at + 1, book)
            article = determiner(line, at)
            if len(run) != 1 or not article or run[0].text in FLEETING or singular(run[0].text) != run[0].text:
                continue
            if not book.heads[run[0].text]:
                continue
            other = rng.choice([c for c in _PLAIN_COLOURS if c != word.text and {c, word.text} != {"gray", "grey"}])
            sites = tuple(_coloured_again(book, line, run[0], (word.text, other)))
            yield Anchor("colour", run[0].text, (word.text, other), word.start, run[0].end, line, sites,
                         f"The {other} {run[0].text} came to mind again.")  # fmt: skip


def _coloured_again(book: Book, line: Line, head: Word, values: tuple[str, str]) -> Iterator[Site]:
    for other in book.lines[line.number + 1 :]:
        for at, word in enumerate(other.words):
            if word.text != head.text or not at or word.gap:
                continue
            before = other.words[at - 1]
            if before.text == values[0]:
                yield Site(before.start, before.end, _like(values[1], _raw(other, before, before)), other, "swap")
            elif before.text in {"the", "his", "her", "their"} and _ends_group(other, at):
                yield Site(word.start, word.end, f"{values[1]} {_raw(other, word, word)}", other, "qualify")


def _swapped(
    book: Book, kind: Kind, other_of: Callable[[Line, int], tuple[str, str, int, int] | None]
) -> Iterator[Anchor]:
    """Anchors of values that are stated twice: `other_of` gives slot, other value, and first and last word."""
    stated: defaultdict[str, list[tuple[Line, int, str, int, int]]] = defaultdict(list)
    for line in book.lines:
        for at in range(len(line.words)):
            found = other_of(line, at)
            if found is not None:
                slot, new, first, last = found
                stated[f"{slot} {line.words[at].text}"].append((line, at, new, first, last))
    for slot, places in sorted(stated.items()):
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


def _places(book: Book, rng: random.Random) -> Iterator[Anchor]:
    acting = {line.words[at].text for line in book.lines for at in range(len(line.words) - 1)
              if line.words[at + 1].text in LIVES}  # fmt: skip
    other = rng.choice(_PLACES)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        known = word.text in book.names.tokens and word.capital and word.text not in acting and not word.owner
        alone = at + 1 >= len(line.words) or not line.words[at + 1].capital
        if known and alone and at and line.words[at - 1].text in _IN and word.text not in book.names.sex:
            return "place", other, at, at
        return None

    yield from _swapped(book, "place", other_of)


def _objects(book: Book, rng: random.Random) -> Iterator[Anchor]:
    present = {singular(word.text) for line in book.lines for word in line.words}
    options: defaultdict[str, list[str]] = defaultdict(list)
    for word, kind in KINDS.items():
        if word in DISTINCT and word not in present:
            options[kind].append(word)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        kind = KINDS.get(word.text)
        if kind is None or word.text not in DISTINCT or not options[kind]:
            return None
        article = determiner(line, at)
        return (word.text, options[kind][0], at, at) if article and article not in INDEFINITE else None

    for choice in options.values():
        rng.shuffle(choice)
    yield from _swapped(book, "object", other_of)


def _titles(book: Book, rng: random.Random) -> Iterator[Anchor]:
    other = rng.choice(_OFFICES)

    def other_of(line: Line, at: int) -> tuple[str, str, int, int] | None:
        word = line.words[at]
        follows = line.words[at + 1] if at + 1 < len(line.words) else None
        office = word.text in TITLES and word.text not in KIN and word.text not in CIVIL and word.capital
        if office and follows is not None and follows.text in book.names.tokens and not follows.gap:
            return follows.text, other if other != word.text else "warden", at, at + 1
        return None

    yield from _swapped(book, "title", other_of)


def _deaths(book: Book, rng: random.Random) -> Iterator[Anchor]:
    """A person who acts; a later sentence lets them have died long before the story."""
    acts: defaultdict[str, list[tuple[Line, int]]] = defaultdict(list)
    for line in book.lines:
        for at, word in enumerate(line.words[:-1]):
            if word.text in book.names.tokens and word.capital and line.words[at + 1].text in LIVES:
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


# Another mention of a day, a hand or a relative need not contradict the first: these kinds are planted.
_FINDERS: Final[dict[Kind, Callable[[Book, random.Random], Iterator[Anchor]]]] = {
    "name": _names,
    "number": _numbers,
    "colour": _colours,
    "place": _places,
    "object": _objects,
    "title": _titles,
    "life": _deaths,
}


@dataclass(frozen=True, slots=True)
class Plant:
    """A fact about `{who}` and a sentence that contradicts it; both hold one of two values."""

    subject: str
    values: tuple[str, str]
    fact: str
    again: str


_SIDES: Final = (("left", "right"), ("right", "left"))
_YEARS: Final = (("1952", "1961"), ("1908", "1913"), ("1977", "1969"))
_TOWNS: Final = (("Harwick", "Velden"), ("Brannock", "Lindow"), ("Ostermouth", "Marrabel"))
_COLOURS: Final = (("green", "red"), ("black", "yellow"), ("blue", "brown"))
_COUNTS: Final = (("three", "five"), ("seven", "four"), ("six", "nine"))
_RANKS: Final = (("Captain", "Judge"), ("Major", "Sergeant"), ("Inspector", "Colonel"))
_INSTRUMENTS: Final = (("violin", "trumpet"), ("flute", "cello"), ("piano", "banjo"))
_KIN: Final = (("brothers", "brother"), ("sisters", "sister"), ("cousins", "cousin"))
_STATES: Final = (("broken", "working"), ("locked", "unlocked"), ("empty", "full"))

_ALL: Final[dict[Kind, tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...]]] = {
    "side": (
        ("scar", "{who} had carried a scar on the {old} hand since childhood.", "The scar on the {new} hand of {who} had gone pale.", _SIDES),
        ("limp", "An old injury of the {old} leg made {who} limp.", "{who} rubbed the {new} leg, the one with the old injury.", _SIDES),
    ),
    "date": (
        ("birth", "{who} was born in {old}, as the register said.", "The papers said that {who} was born in {new}.", _YEARS),
        ("house", "The house of {who} was built in {old}.", "Over the door of the house of {who} stood that it was built in {new}.", _YEARS),
    ),
    "place": (
        ("birthplace", "{who} was born in {old}.", "{who}, who was born in {new}, had always missed it.", _TOWNS),
    ),
    "colour": (
        ("umbrella", "{who}'s umbrella was {old}.", "{who}'s {new} umbrella stood in its corner.", _COLOURS),
        ("satchel", "{who}'s satchel was {old}.", "{who}'s {new} satchel hung where it always hung.", _COLOURS),
    ),
    "number": (
        ("medals", "{who}'s {old} medals hung in a frame, all that there were.", "{who}'s {new} medals lay in a drawer.", _COUNTS),
        ("godchildren", "{who} had {old} godchildren.", "{who}'s {new} godchildren had all sent cards.", _COUNTS),
    ),
    "title": (
        ("rank", "On all papers the name was {old} {who}.", "The letter was for {new} {who}.", _RANKS),
    ),
    "object": (
        ("instrument", "The only instrument that {who} ever played was a {old}.", "{who} kept the {new}, played every day for years, in its case.", _INSTRUMENTS),
    ),
    "kin": (
        ("sibling", "{who} had never had any {old}.", "The {new} of {who} had written twice.", _KIN),
    ),
    "state": (
        ("safe", "The safe of {who} was {old}, and nothing could be done about it.", "As ever, the safe of {who} was {new}.", _STATES),
    ),
}  # fmt: skip


PLANTED: Final = frozenset(_ALL)


def plants(kind: Kind, names: list[str], rng: random.Random) -> list[Plant]:
    """All pairs of a kind for these people, in a drawn order; none for kinds that only a story's own words can give."""
    made: list[Plant] = []
    for who in names:
        for subject, fact, again, values in _ALL.get(kind, ()):
            old, new = rng.choice(values)
            pair = (fact.format(who=who, old=old), again.format(who=who, new=new))
            made.append(Plant(f"{subject} of {who}", (old, new), *pair))
    rng.shuffle(made)
    return made


_VOWELS: Final = "aeiou"
_NEAR: Final = {
    "s": "z", "z": "s", "c": "k", "k": "c", "v": "w", "w": "v", "n": "m", "m": "n", "t": "d", "d": "t", "b": "p",
    "p": "b", "y": "i", "g": "j", "j": "g", "l": "r", "r": "l", "f": "v", "h": "k", "q": "k",
}  # fmt: skip
_SHORTEST: Final = 4


def misspelt(name: str, known: set[str], rng: random.Random) -> str:
    """A slip in `name` that is no word of the text; empty for names of fewer than four letters, or if there is none.

    One letter is changed for one that is near it, doubled, left out, or changes places with the next one. The plural is
    never made, nor is a letter left out or added at the end.
    """
    if len(name) < _SHORTEST:
        return ""
    options = sorted(set(_slips(name)) - known - {name, name + "s"})
    return rng.choice(options) if options else ""


def _slips(name: str) -> list[str]:
    made = []
    for at in range(1, len(name)):
        head, letter, tail = name[:at], name[at], name[at + 1 :]
        if letter in _VOWELS:
            made += [head + other + tail for other in _VOWELS if other != letter]
        elif letter in _NEAR:
            made.append(head + _NEAR[letter] + tail)
        if tail:
            made += [head + tail, head + tail[0] + letter + tail[1:]]
            made += [head + letter + letter + tail] if letter not in (head[-1], tail[0]) else []
    return made
