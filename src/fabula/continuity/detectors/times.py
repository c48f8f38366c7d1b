"""When things happened: years, weekdays, ages, and arithmetic between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.continuity.candidate import Claim, versus
from fabula.continuity.collide import collisions
from fabula.continuity.entities import SEX
from fabula.continuity.lexicon import BUILT, DIED, FUNCTION, MONTHS, WEEKDAYS
from fabula.continuity.numbers import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Line, Word
    from fabula.continuity.candidate import Candidate, Reading
    from fabula.continuity.numbers import Quantity

_FULL_DATE: Final = re.compile(r"([12]\d{3})[.\-/]\d{1,2}(?:[.\-/]\d{1,2})?")
_MOST_PAIRS: Final = 40
_ALIKE: Final = 0.3
_BORN: Final = frozenset({"born", "birth", "dob", "birthday", "delivered"})
_ENDED: Final = DIED | {"death", "termination", "terminated"}
_OLDEST: Final = 125
_SAME_AGE: Final = 1


def years(reading: Reading) -> Iterator[Candidate]:
    """Two years for one event ("built in 1887", "1923, wasn't it" after a question when it was built)."""
    claims = [claim for line in reading.book.lines for claim in _years_of(reading, line)]
    for pair in collisions(claims, most_values=4):
        alike = reading.book.likeness(pair[0].line, pair[1].line)
        yield versus(reading.book, "date", pair, 0.4 + 0.3 * alike + 0.15 * all(claim.firm for claim in pair))
    yield from _born_after(reading)


def _year_words(line: Line) -> Iterator[tuple[int, Word]]:
    for found in quantities(line):
        if found.kind == "year":
            yield int(found.value), line.words[found.first]
    for word in line.words:
        if full := _FULL_DATE.fullmatch(word.text):
            yield int(full[1]), word


def _years_of(reading: Reading, line: Line) -> Iterator[Claim]:
    for year, word in _year_words(line):
        own = {w.text for w in line.words if w.text in BUILT}
        around = own or {w.text for near in reading.book.near(line, 2) for w in near.words if w.text in BUILT}
        for verb in around:
            yield Claim(f"year {verb}", verb, str(year), line, word.start, word.end, firm=bool(own))


def _born_after(reading: Reading) -> Iterator[Candidate]:
    """A birth that is dated after a death in passages that speak of the same people."""
    born: list[Claim] = []
    died: list[Claim] = []
    for line in reading.book.lines:
        for year, word in _year_words(line):
            claim = Claim("birth and death", "birth and death", str(year), line, word.start, word.end)
            born += [claim] * line.has(_BORN)
            died += [claim] * line.has(_ENDED)
    pairs = (
        (b, d) for b in born[:_MOST_PAIRS] for d in died[:_MOST_PAIRS] if b.line is not d.line and b.value > d.value
    )
    for pair in pairs:
        if reading.book.likeness(pair[0].line, pair[1].line) >= _ALIKE:
            yield versus(reading.book, "date", pair, 0.55)


def days(reading: Reading) -> Iterator[Candidate]:
    """Two weekdays, or two months, for one occasion."""
    for names, what in ((WEEKDAYS, "weekday"), (MONTHS, "month")):
        claims = [
            Claim(what, what, word.text, line, word.start, word.end)
            for line in reading.book.lines
            for word in line.words
            if word.text in names and (word.capital or word.upper) and (word.text != "may" or _is_month(line, word))
        ]
        found = [(reading.book.likeness(a.line, b.line), a, b) for a, b in collisions(claims, most_values=len(names))]
        for alike, one, other in sorted(found, key=lambda row: -row[0])[:_MOST_PAIRS]:
            if alike >= _ALIKE:
                yield versus(reading.book, "date", (one, other), 0.25 + 0.35 * alike)


def _is_month(line: Line, word: Word) -> bool:
    at = line.words.index(word)
    return at > 0 and line.words[at - 1].text in {"in", "of", "last", "this", "next", "since", "by"}


def ages(reading: Reading) -> Iterator[Candidate]:
    """Two ages of one person."""
    claims = [claim for line in reading.book.lines for claim in _ages_of(reading, line)]
    for one, other in collisions(claims, most_values=6):
        if abs(float(one.value) - float(other.value)) > _SAME_AGE:
            yield versus(reading.book, "age", (one, other), 0.55 if float(other.value) < float(one.value) else 0.5)


def _ages_of(reading: Reading, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        owner = _aged(reading, line, found) if 0 < found.value < _OLDEST and found.kind == "cardinal" else ""
        if owner:
            start, end = line.words[found.first].start, line.words[found.last - 1].end
            yield Claim(f"age of {owner}", f"{owner}'s age", f"{found.value:g}", line, start, end, owner, firm=True)


def _aged(reading: Reading, line: Line, found: Quantity) -> str:
    """Whose age the number is; empty where it is none, or nobody can be told."""
    words, first, last = line.words, found.first, found.last
    joined = words[first].text.endswith("-year-old") or "-year-old" in words[last - 1].text
    after = [word.text for word in words[last : last + 2]]
    said = joined or after == ["years", "old"] or (first > 0 and words[first - 1].text in {"aged", "turned", "age"})
    ends = last >= len(words) or words[last].gap
    bare = ends and first > 1 and words[first - 1].text in {"is", "was", "i'm", "am"} and not words[first].gap
    if not (said or bare):
        return ""
    if joined and last < len(words) and words[last].capital:
        return reading.cast.whom(reading.book, line, last)
    back = first - 2 if first > 1 and words[first - 1].text in {"is", "was", "am", "turned"} else -1
    if back >= 0 and (words[back].text in SEX or words[back].text == "i" or words[back].text not in FUNCTION):
        return reading.cast.whom(reading.book, line, back)
    names = {name for _, name in reading.cast.named(line)}
    return names.pop() if len(names) == 1 else ""
