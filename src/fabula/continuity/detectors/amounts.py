"""Numbers of things: counts, sums of money, spans of time, ordinals, and labels such as "Act Four"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.continuity.book import determiner, is_plural, run_after, stem
from fabula.continuity.candidate import Claim, versus
from fabula.continuity.collide import collisions
from fabula.continuity.lexicon import (
    FUNCTION,
    INDEFINITE,
    LOOSE_HEADS,
    MONEY_UNITS,
    NUMBER_UNITS,
    POSSESSIVES,
)
from fabula.continuity.numbers import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Line
    from fabula.continuity.candidate import Candidate, Reading
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
_LABELS: Final = frozenset(
    [
        "act",
        "scene",
        "chapter",
        "part",
        "volume",
        "room",
        "floor",
        "level",
        "section",
        "gate",
        "platform",
        "unit",
        "apartment",
        "bay",
    ]
)
_MANY: Final = 10
_SEVERAL: Final = 2
_LARGE_SUM: Final = 100
_ALIKE_ENOUGH: Final = 0.35


def counts(reading: Reading) -> Iterator[Candidate]:
    """The same things counted twice with different outcomes: "four hundred seats", "six hundred seats"."""
    claims = [claim for line in reading.book.lines for claim in _counts_of(reading, line)]
    for pair in collisions(claims, most_values=5):
        yield versus(reading.book, "number", pair, _score(reading, pair), tight=_tight(pair))


def _counts_of(reading: Reading, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        if found.kind in ("cardinal", "year") and found.value >= _SEVERAL:
            yield from _counted(reading, line, found)


def _counted(reading: Reading, line: Line, found: Quantity) -> Iterator[Claim]:
    words = line.words
    before = words[found.first - 1].text if found.first else ""
    if before in _LABELS or _chain(line, found):
        return
    run = run_after(line, found.last, reading.book)
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
        owner = reading.cast.whom(reading.book, line, found.first - 1)
    definite = bool(article) and article not in INDEFINITE and before not in ("all", "another")
    loose = head.text in LOOSE_HEADS or bool(rest & _FULL) or before in _FULL
    yield Claim(
        f"number of {stem(head.text)}",
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


def _score(reading: Reading, pair: tuple[Claim, Claim]) -> float:
    one, other = pair
    firm = one.firm and other.firm
    alike = reading.book.likeness(one.line, other.line)
    return 0.35 + 0.2 * firm + 0.1 * other.definite + 0.1 * (one.frame == other.frame) + 0.2 * alike


def _tight(pair: tuple[Claim, Claim]) -> bool:
    """Things that both passages take as known, or one's own, described in the same words."""
    one, other = pair
    owned = bool(one.owner) and one.owner == other.owner
    large = min(float(one.value), float(other.value)) > _MANY
    return one.firm and other.firm and one.frame == other.frame and (other.definite or owned or large)


def spans_of_time(reading: Reading) -> Iterator[Candidate]:
    """Two lengths of time in one unit (years, days, minutes) in passages that speak of the same."""
    yield from _alike(reading, "duration", [c for line in reading.book.lines for c in _durations(line)])


def money(reading: Reading) -> Iterator[Candidate]:
    """Two sums of money in passages that speak of the same."""
    yield from _alike(reading, "money", [c for line in reading.book.lines for c in _sums(line)])


def _alike(reading: Reading, name: str, claims: list[Claim]) -> Iterator[Candidate]:
    """Pairs of differing values, each with the earlier passage that is most about the same."""
    book = reading.book
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
            unit_name, last = (stem(unit[0]), found.last - 1) if unit else ("", 0)
        else:
            unit_name, last = stem(words[found.last].text), found.last
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
            key = "money" if symbol else f"money in {stem(unit)}"
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


def ordinals(reading: Reading) -> Iterator[Candidate]:
    """Two ordinals of one kind of thing ("first production", "fifth production")."""
    claims = [claim for line in reading.book.lines for claim in _ordinals_of(reading, line)]
    for pair in collisions(claims, most_values=4):
        alike = reading.book.likeness(pair[0].line, pair[1].line)
        if alike >= _ALIKE_ENOUGH or reading.book.spread[pair[0].key.rpartition(" ")[2]] < _MANY:
            yield versus(reading.book, "ordinal", pair, 0.3 + 0.3 * alike)


def _ordinals_of(reading: Reading, line: Line) -> Iterator[Claim]:
    for found in quantities(line):
        if found.kind != "ordinal":
            continue
        run = run_after(line, found.last, reading.book)
        if run and not run[0].gap and run[0].text not in LOOSE_HEADS and run[0].text not in NUMBER_UNITS:
            head, words = stem(run[0].text), line.words
            yield Claim(f"which {head}", head, f"{found.value:g}", line, words[found.first].start, run[0].end)


def beyond(reading: Reading) -> Iterator[Candidate]:
    """A count and a later label, "three acts" and "Act Four", that the count leaves no room for."""
    totals: dict[str, list[Claim]] = {}
    labels: list[Claim] = []
    for line in reading.book.lines:
        for found in quantities(line):
            claim = _label_or_total(line, found)
            if claim and claim.definite:
                labels.append(claim)
            elif claim:
                totals.setdefault(claim.key, []).append(claim)
    for label in labels:
        for total in totals.get(label.key, [])[:2]:
            if float(label.value) > float(total.value) and total.line is not label.line:
                yield versus(reading.book, "number", (total, label), 0.7)


def _label_or_total(line: Line, found: Quantity) -> Claim | None:
    words = line.words
    before = words[found.first - 1] if found.first else None
    if before and before.text in _LABELS and not words[found.first].gap and found.kind == "cardinal":
        return Claim(
            before.text, before.text, f"{found.value:g}", line, before.start, words[found.last - 1].end, definite=True
        )
    if found.last >= len(words) or words[found.last].gap:
        return None
    head = stem(words[found.last].text)
    if head in _LABELS and found.kind in ("cardinal", "ordinal"):
        start, end = words[found.first].start, words[found.last].end
        return Claim(head, head, f"{found.value:g}", line, start, end, definite=found.kind == "ordinal")
    return None
