"""Variants of a name: a rare spelling beside a frequent one ("Okafor", once "Okofor")."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import DamerauLevenshtein

from fabula.continuity.candidate import Candidate, cues_near, passage
from fabula.continuity.lexicon import DETERMINERS, FUNCTION, KIN, NOT_NAMES, TITLES
from fabula.continuity.numbers import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Book, Line, Word
    from fabula.continuity.candidate import Reading

_SHORTEST: Final = 4
_LONG: Final = 6  # names from this length on may differ by two letters
_TWO: Final = 2
_MOST_RARE: Final = 3
_TIMES: Final = 3  # the frequent form stands at least so many times as often; twice for long names
_SOUNDING: Final = 10  # a name that often, for a slip that only sounds like it
_SILENT: Final = str.maketrans("", "", "aeiouhwy")
_SUFFIXES: Final = (
    "s",
    "es",
    "n",
    "an",
    "ian",
    "ish",
    "ese",
    "ic",
    "er",
    "ers",
    "ite",
    "y",
    "ly",
    "ns",
    "ans",
    "ians",
    "i",
    "ed",
    "ing",
)
# Words that say that the spelling itself is spoken of, or that another bearer of the name is.
_SPELLING: Final = frozenset(
    [
        "misspelt",
        "misspelled",
        "mispronounced",
        "misread",
        "spelt",
        "spelled",
        "spelling",
        "pronounced",
        "wrongly",
        "mistakenly",
        "mistake",
        "typo",
        "relation",
        "namesake",
        "stranger",
        "nickname",
        "nicknamed",
    ]
)
_MOST_NAMES: Final = 4000


@dataclass
class _Seen:
    """Where a capitalised word stands."""

    count: int = 0
    small: int = 0
    inside: int = 0
    known: int = 0
    places: list[tuple[Line, Word]] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def name_variants(reading: Reading) -> Iterator[Candidate]:
    """A capitalised word that stands at most three times, one or two letters away from one that stands often.

    Not taken: plurals and adjectives of a name, short forms ("Dan" of "Daniel"), words that the story also writes
    small, and two words that stand in one sentence, which are two names.
    """
    book = reading.book
    seen = _capitals(book)
    frequent = {word: one for word, one in seen.items() if one.count > _MOST_RARE and _is_name(one)}
    if len(frequent) > _MOST_NAMES:
        ranked = sorted(frequent, key=lambda word: -frequent[word].count)[:_MOST_NAMES]
        frequent = {word: frequent[word] for word in ranked}
    buckets: defaultdict[int, list[str]] = defaultdict(list)
    for word in frequent:
        buckets[len(word)].append(word)
    for rare, one in seen.items():
        if one.count <= _MOST_RARE and not one.small and len(rare) >= _SHORTEST:
            near = [w for size in range(len(rare) - 2, len(rare) + 3) for w in buckets[size] if _variant(w, rare)]
            near = [w for w in near if _fits(one, frequent[w]) and _often(w, frequent[w], rare, one)]
            if near:
                best = max(near, key=lambda word: frequent[word].count)
                yield _candidate(book, (best, frequent[best]), (rare, one))


def _capitals(book: Book) -> dict[str, _Seen]:
    """Every capitalised word that may be a name, with its places."""
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    small: Counter[str] = Counter()
    for line in book.lines:
        for at, word in enumerate(line.words):
            if not word.capital:
                small[word.text] += not word.upper
            elif not _no_name(word.text):
                one = seen[word.text]
                one.count += 1
                one.inside += at > 0 and not word.gap
                one.known += at > 0 and line.words[at - 1].text in DETERMINERS
                one.lines.add(line.number)
                one.places.append((line, word))
    for text, one in seen.items():
        one.small = small[text]
    return dict(seen)


def _no_name(word: str) -> bool:
    drawn_out = any(letter * 3 in word for letter in set(word))  # a cry: "Maaarta!"
    return (
        drawn_out
        or not word.isalpha()
        or word in VALUES
        or word in NOT_NAMES
        or word in FUNCTION
        or word in TITLES
        or word in KIN
    )


def _is_name(one: _Seen) -> bool:
    return one.inside > 0 and one.small * 10 <= one.count


def _variant(known: str, rare: str) -> bool:
    """Whether `rare` looks like a slip in writing `known`."""
    if _derived(known, rare) or _derived(rare, known):
        return False
    distance = DamerauLevenshtein.distance(known, rare, score_cutoff=_TWO)
    if distance == 1:
        return len(known) >= _SHORTEST
    if _sounds_alike(known, rare):
        return True
    return distance == _TWO and min(len(known), len(rare)) >= _LONG - 1 and known[:3] == rare[:3] and max(
        len(known), len(rare)
    ) >= _LONG  # fmt: skip


def _sounds_alike(known: str, rare: str) -> bool:
    """Whether two short names differ by two letters, all of them vowels or silent ("Neil", "Neal" and "Niall")."""
    return (
        known[0] == rare[0]
        and known.translate(_SILENT) == rare.translate(_SILENT)
        and DamerauLevenshtein.distance(known, rare, score_cutoff=_TWO) == _TWO
    )


def _derived(word: str, longer: str) -> bool:
    """Whether `longer` is a plural, an adjective or the long form of `word`."""
    for root in (word, word[:-1]):
        if any(longer == root + suffix for suffix in _SUFFIXES) and len(longer) >= len(word):
            return root == word or longer.endswith(("an", "ian", "ish", "ese", "ic", "ies", "ans", "ians"))
    return longer.startswith(word) and len(longer) - len(word) > 1


def _fits(rare: _Seen, known: _Seen) -> bool:
    """Whether the one can be a slip for the other: much rarer, never in one sentence with it.

    A word that only ever begins sentences may be none but a verb, so it counts beside the name of a person alone (a
    name that hardly ever has an article).
    """
    person = known.known * 4 <= known.count
    return known.count > 2 * rare.count and not rare.lines & known.lines and (person or rare.inside > 0)


def _often(word: str, known: _Seen, rare: str, one: _Seen) -> bool:
    """Whether the known form stands often enough beside the rare one."""
    if _sounds_alike(word, rare):
        return known.count >= _SOUNDING and one.count == 1
    return known.count >= (2 if len(word) >= _LONG else _TIMES) * one.count


def _candidate(book: Book, known: tuple[str, _Seen], rare: tuple[str, _Seen]) -> Candidate:
    line, word = rare[1].places[0]
    places = known[1].places
    before = next(((there, said) for there, said in reversed(places) if there.number < line.number), places[0])
    pair = sorted([(before[0], before[1], known[0]), (line, word, rare[0])], key=lambda part: part[0].number)
    distance = DamerauLevenshtein.distance(known[0], rare[0])
    score = 0.95 - 0.15 * (distance - 1) - 0.1 * (rare[1].count - 1) - 0.1 * (rare[1].inside == 0)
    first, second = ((there, (said.start, said.end), text) for there, said, text in pair)
    return Candidate(
        "name",
        known[0].title(),
        (first[2].title(), second[2].title()),
        passage(book, first[0], first[1]),
        passage(book, second[0], second[1]),
        round(max(0.05, score), 4),
        tight=not line.has(_SPELLING),
        cues=cues_near(book, line, 0),
    )
