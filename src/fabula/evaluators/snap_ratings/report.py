"""From single ratings to numbers: of each dialogue, of each system, and between systems; what they have to beat."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.measuring import MEAN, by_system, mean_rows, prompt_of, story_rows, unscored_note
from fabula.craft.raters import source_of
from fabula.craft.trivial import order_rows
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import Resampling, bootstrap_mean
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.evaluators.snap_ratings.criteria import Criterion
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

EVALUATOR: Final = "snap-ratings"
_PAIR: Final = 2
_MIDDLE: Final = 3.0
_MOST_SYSTEMS: Final = 8  # of which every two are compared


def report_of(
    items: Sequence[Item],
    criteria: Sequence[Criterion],
    ratings: Sequence[Rating],
    how: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Report:
    """Everything the evaluator says, `notes` first; the ratings stand in the order of asking."""
    found: dict[tuple[str, str], list[Rating]] = {}
    for rating in ratings:
        found.setdefault((rating.items[0], rating.question), []).append(rating)
    measured: dict[str, list[Scored]] = {
        criterion.name: [_score(found[item.id, criterion.name], how["numbers"]) for item in items]
        for criterion in criteria
    }
    resampling = Resampling(how["resamples"])
    rows = story_rows(items, measured) + mean_rows(items, measured, resampling)
    rows += _by_length(items, measured, how["long_from"], resampling)
    rows += _between(items, measured, resampling)
    rows += _baselines(items, measured, how["resamples"])
    notes = (*notes, *unscored_note(measured), *_notes(items, measured))
    stories = [{"id": item.id, "system": item.system, "prompt": item.prompt} for item in items]
    return Report(EVALUATOR, how, tuple(rows), tuple(ratings), notes, {"stories": stories})


def _score(ratings: Sequence[Rating], method: str) -> Scored:
    """The mean of a dialogue's ratings on one criterion; most of them settle whether there is anything to rate."""
    answers = [float(rating.answer) for rating in ratings if isinstance(rating.answer, int | float)]
    lost = [rating.unscored for rating in ratings if rating.unscored]
    if len(lost) > len(answers) or not answers:
        return Unscored(max(lost, key=lost.count), len(answers))
    missing = f", {len(lost)} replies without one" if lost else ""
    return Estimate(fmean(answers), len(answers), method=method + missing)


def _by_length(
    items: Sequence[Item], measured: Mapping[str, Sequence[Scored]], long_from: int, resampling: Resampling
) -> list[Row]:
    """The means of Tables 2 and 3: over short narratives and over long ones, where there are both."""
    short, long = f"narratives below {long_from:,} characters", f"narratives from {long_from:,} characters"
    parts: dict[str, list[int]] = {short: [], long: []}
    for index, item in enumerate(items):
        parts[long if len(source_of(item)) >= long_from else short].append(index)
    if not long_from or not all(parts.values()):
        return []
    rows = []
    for part, members in parts.items():
        inner = {what: [scored[index] for index in members] for what, scored in measured.items()}
        means = mean_rows([items[index] for index in members], inner, resampling)
        rows += [Row(row.of, f"{row.what}, {part}", row.scored) for row in means]
    return rows


def _between(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]], resampling: Resampling) -> list[Row]:
    """The difference between every two systems, over the narratives that both have a rated dialogue of."""
    systems = {name: members for name, members in by_system(items).items() if any(item.system for item in items)}
    rows = []
    for one, other in combinations(list(systems)[:_MOST_SYSTEMS], _PAIR):
        for what, scored in measured.items():
            first, second = (_by_prompt(items, scored, systems[name]) for name in (one, other))
            shared = [prompt for prompt in first if prompt in second]
            values = [first[prompt] - second[prompt] for prompt in shared]
            method = f"mean difference over {len(shared)} narratives that both have, bootstrap by narrative"
            difference = bootstrap_mean(values, resamples=resampling.resamples, seed=resampling.seed, method=method)
            rows.append(Row(f"{one} - {other}", MEAN + what, difference))
    return rows


def _by_prompt(items: Sequence[Item], scored: Sequence[Scored], members: Sequence[int]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for index in members:
        if isinstance(one := scored[index], Estimate):
            found.setdefault(prompt_of(items[index]), []).append(one.value)
    return {prompt: fmean(values) for prompt, values in found.items()}


def _baselines(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]], resamples: int) -> list[Row]:
    """What a judge of one number would give, and how far trivial measures order the dialogues as the ratings do."""
    constant = Estimate(_MIDDLE, len(items), method="what a judge that always says the same would give any dialogue")
    rows = [Row("all", "constant", constant, baseline=True)]
    for what, scored in measured.items():
        values = {item.id: one.value for item, one in zip(items, scored, strict=True) if isinstance(one, Estimate)}
        rows += order_rows(items, values, what, resamples)
    return rows


def _notes(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]]) -> list[str]:
    notes = []
    values = {one.value for scored in measured.values() for one in scored if isinstance(one, Estimate)}
    if len(values) == 1 and len(items) > 1:
        notes.append("The judge gave every dialogue the same rating on everything: it does not tell them apart.")
    if len(items) == 1:
        notes.append("One dialogue: its ratings mean something only beside those of others by the same judge.")
    return notes
