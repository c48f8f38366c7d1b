"""Opinions on stories as numbers: scores of one, choices between two; and what each side makes of a story or a pair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.lazily import Module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Pair: TypeAlias = tuple[str, str]
    # The scores of a trivial baseline by story, or why it has none.
    Trivial: TypeAlias = Mapping[str, float] | str
else:
    np = Module("numpy")

JUDGE: Final = "judge"
PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """One opinion as a number.

    Attributes:
        items: one story, which has the score `value`; or two as shown, and `value` is 1 where the first is better, 0
            where the second is, 0.5 where they are the same.
        systems: who wrote them; empty where not known.
        prompt: what they answer; intervals are by it.
        first: of two, how often the first was shown first: 1, unless the verdict is made of several showings.
        settled: of two, whether it may stand for the pair; else it counts for the two stories alone.
    """

    rater: str
    items: tuple[str, ...]
    value: float
    systems: tuple[str, ...] = ()
    prompt: str = ""
    first: float = 1.0
    settled: bool = True

    @property
    def pair(self) -> Pair | None:
        """The two stories in one order, whichever was shown first, or `None` for a score."""
        if len(self.items) != PAIR:
            return None
        first, second = sorted(self.items)
        return first, second

    @property
    def of_pair(self) -> float:
        """The value from the side of the first story of `pair`."""
        return self.value if self.items == self.pair else 1 - self.value


def scores_of(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The mean score of each story, or the share of its comparisons that it wins, counting ties as half a win."""
    found: dict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        for place, item in enumerate(verdict.items):
            found[item].append(verdict.value if place == 0 else 1 - verdict.value)
    return {item: float(np.mean(values)) for item, values in found.items()}


def preferences_of(verdicts: Sequence[Verdict]) -> dict[Pair, float]:
    """The mean preference for the first story of each pair, 0 to 1; pairs that are not settled have none."""
    found: dict[Pair, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.pair is not None and verdict.settled:
            found[verdict.pair].append(verdict.of_pair)
    return {pair: float(np.mean(values)) for pair, values in found.items()}


def sources_of(verdicts: Sequence[Verdict]) -> dict[str, tuple[str, str]]:
    """Prompt and system of each story, from whichever verdict names them."""
    found: dict[str, tuple[str, str]] = {}
    for verdict in verdicts:
        for place, item in enumerate(verdict.items):
            prompt, system = found.get(item, ("", ""))
            named = verdict.systems[place] if verdict.systems else ""
            found[item] = (prompt or verdict.prompt, system or named)
    return found


def units_of(items: Sequence[tuple[str, ...]], prompts: Sequence[str]) -> list[str]:
    """What each story or pair belongs to: its prompt; where that is not known, all pairs that stories link.

    Pairs of the same stories are not independent: one story that a judge misreads is in all of its pairs.
    """
    linked = {item: item for unit in items for item in unit}

    def first(item: str) -> str:
        while linked[item] != item:
            linked[item] = linked[linked[item]]
            item = linked[item]
        return item

    for unit, prompt in zip(items, prompts, strict=True):
        for item in unit[1:] if not prompt else ():
            linked[first(item)] = first(unit[0])
    return [
        f"prompt {prompt}" if prompt else f"story {first(unit[0])}" for unit, prompt in zip(items, prompts, strict=True)
    ]


def by_rater(verdicts: Sequence[Verdict]) -> tuple[list[str], list[str], Array]:
    """Units (stories, or pairs) x raters, NaN where one did not rate; with the prompt of each unit, and the raters.

    A rater's several verdicts on one unit are averaged; of a pair that mean becomes first (1), same (0.5), second (0).
    Units stand in the order in which they are first met, so that what they are called makes no difference.
    """
    cells: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    prompts: dict[tuple[str, ...], str] = {}
    for verdict in verdicts:
        unit = verdict.pair or verdict.items
        cells[unit][verdict.rater].append(verdict.of_pair if verdict.pair else verdict.value)
        prompts[unit] = prompts.get(unit) or verdict.prompt
    raters = sorted({verdict.rater for verdict in verdicts})
    table = np.full((len(cells), len(raters)), np.nan)
    for row, (unit, given) in enumerate(cells.items()):
        for rater, values in given.items():
            mean = float(np.mean(values))
            table[row, raters.index(rater)] = preferred(mean) if len(unit) == PAIR else mean
    return units_of(list(cells), [prompts[unit] for unit in cells]), raters, table


def preferred(value: float) -> float:
    """A preference as one of three: 1 the first, 0 the second, 0.5 the same."""
    return float(np.sign(value - 0.5) + 1) / 2


def grouped(names: Sequence[str]) -> list[NDArray[np.int64]]:
    """The places of each name."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        members[name].append(index)
    return [np.array(member) for member in members.values()]
