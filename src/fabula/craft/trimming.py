"""Making a text shorter by whole sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fabula.story import count_words
from fabula.story.sentences import paragraph_spans, spans
from fabula.story.speech import OPENING, unclosed
from fabula.story.words import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXCHANGE: Final = 4  # paragraphs of dialogue that are kept or left together
_END_SENTENCES: Final = 3
_MOST_BITS: Final = 400_000_000
_TARGETS: Final = 60


@dataclass(frozen=True, slots=True)
class _Piece:
    """Sentences that stay or go together: their place, words, first and last paragraph."""

    start: int
    end: int
    words: int
    paragraph: int
    last: int


def trim(text: str, high: int, *, low: int, keep_end: bool) -> str:
    """`text` with whole sentences left out so that at most `high` words remain, and at least `low` if any choice does.

    The first sentence stays. With `keep_end` the last one stays too (the last three where that is possible) and the gap
    opens in the middle; else the end goes first. Quotations and short exchanges stay in one piece where that is
    possible. A text that is short enough comes back as it is; where the sentences that stay are longer than `high`,
    the first alone comes back.
    """
    if count_words(text) <= high:
        return text
    units = _sentences(text)
    for grouped in (_exchanges(text, units), _quotations(text, units), units):
        for ending in (_END_SENTENCES, 1) if keep_end else (0,):
            kept = _choose(grouped, low, high, ending)
            if kept is not None:
                return _build(text, kept)
    for ending in (1, 0) if keep_end else (0,):
        kept = _choose(units, 1, high, ending)
        if kept is not None:
            return _build(text, kept)
    return _build(text, units[:1])


def _sentences(text: str) -> list[_Piece]:
    borders = [end for _, end in paragraph_spans(text)]
    units: list[_Piece] = []
    paragraph = 0
    for start, end in spans(text):
        while start >= borders[paragraph]:
            paragraph += 1
        units.append(_Piece(start, end, count_words(text[start:end]), paragraph, paragraph))
    return units


def _merge(units: Sequence[_Piece]) -> _Piece:
    return _Piece(units[0].start, units[-1].end, sum(unit.words for unit in units), units[0].paragraph, units[-1].last)


def _quotations(text: str, units: Sequence[_Piece]) -> list[_Piece]:
    """Units that leave no quotation open."""
    found: list[_Piece] = []
    pending: list[_Piece] = []
    for unit in units:
        if pending and pending[-1].paragraph != unit.paragraph:
            found.append(_merge(pending))
            pending = []
        pending.append(unit)
        if not _open(text[pending[0].start : unit.end]):
            found.append(_merge(pending))
            pending = []
    return [*found, _merge(pending)] if pending else found


def _open(text: str) -> bool:
    return bool(unclosed(text))


def _exchanges(text: str, units: Sequence[_Piece]) -> list[_Piece]:
    """Units in which up to four neighbouring paragraphs of dialogue stand together."""
    found: list[_Piece] = []
    talking: list[_Piece] = []
    for paragraph in _by_paragraph(_quotations(text, units)):
        if text.startswith(OPENING, paragraph[0].start):
            talking += paragraph
            if len({unit.paragraph for unit in talking}) == _EXCHANGE:
                found.append(_merge(talking))
                talking = []
            continue
        if talking:
            found.append(_merge(talking))
            talking = []
        found += paragraph
    return [*found, _merge(talking)] if talking else found


def _by_paragraph(units: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    for unit in units:
        if group and group[-1].paragraph != unit.paragraph:
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


def _choose(units: Sequence[_Piece], low: int, high: int, ending: int) -> list[_Piece] | None:
    """The units to keep, with `low` to `high` words in all; of several choices one that leaves few gaps.

    Subset sums as bits of a whole number: bit n of `reachable[k]` tells whether some of the first k free units have n
    words together. Free units are ordered so that the one to go first is looked at first on the way back.
    """
    ending = min(ending, len(units) - 1)
    fixed = [*units[:1], *units[len(units) - ending :]]
    room = high - sum(unit.words for unit in fixed)
    free = _ordered(units[1 : len(units) - ending], from_middle=ending > 0)
    if room < 0 or len(free) * room > _MOST_BITS:
        return None
    mask, reachable = (1 << (room + 1)) - 1, [1]
    for unit in free:
        reachable.append(reachable[-1] | (reachable[-1] << unit.words) & mask)
    need = max(room - (high - low), 0)
    targets = [n for n in range(room, need - 1, -1) if reachable[-1] >> n & 1][:_TARGETS]
    if not targets:
        return None
    choices = [sorted([*fixed, *_walk(free, reachable, n)], key=lambda unit: unit.start) for n in targets]
    return min(choices, key=lambda kept: _gaps(units, kept))


def _ordered(units: Sequence[_Piece], *, from_middle: bool) -> list[_Piece]:
    """Units with those that should go first at the end of the list."""
    if not from_middle:
        return list(units)
    middle = 0.55 * len(units)
    return sorted(units, key=lambda unit: -abs(units.index(unit) - middle)) if len(units) < _TARGETS else _far(units)


def _far(units: Sequence[_Piece]) -> list[_Piece]:
    middle = int(0.55 * len(units))
    left, right = list(units[:middle]), list(units[middle:][::-1])
    mixed = [unit for pair in zip(left, right, strict=False) for unit in pair]
    shorter = min(len(left), len(right))
    return [*mixed[: 2 * shorter], *left[shorter:], *right[shorter:]]


def _walk(free: Sequence[_Piece], reachable: Sequence[int], words: int) -> list[_Piece]:
    """Free units with `words` words together, leaving out what comes last in the list wherever that is possible."""
    kept: list[_Piece] = []
    for k in range(len(free), 0, -1):
        if not reachable[k - 1] >> words & 1:
            kept.append(free[k - 1])
            words -= free[k - 1].words
    return kept


def _gaps(units: Sequence[_Piece], kept: Sequence[_Piece]) -> int:
    """How often something is left out between two kept units."""
    place = {unit.start: n for n, unit in enumerate(units)}
    return sum(place[b.start] - place[a.start] > 1 for a, b in pairwise(kept))


def _build(text: str, kept: Sequence[_Piece]) -> str:
    """The kept units in order; where something is missing, one blank or a paragraph's end stands."""
    parts = [text[kept[0].start : kept[0].end]]
    for before, unit in pairwise(kept):
        gap, said = text[before.end : unit.start], text[unit.start : unit.end]
        if gap.strip():
            near = joined(text[before.end - 1], said[0])[1:-1]
            gap = near if before.last == unit.paragraph else "\n\n"
        parts += [gap, said]
    return "".join(parts)
