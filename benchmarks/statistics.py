"""How fast systems are ranked: the Bradley-Terry fit beside evalica and choix, and a whole ranking."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from benchmarks.table import Row, Table
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import mean_of
from fabula.stats.power import least_shown, power, prompts_needed
from fabula.stats.ranking import Comparison, bradley_terry, rank_systems

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.intp]
    # A fit of what it is given: winners, losers, how often.
    Fit: TypeAlias = Callable[[Indices, Indices, Array], Array]

TITLE: Final = "ranking systems from side-by-side verdicts"
_FIT_SECONDS, _RANK_SECONDS, _APART = 0.05, 2.0, 1e-6
_PROMPTS, _POINTS = 28, 3.0
_POWER: Final = (
    "Power: experiments of 28 prompts with the least difference said to be shown with 80 %, and of as many as are said "
    "to be needed for nine tenths of it, in six worlds; points between the power that is said and how many were shown."
)
_TIGHT: Final = 1e-10  # the peers' tolerance, so that all are asked for the same digits


@dataclass(frozen=True, slots=True)
class Sizes:
    """So many systems and verdicts for the fit; systems and prompts for the ranking."""

    systems: int = 100
    verdicts: int = 1_000_000
    ranked: int = 10
    prompts: int = 100
    rounds: int = 3
    simulated: int = 4000


def bench(sizes: Sizes | None = None) -> Table:
    """The fit, in turns with its peers where they are installed; then a ranking with all its intervals."""
    sizes = sizes or Sizes()
    peers = {name: fit for name, fit in (("evalica", evalica()), ("choix", choix())) if fit is not None}
    rows = [*_fits(sizes, peers), _ranking(sizes), *_powers(sizes)]
    notes = [
        "From the matrix: each win is given once with how often it was seen. One by one: each verdict by itself.",
        f"Peers are asked for a tolerance of {_TIGHT:g}; differences are those of centred log strengths, in 1e-9.",
        _POWER,
        "A ranking is strengths and five measures of the judge, with intervals by prompt, of all pairs in both orders.",
    ]
    absent = sorted({"evalica", "choix"} - set(peers))
    return Table("statistics", TITLE, tuple(rows), (*notes, *(f"{name} is not installed." for name in absent)))


def _fits(sizes: Sizes, peers: dict[str, Fit]) -> list[Row]:
    """Ours from the matrix; the peers' from the matrix and, which is how they are mostly called, one by one."""
    taken: dict[str, list[float]] = {}
    apart: dict[str, list[float]] = {name: [] for name in peers}
    for seed in range(sizes.rounds):
        wins = wins_of(sizes.systems, sizes.verdicts, seed)
        won, lost = np.nonzero(wins)
        often = wins[won, lost]
        begun = perf_counter()
        log = bradley_terry(wins).log
        taken.setdefault("ours, from the matrix", []).append(perf_counter() - begun)
        ones = [np.repeat(side, often.astype(int)) for side in (won, lost)]
        for name, fit in peers.items():
            for how, given in (("from the matrix", (won, lost, often)), ("one by one", (*ones, np.ones(len(ones[0]))))):
                begun = perf_counter()
                found = fit(*given)
                taken.setdefault(f"{name}, {how}", []).append(perf_counter() - begun)
            apart[name].append(1e9 * float(np.abs(found - log).max()) if log is not None else 0.0)
    each = f"{sizes.systems} systems, {sizes.verdicts:,} verdicts"
    bound = {"ours, from the matrix": _FIT_SECONDS}
    rows = [Row(f"fit: {what}", tuple(times), "s", each, most=bound.get(what)) for what, times in taken.items()]
    return [*rows, *(Row(f"largest difference from {n}", tuple(d), most=1e9 * _APART) for n, d in apart.items())]


def _ranking(sizes: Sizes) -> Row:
    seconds = []
    for seed in range(sizes.rounds):
        names, verdicts = verdicts_of(sizes.ranked, sizes.prompts, seed)
        begun = perf_counter()
        rank_systems(names, verdicts)
        seconds.append(perf_counter() - begun)
    each = f"{sizes.ranked} systems, {sizes.prompts} prompts"
    return Row("ranking, with all intervals", tuple(seconds), "s", each, most=_RANK_SECONDS)


WORLDS: Final[dict[str, Callable[[np.random.Generator, int], Array]]] = {
    "normal": lambda rng, n: rng.normal(0, 0.2, n),
    "shares of four verdicts": lambda rng, n: rng.binomial(4, 0.5, n) / 4 - 0.5,
    "yes or no": lambda rng, n: rng.choice([-0.5, 0.5], n),
    "skewed": lambda rng, n: rng.exponential(0.2, n) - 0.2,
    "mostly ties": lambda rng, n: rng.choice([-0.5, 0, 0, 0, 0, 0.5], n),
    "prompts that differ": lambda rng, n: rng.normal(0, 0.15, n) + rng.binomial(6, 0.5, n) / 6 - 0.5,
}
"""Differences of two systems on so many prompts, of which the mean is 0."""


def _powers(sizes: Sizes) -> list[Row]:
    """How far power, and that at the prompts said to be needed, are from what fresh experiments show."""
    rows = []
    for seed, (name, draw) in enumerate(WORLDS.items()):
        rng = np.random.default_rng(seed)
        pilot = draw(rng, 100_000).tolist()
        least = 1.001 * (least_shown(pilot, _PROMPTS) or 0.0)  # shares have steps, on which rounding decides
        needed = prompts_needed(pilot, 0.9 * least) or 0
        for what, prompts, apart in (("power", _PROMPTS, least), ("required n", needed, 0.9 * least)):
            said = power(pilot, prompts, apart) or 0.0
            shown = sum(_shows(draw(rng, prompts) + apart) for _ in range(sizes.simulated)) / sizes.simulated
            rows.append(Row(f"{what}: {name}", (100 * abs(shown - said),), "points", f"said {said:.1%}", most=_POINTS))
    return rows


def _shows(values: Array) -> bool:
    found = mean_of(values)
    return isinstance(found, Estimate) and found.low is not None and found.low > 0


def wins_of(systems: int, verdicts: int, seed: int) -> Array:
    """Wins of systems whose log strengths are drawn from a normal distribution."""
    rng = np.random.default_rng(seed)
    log = rng.normal(size=systems)
    first, second = np.triu_indices(systems, 1)
    games = rng.multinomial(verdicts, np.full(len(first), 1 / len(first)))
    won = rng.binomial(games, 1 / (1 + np.exp(log[second] - log[first])))
    wins = np.zeros((systems, systems))
    wins[first, second], wins[second, first] = won, games - won
    return wins


def verdicts_of(systems: int, prompts: int, seed: int) -> tuple[list[str], list[Comparison]]:
    """Verdicts on all pairs of each prompt in both orders, a fifth of them ties."""
    rng = np.random.default_rng(seed)
    names = [f"system-{n}" for n in range(systems)]
    log = rng.normal(size=systems) / 2
    pairs = [(i, j, first) for i in range(systems) for j in range(i) for first in (True, False)]
    made = []
    for prompt in range(prompts):
        for i, j, shown_first in pairs:
            better = float(rng.random() < 1 / (1 + np.exp(log[j] - log[i])))
            score = 0.5 if rng.random() < 0.2 else better
            longer = float(rng.integers(-500, 500))
            made.append(Comparison(f"prompt-{prompt}", names[i], names[j], score, shown_first, longer))
    return names, made


def evalica() -> Fit | None:
    """The fit of evalica; `None` where it is not installed."""
    module = _installed("evalica")
    if module is None:
        return None

    def fitted(won: Indices, lost: Indices, often: Array) -> Array:
        found = module.bradley_terry(
            won.tolist(),
            lost.tolist(),
            [module.Winner.X] * len(won),
            weights=often.tolist(),
            tolerance=_TIGHT,
            limit=100_000,
        )
        log = np.log(found.scores.sort_index().to_numpy())
        return np.asarray(log - log.mean(), dtype=np.float64)

    return fitted


def choix() -> Fit | None:
    """The fit of choix; `None` where it is not installed."""
    module = _installed("choix")
    if module is None:
        return None

    def fitted(won: Indices, lost: Indices, often: Array) -> Array:
        systems = int(max(won.max(), lost.max())) + 1
        if often.max() > 1:
            wins = np.zeros((systems, systems))
            wins[won, lost] = often
            log = module.ilsr_pairwise_dense(wins, max_iter=1000, tol=_TIGHT)
        else:
            log = module.ilsr_pairwise(systems, list(zip(won, lost, strict=True)), max_iter=1000, tol=_TIGHT)
        return np.asarray(log - log.mean(), dtype=np.float64)

    return fitted


def _installed(name: str) -> Any:  # noqa: ANN401 - a module has no better type
    try:
        return import_module(name)
    except ImportError:
        return None
