"""The report on ratings: the means of dialogues and systems, the differences between systems, and baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.measuring import mean_rows, measured_report
from fabula.craft.raters import source_of
from fabula.craft.trivial import order_rows
from fabula.evaluators.snap_ratings.criteria import HIGH, LOW, Criterion
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate, Scored, Unscored

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


EVALUATOR: Final = "snap-ratings"
_MIDDLE: Final = 3.0
_SCALE: Final = (float(LOW), float(HIGH))


def report_of(
    items: Sequence[Item],
    criteria: Sequence[Criterion],
    ratings: Sequence[Rating],
    how: Mapping[str, Any],
    long_from: int,
) -> Report:
    """The whole report, with the ratings in the order of the calls."""
    found: dict[tuple[str, str], list[Rating]] = {}
    for rating in ratings:
        found.setdefault((rating.items[0], rating.question), []).append(rating)
    measured: dict[str, list[Scored]] = {
        criterion.name: [_score(found[item.id, criterion.name], how["numbers"]) for item in items]
        for criterion in criteria
    }
    return measured_report(
        EVALUATOR,
        how,
        items,
        measured,
        _SCALE,
        most=_SCALE[1] - _SCALE[0],
        rows=_by_length(items, measured, long_from),
        beside=_baselines(items, measured),
        ratings=ratings,
        notes=_notes(items, measured),
    )


def _score(ratings: Sequence[Rating], method: str) -> Scored:
    """The mean of a dialogue's ratings on one criterion. The majority decides whether there is anything to rate."""
    answers = [float(rating.answer) for rating in ratings if isinstance(rating.answer, int | float)]
    lost = [rating.unscored for rating in ratings if rating.unscored]
    if len(lost) > len(answers) or not answers:
        return Unscored(max(lost, key=lost.count), len(answers))
    missing = f", {len(lost)} replies without one" if lost else ""
    return Estimate(fmean(answers), len(answers), method=method + missing)


def _by_length(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]], long_from: int) -> list[Row]:
    """The means of Tables 2 and 3 over short narratives and over long ones, if there are both."""
    short, long = f"narratives below {long_from:,} characters", f"narratives from {long_from:,} characters"
    parts: dict[str, list[int]] = {short: [], long: []}
    for index, item in enumerate(items):
        parts[long if len(source_of(item)) >= long_from else short].append(index)
    if not long_from or not all(parts.values()):
        return []
    rows = []
    for part, members in parts.items():
        inner = {what: [scored[index] for index in members] for what, scored in measured.items()}
        means = mean_rows([items[index] for index in members], inner, _SCALE)
        rows += [Row(row.of, f"{row.what}, {part}", row.scored) for row in means]
    return rows


def _baselines(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]]) -> list[Row]:
    """The ratings of a judge that always gives one number, and how well trivial measures agree with the ratings."""
    constant = Estimate(_MIDDLE, len(items), method="what a judge that always says the same would give any dialogue")
    rows = [Row("all", "constant", constant, baseline=True)]
    for what, scored in measured.items():
        values = {item.id: one.value for item, one in zip(items, scored, strict=True) if isinstance(one, Estimate)}
        rows += order_rows(items, values, what)
    return rows


def _notes(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]]) -> list[str]:
    notes = []
    values = {one.value for scored in measured.values() for one in scored if isinstance(one, Estimate)}
    if len(values) == 1 and len(items) > 1:
        notes.append("The judge gave every dialogue the same ratings, so it does not distinguish between them.")
    if len(items) == 1:
        notes.append("There is only one dialogue. Compare its ratings with those of other dialogues by the same judge.")
    return notes
