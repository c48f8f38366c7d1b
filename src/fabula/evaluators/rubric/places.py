"""How a text's score depends on the place in which it is shown."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from fabula.evaluators.rubric.asking import OVERALL
from fabula.measure.report import Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Unscored
from fabula.stats.shares import share

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fabula.craft.levels import Level
    from fabula.evaluators.rubric.asking import Scores
    from fabula.stats.estimate import Scored

_PAIR = 2


def place_rows(found: Sequence[Scores], levels: Sequence[Level], resamples: int, seed: int) -> list[Row]:
    """For each level and place by how many points it moves a text's overall score; how often the first place wins.

    Rows: `place N`, `effect/LEVEL`: the mean difference of a text's score there from its own mean over the orders of
    its group. `judge`, `same best/LEVEL`: groups in which one text is best in all orders. `first position`, `best`:
    calls whose one best text was shown first, for comparison with the share that chance gives.
    """
    read = [scores for scores in found if scores.given is not None and len(scores.shown) >= _PAIR]
    rows = []
    for level in levels:
        mine = [scores for scores in read if scores.call.group.level == level]
        effects = _effects(mine)
        most = max((len(scores.shown) for scores in mine), default=0)
        rows += [
            Row(f"place {place + 1}", f"effect/{level}", _effect(effects[place], resamples, seed))
            for place in range(most)
        ]
        if mine:
            rows.append(Row("judge", f"same best/{level}", _same_best(mine)))
    return [*rows, Row("first position", "best", _first_best(read), baseline=True)]


def _effects(found: Sequence[Scores]) -> defaultdict[int, list[tuple[Hashable, float]]]:
    """By place: group and difference from the text's own mean, of all texts shown in several orders."""
    cells: defaultdict[tuple[Hashable, str], list[tuple[int, float]]] = defaultdict(list)
    for scores in found:
        for place, (item, given) in enumerate(zip(scores.shown, scores.given or (), strict=True)):
            cells[scores.call.group.id, item.id].append((place, given[OVERALL]))
    effects: defaultdict[int, list[tuple[Hashable, float]]] = defaultdict(list)
    for (group, _), shown in cells.items():
        if len({place for place, _ in shown}) > 1:
            mean = fmean(value for _, value in shown)
            for place, value in shown:
                effects[place].append((group, value - mean))
    return effects


def _effect(effects: Sequence[tuple[Hashable, float]], resamples: int, seed: int) -> Scored:
    if not effects:
        return Unscored("every text was shown in one place only")
    prompts = [group[0] if isinstance(group, tuple) else group for group, _ in effects]
    groups = prompts if len(set(prompts)) > 1 else [group for group, _ in effects]
    told = "mean difference from the text's own mean over its orders, in points"
    return bootstrap_mean([value for _, value in effects], groups, resamples=resamples, seed=seed, method=told)


def _best(scores: Scores) -> int | None:
    """The place of the one text with the highest overall score; `None` for a tie."""
    values = [given[OVERALL] for given in scores.given or ()]
    top = max(values)
    return values.index(top) if values.count(top) == 1 else None


def _same_best(found: Sequence[Scores]) -> Scored:
    best: defaultdict[Hashable, list[str | None]] = defaultdict(list)
    for scores in found:
        place = _best(scores)
        best[scores.call.group.id].append(None if place is None else scores.shown[place].id)
    several = [names for names in best.values() if len(names) > 1]
    same = sum(len(set(names)) == 1 for names in several)
    return share(same, len(several), "groups shown in several orders whose best text is the same in all")


def _first_best(found: Sequence[Scores]) -> Scored:
    places = [(place, len(scores.shown)) for scores in found if (place := _best(scores)) is not None]
    expected = f"{fmean(1 / count for _, count in places):.2f} by chance" if places else "none"
    what = f"calls with one best text that was shown first; {expected}"
    return share(sum(place == 0 for place, _ in places), len(places), what)
