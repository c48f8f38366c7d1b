"""Numbers: counts, sums of money, spans of time, ordinals, labels such as "Act Four", years, days and ages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.continuity.book import SEX, determiner, is_plural, run_after, singular
from fabula.continuity.candidates import Candidate, Claim, collisions, versus
from fabula.continuity.lexicon import (
    BUILT,
    DIED,
    FUNCTION,
    INDEFINITE,
    LOOSE_HEADS,
    MONEY_UNITS,
    MONTHS,
    NUMBER_UNITS,
    NUMBERED,
    POSSESSIVES,
    WEEKDAYS,
)
from fabula.continuity.numbers import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Book, Line, Word
    from fabula.continuity.candidates import Candidate
    from fabula.continuity.numbers import Quantity

_UNIT: Final = {
    "month": 1 / 12, "year": 1.0, "decade": 10.0, "century": 100.0, "week": 7.0, "fortnight": 14.0, "day": 1.0,
    "night": 1.0, "hour": 60.0, "minute": 1.0,
}  # fmt: skip
_SCALE: Final = {
    "month": "years", "year": "years", "decade": "years", "century": "years", "week": "days", "fortnight": "days",
    "day": "days", "night": "days", "hour": "minutes", "minute": "minutes",
}  # fmt: skip
_FULL: Final = frozenset(
    {"more", "other", "another", "additional", "extra", "of", "remaining", "last", "first", "next", "new"}
)
_MANY: Final = 10
_SEVERAL: Final = 2
_LARGE_SUM: Final = 100
_ALIKE_ENOUGH: Final = 0.35
_FULL_DATE: Final = re.compile(r"([12]\d{3})[.\-/]\d{1,2}(?:[.\-/]\d{1,2})?")
_MOST_PAIRS: Final = 40
_ALIKE: Final = 0.3
_BORN: Final = frozenset({"born", "birth", "dob", "birthday", "delivered"})
_ENDED: Final = DIED | {"death", "termination", "terminated"}
_OLDEST: Final = 125
_SAME_AGE: Final = 1


def counts(book: Book) -> Iterator[Candidate]:
    """The same things counted twice with different outcomes: "four hundred seats", "six hundred seats"."""
    claims = [claim for line in book.lines for claim in _counts_of(book, line)]
    for pair in collisions(claims, most_values=5):
        yield versus(book, "number", pair, _score(book, pair), tight=_tight(pair))


def _counts_of(book: Book, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        if found.kind in ("cardinal", "year") and found.value >= _SEVERAL:
            yield from _counted(book, line, found)


def _counted(book: Book, line: Line, found: Quantity) -> Iterator[Claim]:
    words = line.words
    before = words[found.first - 1].text if found.first else ""
    if before in NUMBERED or _chain(line, found):
        return
    run = run_after(line, found.last, book)
    while run and run[0].text.split("-")[0] in FUNCTION:
        run = run[1:]
    if not run or run[0].gap or run[0].text in NUMBER_UNITS or run[0].text in MONEY_UNITS or run[0].text == "o'clock":
        return
    plural = next((at for at, word in enumerate(run) if is_plural(word.text)), None)
    if plural is None:
        return
    head = run[plural]
    article = determiner(line, found.first)
    rest = frozenset(word.text for word in run[:plural])
    owner = ""
    if found.first and (words[found.first - 1].owner or before in POSSESSIVES):
        owner = book.names.whom(book, line, found.first - 1)
    definite = bool(article) and article not in INDEFINITE and before not in ("all", "another")
    loose = head.text in LOOSE_HEADS or bool(rest & _FULL) or before in _FULL
    yield Claim(
        f"number of {singular(head.text)}",
        f"{owner}'s {head.text}" if owner else head.text,
        f"{found.value:g}",
        line,
        words[found.first].start,
        head.end,
        owner,
        definite,
        not loose,
        rest,
    )


def _chain(line: Line, found: Quantity) -> bool:
    """Whether the number is one of several ("two or three", "twelve, thirteen")."""
    after = line.words[found.last].text if found.last < len(line.words) else ""
    before = line.words[found.first - 1].text if found.first else ""
    return after in ("or", "to") or before in ("or", "to", "than", "least", "about", "some", "of", "another", "every")


def _score(book: Book, pair: tuple[Claim, Claim]) -> float:
    one, other = pair
    firm = one.firm and other.firm
    alike = book.likeness(one.line, other.line)
    return 0.35 + 0.2 * firm + 0.1 * other.definite + 0.1 * (one.frame == other.frame) + 0.2 * alike


def _tight(pair: tuple[Claim, Claim]) -> bool:
    """Things that both passages take as known, or one's own, described in the same words."""
    one, other = pair
    owned = bool(one.owner) and one.owner == other.owner
    large = min(float(one.value), float(other.value)) > _MANY
    return one.firm and other.firm and one.frame == other.frame and (other.definite or owned or large)


def spans_of_time(book: Book) -> Iterator[Candidate]:
    """Two lengths of time in one unit (years, days, minutes) in passages that speak of the same."""
    yield from _alike(book, "duration", [c for line in book.lines for c in _durations(line)])


def money(book: Book) -> Iterator[Candidate]:
    """Two sums of money in passages that speak of the same."""
    yield from _alike(book, "money", [c for line in book.lines for c in _sums(line)])


def _alike(book: Book, name: str, claims: list[Claim]) -> Iterator[Candidate]:
    """Pairs of differing values, each with the earlier passage that is most about the same."""
    for at, claim in enumerate(claims):
        earlier = [c for c in claims[max(0, at - 200) : at] if c.key == claim.key and c.value != claim.value]
        earlier = [c for c in earlier if c.line is not claim.line]
        rows = [(book.likeness(c.line, claim.line), -c.line.number, c) for c in earlier]
        ranked = sorted(rows, key=lambda row: row[:2], reverse=True)
        for alike, _, other in ranked[:2]:
            if alike >= _ALIKE_ENOUGH or len(claims) <= _MANY:
                yield versus(book, name, (other, claim), 0.25 + 0.4 * alike + 0.1 * (claim.firm and other.firm))


def _durations(line: Line) -> Iterator[Claim]:
    words = line.words
    for found in quantities(line):
        if found.kind != "cardinal" or found.last >= len(words) or words[found.last].gap:
            unit = words[found.first].text.split("-")[1:2] if found.kind == "cardinal" else []
            unit_name, last = (singular(unit[0]), found.last - 1) if unit else ("", 0)
        else:
            unit_name, last = singular(words[found.last].text), found.last
        if unit_name in _SCALE and unit_name in NUMBER_UNITS:
            after = words[last + 1].text if last + 1 < len(words) else ""
            value = f"{found.value * _UNIT[unit_name]:.4g} {_SCALE[unit_name]}"
            yield Claim(
                f"{_SCALE[unit_name]}{' old' if after == 'old' else ''}", "", value, line,
                words[found.first].start, words[last].end, firm=_SCALE[unit_name] == "years",
            )  # fmt: skip


def _sums(line: Line) -> Iterator[Claim]:
    words = line.words
    for found in quantities(line):
        unit = words[found.last].text if found.last < len(words) else ""
        sign = line.text[words[found.first].start - line.start - 1 : words[found.first].start - line.start]
        symbol = found.first > -1 and words[found.first].start > line.start and sign in "$£€¥"
        if found.kind in ("cardinal", "year") and (unit in MONEY_UNITS or symbol):
            last = found.last if unit in MONEY_UNITS else found.last - 1
            key = "money" if symbol else f"money in {singular(unit)}"
            key = "money in dollar" if symbol and sign == "$" else key
            yield Claim(
                key,
                "",
                f"{found.value:g}",
                line,
                words[found.first].start,
                words[last].end,
                firm=found.value >= _LARGE_SUM,
            )


def ordinals(book: Book) -> Iterator[Candidate]:
    """Two ordinals of one kind of thing ("first production", "fifth production")."""
    claims = [claim for line in book.lines for claim in _ordinals_of(book, line)]
    for pair in collisions(claims, most_values=4):
        alike = book.likeness(pair[0].line, pair[1].line)
        if alike >= _ALIKE_ENOUGH or book.spread[pair[0].key.rpartition(" ")[2]] < _MANY:
            yield versus(book, "ordinal", pair, 0.3 + 0.3 * alike)


def _ordinals_of(book: Book, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        if found.kind != "ordinal":
            continue
        run = run_after(line, found.last, book)
        if run and not run[0].gap and run[0].text not in LOOSE_HEADS and run[0].text not in NUMBER_UNITS:
            head, words = singular(run[0].text), line.words
            yield Claim(f"which {head}", head, f"{found.value:g}", line, words[found.first].start, run[0].end)


def beyond(book: Book) -> Iterator[Candidate]:
    """A count and a later label, "three acts" and "Act Four", that the count leaves no room for."""
    totals: dict[str, list[Claim]] = {}
    labels: list[Claim] = []
    for line in book.lines:
        for found in quantities(line):
            claim = _label_or_total(line, found)
            if claim and claim.definite:
                labels.append(claim)
            elif claim:
                totals.setdefault(claim.key, []).append(claim)
    for label in labels:
        for total in totals.get(label.key, [])[:2]:
            if float(label.value) > float(total.value) and total.line is not label.line:
                yield versus(book, "number", (total, label), 0.7)


def _label_or_total(line: Line, found: Quantity) -> Claim | None:
    words = line.words
    before = words[found.first - 1] if found.first else None
    if before and before.text in NUMBERED and not words[found.first].gap and found.kind == "cardinal":
        return Claim(
            before.text, before.text, f"{found.value:g}", line, before.start, words[found.last - 1].end, definite=True
        )
    if found.last >= len(words) or words[found.last].gap:
        return None
    head = singular(words[found.last].text)
    if head in NUMBERED and found.kind in ("cardinal", "ordinal"):
        start, end = words[found.first].start, words[found.last].end
        return Claim(head, head, f"{found.value:g}", line, start, end, definite=found.kind == "ordinal")
    return None


def years(book: Book) -> Iterator[Candidate]:
    """Two years for one event ("built in 1887", "1923, wasn't it" after a question when it was built)."""
    claims = [claim for line in book.lines for claim in _years_of(book, line)]
    for pair in collisions(claims, most_values=4):
        alike = book.likeness(pair[0].line, pair[1].line)
        yield versus(book, "date", pair, 0.4 + 0.3 * alike + 0.15 * all(claim.firm for claim in pair))
    yield from _born_after(book)


def _year_words(line: Line) -> Iterator[tuple[int, Word]]:
    for found in quantities(line):
        if found.kind == "year":
            yield int(found.value), line.words[found.first]
    for word in line.words:
        if full := _FULL_DATE.fullmatch(word.text):
            yield int(full[1]), word


def _years_of(book: Book, line: Line) -> Iterator[Claim]:
    for year, word in _year_words(line):
        own = {w.text for w in line.words if w.text in BUILT}
        around = own or {w.text for near in book.near(line, 2) for w in near.words if w.text in BUILT}
        for verb in around:
            yield Claim(f"year {verb}", verb, str(year), line, word.start, word.end, firm=bool(own))


def _born_after(book: Book) -> Iterator[Candidate]:
    """A birth that is dated after a death in passages that speak of the same people."""
    born: list[Claim] = []
    died: list[Claim] = []
    for line in book.lines:
        for year, word in _year_words(line):
            claim = Claim("birth and death", "birth and death", str(year), line, word.start, word.end)
            born += [claim] * line.has(_BORN)
            died += [claim] * line.has(_ENDED)
    pairs = (
        (b, d) for b in born[:_MOST_PAIRS] for d in died[:_MOST_PAIRS] if b.line is not d.line and b.value > d.value
    )
    for pair in pairs:
        if book.likeness(pair[0].line, pair[1].line) >= _ALIKE:
            yield versus(book, "date", pair, 0.55)


def days(book: Book) -> Iterator[Candidate]:
    """Two weekdays, or two months, for one occasion."""
    for names, what in ((WEEKDAYS, "weekday"), (MONTHS, "month")):
        claims = [
            Claim(what, what, word.text, line, word.start, word.end)
            for line in book.lines
            for word in line.words
            if word.text in names and (word.capital or word.upper) and (word.text != "may" or _is_month(line, word))
        ]
        found = [(book.likeness(a.line, b.line), a, b) for a, b in collisions(claims, most_values=len(names))]
        for alike, one, other in sorted(found, key=lambda row: -row[0])[:_MOST_PAIRS]:
            if alike >= _ALIKE:
                yield versus(book, "date", (one, other), 0.25 + 0.35 * alike)


def _is_month(line: Line, word: Word) -> bool:
    at = line.words.index(word)
    return at > 0 and line.words[at - 1].text in {"in", "of", "last", "this", "next", "since", "by"}


def ages(book: Book) -> Iterator[Candidate]:
    """Two ages of one person."""
    claims = [claim for line in book.lines for claim in _ages_of(book, line)]
    for one, other in collisions(claims, most_values=6):
        if abs(float(one.value) - float(other.value)) > _SAME_AGE:
            yield versus(book, "age", (one, other), 0.55 if float(other.value) < float(one.value) else 0.5)


def _ages_of(book: Book, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        owner = _aged(book, line, found) if 0 < found.value < _OLDEST and found.kind == "cardinal" else ""
        if owner:
            start, end = line.words[found.first].start, line.words[found.last - 1].end
            yield Claim(f"age of {owner}", f"{owner}'s age", f"{found.value:g}", line, start, end, owner, firm=True)


def _aged(book: Book, line: Line, found: Quantity) -> str:
    """Whose age the number is; empty where it is none, or that cannot be read."""
    words, first, last = line.words, found.first, found.last
    joined = words[first].text.endswith("-year-old") or "-year-old" in words[last - 1].text
    after = [word.text for word in words[last : last + 2]]
    is_age = joined or after == ["years", "old"] or (first > 0 and words[first - 1].text in {"aged", "turned", "age"})
    ends = last >= len(words) or words[last].gap
    bare = ends and first > 1 and words[first - 1].text in {"is", "was", "i'm", "am"} and not words[first].gap
    if not (is_age or bare):
        return ""
    if joined and last < len(words) and words[last].capital:
        return book.names.whom(book, line, last)
    back = first - 2 if first > 1 and words[first - 1].text in {"is", "was", "am", "turned"} else -1
    if back >= 0 and (words[back].text in SEX or words[back].text == "i" or words[back].text not in FUNCTION):
        return book.names.whom(book, line, back)
    names = {name for _, name in book.names.named(line)}
    return names.pop() if len(names) == 1 else ""
