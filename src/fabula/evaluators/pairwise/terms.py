"""Analyses that reviewers ask for: equal length, power, parts of the variance, and a panel's agreement."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.measure.report import Row
from fabula.stats.agreement import agreement
from fabula.stats.comparisons import TIE
from fabula.stats.differences import MOST
from fabula.stats.equal_length import at_equal_length
from fabula.stats.estimate import Estimate
from fabula.stats.parts import variance_parts
from fabula.stats.power import WANTED, least_shown, prompts_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.evaluators.pairwise.verdicts import PairChoice
    from fabula.stats.comparisons import Comparison

_ASKED: Final = 0.05  # a difference in the share of wins whose prompts are named
_SEVERAL: Final = 2


def equal_length_rows(question: str, names: Sequence[str], counted: Sequence[Comparison]) -> list[Row]:
    """The share of wins of each system at equal length, and the effect of length on a verdict."""
    found = at_equal_length(names, counted)
    rows = [Row(name, f"wins at equal length/{question}", one) for name, one in zip(names, found.wins, strict=True)]
    return [*rows, Row("judge", f"longer by one deviation, log odds/{question}", found.length)]


def power_rows(question: str, names: Sequence[str], counted: Sequence[Comparison], tests: int) -> list[Row]:
    """For every two systems, the least difference in the share of wins that this many prompts show with 80 % power."""
    rows = []
    for one, other in _pairs(names):
        pilot = _by_prompt(one, other, counted)
        least = least_shown(pilot, len(pilot), tests)
        if least is not None and least < TIE:
            how = f"difference from an even share of wins that {len(pilot)} prompts show with {WANTED:.0%}, simulated"
            rows.append(
                Row(f"{one} - {other}", f"least difference/{question}", Estimate(least, len(pilot), method=how))
            )
    return rows


def power_note(rows: Sequence[Row], names: Sequence[str], counted: Sequence[Comparison], tests: int) -> list[str]:
    """A note on what the prompts show about the two most similar systems, and on the prompts that 5 points need."""
    known = {row.of: row.scored.value for row in rows if isinstance(row.scored, Estimate)}
    pilots = {f"{one} - {other}": _by_prompt(one, other, counted) for one, other in _pairs(names)}
    spread = {of: np.std(pilot) for of, pilot in pilots.items() if len(set(pilot)) > 1}
    if not spread:  # verdicts that are alike on every prompt say nothing of others
        return []
    of = max(spread, key=lambda of: (known.get(of, TIE), spread[of]))
    needed = prompts_needed(pilots[of], _ASKED, tests)
    more = "" if needed is None else f" For {100 * _ASKED:.0f} points about {needed:,} prompts are needed."
    shown = (
        f"show a difference of {100 * known[of]:.0f} points" if of in known else "are too few to show any difference"
    )
    return [f"{len(pilots[of])} prompts {shown} in wins ({of}) with {WANTED:.0%}, by the variance found here.{more}"]


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs of systems, unless there are too many."""
    return list(combinations(names, 2)) if len(names) <= MOST else []


def _by_prompt(one: str, other: str, counted: Sequence[Comparison]) -> list[float]:
    """The first system's share of wins on each prompt less one half."""
    found: dict[str, list[float]] = defaultdict(list)
    for c in counted:
        if {c.first, c.second} == {one, other}:
            found[c.prompt].append(c.score_of(one) - TIE)
    return [fmean(scores) for scores in found.values()]


def variance_note(counted: Sequence[Comparison], pairs: Sequence[PairChoice]) -> list[str]:
    """A note on the variance of verdicts: between prompts, between stories on a prompt, and between their verdicts."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in pairs:
        scores[pair.names].extend(_scores(pair))
    means = {names: fmean(found) for names, found in scores.items() if found}
    rows = [
        (score - means[pair.names], f"{pair.prompt} {pair.names}", f"{pair.prompt} {pair.items}")
        for pair in pairs
        for score in _scores(pair)
    ]
    parts = variance_parts(*zip(*rows, strict=True)) if counted and rows else None
    if parts is None or not sum(parts):
        return []
    prompts, stories, verdicts = (part / sum(parts) for part in parts)
    said = (
        f"Of the variance of a verdict {prompts:.0%} is between prompts, {stories:.0%} between stories on one prompt "
        f"(seeds), and {verdicts:.0%} between verdicts on the same stories (orders, samples, judges)."
    )
    return [said]


def _scores(pair: PairChoice) -> list[float]:
    return [score if verdict.items == pair.items else 1 - score for verdict, score in pair.counted]


def panel_rows(question: str, pairs: Sequence[PairChoice]) -> list[Row]:
    """How far several judges agree on the pairs that at least two of them have judged; empty for one judge."""
    raters = sorted({pair.rater for pair in pairs})
    if len(raters) < _SEVERAL:
        return []
    items = {key: n for n, key in enumerate(dict.fromkeys((pair.prompt, pair.items) for pair in pairs))}
    table = np.full((len(items), len(raters)), np.nan)
    for pair in pairs:
        table[items[pair.prompt, pair.items], raters.index(pair.rater)] = pair.score
    found = agreement(table, "alpha nominal", [prompt for prompt, _ in items])
    return [Row("judges", f"agreement, alpha/{question}", found)]
