"""How often intervals hold the truth: worlds whose truth is known, simulated with fixed seeds.

A world gives an interval (or none) and the truth for a number of units. `coverage` counts over the intervals that are
offered. `python tests/support/interval_worlds.py 2000` prints the tables of docs/results/intervals.md.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from fabula.evaluators.surface.config import Config
from fabula.evaluators.surface.repetition import inter_rows
from fabula.measure.items import Item
from fabula.stats.agreement import agreement, fleiss_kappa, icc, krippendorff_alpha
from fabula.stats.correlation import correlation, correlation_within
from fabula.stats.differences import differences
from fabula.stats.equal_length import at_equal_length
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import count_of, mean_of, share_of
from fabula.stats.ranking import Comparison, bradley_terry, rank_systems
from fabula.story import Story
from fabula.systems.snap.learning import learn, rank_one
from fabula.systems.snap.scores import ScoreRow as PlanRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    # From a number of units: intervals with their truths.
    World: TypeAlias = Callable[[Generator, int], Iterator[tuple[Scored, float]]]
    Array: TypeAlias = NDArray[np.float64]

SIZES: Final = (3, 5, 8, 12, 20, 50)
_NEARLY_ALL: Final = 0.995


@dataclass(frozen=True)
class Family:
    """Intervals of one kind, over several truths.

    Attributes:
        least: units below which none is offered.
        wide: units below which more than 97 % may be right, because few units say little of their spread.
    """

    name: str
    worlds: dict[str, World]
    least: int = 3
    wide: int = 0
    cost: int = 1


@dataclass(frozen=True)
class Covered:
    """How many intervals were offered, and how many of them held the truth."""

    hits: int
    offered: int
    asked: int

    @property
    def share(self) -> float:
        """Of the intervals offered."""
        return self.hits / self.offered if self.offered else math.nan


def coverage(world: World, units: int, rounds: int, seed: int = 1) -> Covered:
    """The count over so many rounds."""
    rng = np.random.default_rng([seed, units])
    hits = offered = asked = 0
    for _ in range(rounds):
        for found, truth in world(rng, units):
            asked += 1
            if isinstance(found, Estimate) and found.low is not None and found.high is not None:
                offered += 1
                hits += found.low - 1e-12 <= truth <= found.high + 1e-12
    return Covered(hits, offered, asked)


# means ----------------------------------------------------------------------------------------------------------------

_LIKERT: Final = [0.05, 0.1, 0.2, 0.4, 0.25]
_VALUES: Final[dict[str, tuple[Callable[[Generator, int], Any], float]]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "gamma 4 (lengths)": (lambda rng, n: rng.gamma(4, size=n), 4.0),
    "log-normal .5": (lambda rng, n: rng.lognormal(0, 0.5, n), math.exp(0.125)),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "beta 1, 9 (small shares)": (lambda rng, n: rng.beta(1, 9, n), 0.1),
    "scores 1 to 5": (lambda rng, n: rng.choice([1.0, 2, 3, 4, 5], p=_LIKERT, size=n), 3.7),
    "14 tests": (lambda rng, n: rng.binomial(14, 0.6, n).astype(float), 8.4),
}


def _mean(name: str) -> World:
    draw, truth = _VALUES[name]
    return lambda rng, n: iter([(mean_of(draw(rng, n)), truth)])


def _by_prompt(icc_: float, name: str) -> World:
    draw, truth = _VALUES[name]

    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        sizes = np.array([(1, 2, 4)[i % 3] for i in range(n)])
        groups = np.repeat(np.arange(n), sizes)
        common, own = draw(rng, n)[groups] - truth, draw(rng, len(groups)) - truth
        yield mean_of(math.sqrt(icc_) * common + math.sqrt(1 - icc_) * own, groups.tolist()), 0.0

    return world


MEANS: Final = Family("mean, a value a unit", {name: _mean(name) for name in _VALUES})
GROUPED: Final = Family(
    "mean, 1 to 4 stories a prompt",
    {
        f"{name}, ICC {r}": _by_prompt(r, name)
        for name in ("normal", "gamma 4 (lengths)", "scores 1 to 5")
        for r in (0.1, 0.6)
    },
)

# shares ---------------------------------------------------------------------------------------------------------------

_SHARES: Final = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)


def _shares(low: float, high: float) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        truth = rng.uniform(low, high)
        yield share_of((rng.random(n) < truth).astype(float)), truth

    return world


def _answers(sizes: Sequence[int], icc_: float) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        for truth in _SHARES:
            counts = np.array([sizes[i % len(sizes)] for i in range(n)])
            if icc_ in (0.0, 1.0):
                chance = np.full(n, truth) if not icc_ else (rng.random(n) < truth).astype(float)
            else:
                k = (1 - icc_) / icc_
                chance = rng.beta(truth * k, (1 - truth) * k, n)
            groups = np.repeat(np.arange(n), counts)
            yield share_of((rng.random(len(groups)) < chance[groups]).astype(float), groups.tolist()), truth

    return world


SINGLE: Final = Family(
    "share, an answer a unit",
    {"uniform from 0 to 1": _shares(0, 1), "from .8 to .95": _shares(0.8, 0.95), "from .9 to 1": _shares(0.9, 1)},
)


def _ties(win: float, tie: float) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        yield share_of(rng.choice([1, 0.5, 0], p=[win, tie, 1 - win - tie], size=n)), win + tie / 2

    return world


TIED: Final = Family(
    "share, ties a half",
    {
        f"{win:.0%} won, {tie:.0%} tied": _ties(win, tie)
        for win, tie in ((0.4, 0.2), (0.7, 0.2), (0.85, 0.1), (0.3, 0.6))
    },
    wide=12,
)
CLUSTERED: Final = Family(
    "share, several answers a unit",
    {
        f"{name}, ICC {r}": _answers(sizes, r)
        for name, sizes in (("2 answers", (2,)), ("28 answers", (28,)), ("2 to 40 answers", (2, 5, 12, 28, 40)))
        for r in (0.0, 0.1, 0.4, 1.0)
    },
    wide=12,
)

# strengths ------------------------------------------------------------------------------------------------------------


def _matches(rng: Generator, strengths: Sequence[float], prompts: int, spread: float) -> list[Comparison]:
    here = np.array(strengths) + spread * rng.normal(size=(prompts, len(strengths)))
    return [
        Comparison(f"{p:05}", f"s{i}", f"s{j}", float(rng.random() < 1 / (1 + math.exp(here[p, j] - here[p, i]))))
        for p in range(prompts)
        for i in range(len(strengths))
        for j in range(len(strengths))
        if i != j
    ]


@cache
def _true_strengths(strengths: tuple[float, ...], spread: float) -> tuple[float, ...]:
    """What the model finds in endless verdicts."""
    rng = np.random.default_rng(7)
    here = np.array(strengths) + spread * rng.normal(size=(400_000, len(strengths)))
    wins = np.array(
        [
            [(1 / (1 + np.exp(here[:, j] - here[:, i]))).mean() for j in range(len(strengths))]
            for i in range(len(strengths))
        ]
    )
    log = bradley_terry(wins).log
    assert log is not None
    return tuple(log.tolist())


def _strengths(strengths: tuple[float, ...], spread: float, *, apart: bool = False) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        truth = dict(zip((f"s{i}" for i in range(len(strengths))), _true_strengths(strengths, spread), strict=True))
        found = rank_systems(list(truth), _matches(rng, strengths, n, spread))
        if not apart:
            yield from zip(found.strengths, truth.values(), strict=True)
        elif found.differences:
            yield _all_held([(one.scored, truth[one.one] - truth[one.other]) for one in found.differences])

    return world


_FOUR, _WIDE = (0.6, 0.2, -0.2, -0.6), (1.2, 0.0, -1.2)
STRENGTHS: Final = Family(
    "Bradley-Terry strength",
    {
        "four systems": _strengths(_FOUR, 0.0),
        "four, prompts differ": _strengths(_FOUR, 1.0),
        "three far apart": _strengths(_WIDE, 0.7),
    },
    cost=4,
    wide=12,
)


def _equally_long(strengths: tuple[float, ...], love: float) -> World:
    """Four verdicts on each prompt and pair, by a judge that likes length, on systems that write at unlike length."""
    truth = [
        float(np.mean([1 / (1 + math.exp(t - s)) for j, t in enumerate(strengths) if j != i]))
        for i, s in enumerate(strengths)
    ]

    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        names, made = [f"s{i}" for i in range(len(strengths))], []
        for prompt in range(n):
            for i, j in combinations(range(len(strengths)), 2):
                for longer in rng.normal(j - i, 1.0, 4).tolist():
                    odds = strengths[i] - strengths[j] + love * longer
                    won = float(rng.random() < 1 / (1 + math.exp(-odds)))
                    made.append(Comparison(f"p{prompt}", names[i], names[j], won, longer=longer))
        # The length enters in deviations of the differences, which the win rates do not depend on.
        yield from zip(at_equal_length(names, made).wins, truth, strict=True)

    return world


EQUAL_LENGTH: Final = Family(
    "wins at equal length",
    {
        "two, length alone": _equally_long((0.0, 0.0), 0.8),
        "two, the shorter is better": _equally_long((0.6, -0.6), -0.5),
        "three": _equally_long((0.8, 0.0, -0.8), 0.6),
    },
    least=8,
    wide=12,
    cost=4,
)

# differences ----------------------------------------------------------------------------------------------------------


def _all_held(found: Sequence[tuple[Scored, float]]) -> tuple[Scored, float]:
    """As one interval: around 0 where all hold their truths, else beside it; none where one is missing."""
    known = [
        one.low <= truth <= one.high
        for one, truth in found
        if isinstance(one, Estimate) and one.low is not None and one.high is not None
    ]
    if len(known) < len(found):
        return Estimate(0.0, 1), 0.0
    held = all(known)
    return Estimate(0.0, 1, -1.0 if held else 0.5, 1.0), 0.0


def _paired(name: str) -> World:
    draw, _ = _VALUES[name]
    above = {"a": 0.0, "b": 0.5, "c": 1.0, "d": 1.0}

    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        prompt = draw(rng, n)
        values = {
            who: {str(p): [v] for p, v in enumerate((prompt + draw(rng, n) + more).tolist())}
            for who, more in above.items()
        }
        yield _all_held([(one.scored, above[one.one] - above[one.other]) for one in differences(values, "x")])

    return world


DIFFERENCES: Final = Family(
    "all differences of four systems at once",
    {name: _paired(name) for name in ("normal", "exponential", "scores 1 to 5")}
    | {"Bradley-Terry, four systems": _strengths(_FOUR, 1.0, apart=True)},
    wide=51,
    cost=3,
)

# coefficients ---------------------------------------------------------------------------------------------------------


def _pair(rng: Generator, rho: float, n: int, *, rounded: bool) -> Array:
    x = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)
    return np.asarray(np.clip(np.round(x + 3), 1, 5) if rounded else x, dtype=np.float64)


@cache
def _true_correlation(name: str, rho: float, rounded: bool) -> float:  # noqa: FBT001 - a cache has no keywords
    rng = np.random.default_rng(5)
    found = []
    for _ in range(40):
        x = _pair(rng, rho, 1500, rounded=rounded)
        one = correlation(x[:, 0], x[:, 1], name, [0] * 1500)  # type: ignore[arg-type] # a name of the family
        assert isinstance(one, Estimate)
        found.append(one.value)
    return float(np.mean(found))


def _correlated(name: str, rho: float, *, rounded: bool) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        x = _pair(rng, rho, n, rounded=rounded)
        yield correlation(x[:, 0], x[:, 1], name), _true_correlation(name, rho, rounded)  # type: ignore[arg-type] # a name of the family

    return world


def _within(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
    x = np.concatenate([_pair(rng, 0.5, 4, rounded=False) for _ in range(n)])
    yield (
        correlation_within(x[:, 0], x[:, 1], "kendall", np.repeat(np.arange(n), 4).tolist()),
        2 / math.pi * math.asin(0.5),
    )


CORRELATIONS: Final = Family(
    "correlation",
    {
        f"{name} {rho}{', ties' * rounded}": _correlated(name, rho, rounded=rounded)
        for name in ("pearson", "spearman", "kendall", "accuracy")
        for rho in (0.0, 0.5, 0.9)
        for rounded in (False, True)
    },
    least=8,
    wide=12,
    cost=3,
)
WITHIN: Final = Family("mean of correlations within prompts", {"Kendall's tau, four stories": _within}, wide=5)


def _labels(rng: Generator, n: int, shares: Sequence[float], agree: float, raters: int) -> Array:
    truth = rng.choice(len(shares), p=shares, size=n)
    columns = [np.where(rng.random(n) < agree, truth, rng.choice(len(shares), p=shares, size=n)) for _ in range(raters)]
    return np.stack(columns, axis=1).astype(np.float64)


@cache
def _true_agreement(name: str, shares: tuple[float, ...], agree: float, raters: int) -> float:
    table = _labels(np.random.default_rng(9), 100_000, shares, agree, raters)
    if name == "fleiss":
        counts = (table[:, :, None] == np.arange(len(shares))).sum(axis=1)
        return float(fleiss_kappa(counts) or 0)
    if name.startswith("icc"):
        return _value(icc(table, name[4:]))  # type: ignore[arg-type] # a name of the family
    if name.startswith("alpha"):
        return _value(krippendorff_alpha(table, name[6:]))  # type: ignore[arg-type] # a name of the family
    return agree**2


def _value(found: float | Unscored) -> float:
    assert not isinstance(found, Unscored)
    return found


def _agreeing(name: str, shares: tuple[float, ...], agree: float, raters: int) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        found = agreement(_labels(rng, n, shares, agree, raters), name)  # type: ignore[arg-type] # a name of the family
        yield found, _true_agreement(name, shares, agree, raters)

    return world


_THREE, _FIVE = (0.5, 0.1, 0.4), (0.1, 0.2, 0.3, 0.2, 0.2)
AGREEMENT: Final = Family(
    "kappa, alpha, ICC",
    {
        f"{name}, {len(shares)} labels, {agree**2:.2f}": _agreeing(name, shares, agree, raters)
        for name, shares, raters in (
            ("cohen", _THREE, 2),
            ("cohen", (0.85, 0.15), 2),
            ("fleiss", _THREE, 3),
            ("alpha ordinal", _FIVE, 3),
            ("icc 2,1", _FIVE, 3),
        )
        for agree in (0.5, 0.8)
    },
    least=5,
    cost=3,
)

# counts, and two numbers of their own ---------------------------------------------------------------------------------


def _counts(mean: float, size: float) -> World:
    def world(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
        own = rng.gamma(size, mean / size, n) if size else np.full(n, mean)
        yield count_of(rng.poisson(own).tolist(), "comments"), mean * n

    return world


COUNTS: Final = Family(
    "count over passages",
    {f"{m} a passage{', overdispersed' if s else ''}": _counts(m, s) for m in (0.3, 1.0, 3.0) for s in (0.0, 2.0)},
    wide=8,
)


def _plans(rng: Generator, n: int) -> Array:
    quality = rng.normal(size=(n, 1))
    scores = 3 + 0.8 * quality + 0.6 * rng.normal(size=(n, 3)) * (0.6, 1, 1.4)
    return np.asarray(np.clip(np.round(scores), 1, 5), dtype=np.float64)


_CELL: Final = 4  # plans


def _by_cell(table: Array) -> Array:
    cells = table.reshape(-1, _CELL, 3)
    low, high = cells.min(axis=1, keepdims=True), cells.max(axis=1, keepdims=True)
    return np.asarray((cells - low) / np.where(high > low, high - low, 1), dtype=np.float64).reshape(-1, 3)


@cache
def _true_weights() -> tuple[float, ...]:
    return rank_one(_by_cell(_plans(np.random.default_rng(4), 200_000)))


def _weights(rng: Generator, n: int) -> Iterator[tuple[Scored, float]]:
    table = _plans(rng, n * _CELL)
    rows = [PlanRow(where=f"line {i}", scores=tuple(row), cell=str(i // _CELL)) for i, row in enumerate(table.tolist())]
    learned = learn(rows)
    scale = sum(weight.value for weight in learned.weights.values())
    for weight, truth in zip(learned.weights.values(), _true_weights(), strict=True):
        yield weight, scale * truth


WEIGHTS: Final = Family(
    "weights learned from plans", {"three criteria, cells of four plans": _weights}, least=8, cost=3
)


def _shared(rng: Generator, n: int) -> tuple[list[Item], list[Any]]:
    codes = [
        np.minimum(rng.geometric(0.01, 60), 3000) + 5000 * (i + 1) * (rng.random(60) < rng.beta(2, 1)) for i in range(n)
    ]
    return [Item(str(i), Story.parse("x"), "s", f"p{i}") for i in range(n)], codes


@cache
def _true_repetition(n: int) -> float:
    rng = np.random.default_rng(3)
    found = [_repeated(rng, n).value for _ in range(1500)]
    return float(np.mean(found))


def _repeated(rng: Generator, n: int) -> Estimate:
    items, codes = _shared(rng, n)
    found = inter_rows(items, codes, Config())[0][0].scored
    assert isinstance(found, Estimate)
    return found


REPETITION: Final = Family(
    "repetition between stories",
    {"60 trigrams a story": lambda rng, n: iter([(_repeated(rng, n), _true_repetition(n))])},
    least=20,
)
FAMILIES: Final = (
    MEANS, GROUPED, SINGLE, TIED, CLUSTERED, STRENGTHS, DIFFERENCES, CORRELATIONS, WITHIN, AGREEMENT, COUNTS, WEIGHTS,
    REPETITION, EQUAL_LENGTH,
)  # fmt: skip


def table(family: Family, rounds: int) -> str:
    """The shares of a family in hundreds, as Markdown: worlds x units, and their mean; how many were offered."""
    lines = [f"| {family.name} | {' | '.join(map(str, SIZES))} |", f"|---|{'---|' * len(SIZES)}"]
    columns: dict[int, list[float]] = {n: [] for n in SIZES}
    for name, world in family.worlds.items():
        cells = []
        for n in SIZES:
            found = coverage(world, n, rounds // family.cost)
            offered = f" ({found.offered / found.asked:.0%})" if 0 < found.offered < _NEARLY_ALL * found.asked else ""
            cells.append(f"{100 * found.share:.1f}{offered}" if found.offered else "-")
            columns[n] += [found.share] if found.offered else []
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [f"**{100 * np.mean(shares):.1f}**" if shares else "-" for shares in columns.values()]
    return "\n".join([*lines, f"| *mean* | {' | '.join(means)} |"])


if __name__ == "__main__":
    for each in FAMILIES:
        sys.stdout.write(f"\n{table(each, int(sys.argv[1]))}\n")
        sys.stdout.flush()
