"""From the scores of single calls to a report: systems by level and category, the place's effect, and baselines."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.levels import CATEGORIES
from fabula.craft.raters import kind_of
from fabula.craft.trivial import order_rows
from fabula.evaluators.rubric.asking import OVERALL, ROLE
from fabula.evaluators.rubric.places import place_rows
from fabula.measure.ratings import Rating
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.levels import Level
    from fabula.evaluators.rubric.algorithm import Config
    from fabula.evaluators.rubric.asking import Scores
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored

EVALUATOR: Final = "rubric"
RUBRIC: Final = "rubric-1"
_LARGE: Final = 5.0  # points of 100 by which a place may lift a text before a reader is warned


@dataclass(frozen=True, slots=True)
class Means:
    """The mean score of each story on each question: over orders, and then over passages."""

    by_item: Mapping[tuple[str, str], float]

    @classmethod
    def of(cls, found: Sequence[Scores]) -> Means:
        """From all calls; those that could not be read leave their orders out."""
        cells: defaultdict[tuple[str, str], defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for scores in found:
            for item, given in zip(scores.shown, scores.given or (), strict=False):
                for category, value in given.items():
                    cells[item.id, question(scores.call.group.level, category)][scores.call.group.number].append(value)
        return cls({key: fmean(fmean(values) for values in groups.values()) for key, groups in cells.items()})


def question(level: str, category: str) -> str:
    """What a rating is called: "story/overall", "sentence/rhythm"."""
    return f"{level}/{category}"


def questions_of(levels: Sequence[Level]) -> list[str]:
    """All questions of the levels, each level's overall score first."""
    return [question(level, category) for level in levels for category in (OVERALL, *CATEGORIES[level])]


def report_of(
    items: Sequence[Item], levels: Sequence[Level], found: Sequence[Scores], config: Config, how: Mapping[str, Any]
) -> Report:
    """The report on all stories."""
    means = Means.of(found)
    rows = _system_rows(items, levels, means, found, config)
    places = place_rows(found, levels, config.resamples, config.seed)
    beside = {
        item.id: fmean(values)
        for item in items
        if (
            values := [
                v for level in levels if (v := means.by_item.get((item.id, question(level, OVERALL)))) is not None
            ]
        )
    }
    return Report(
        EVALUATOR,
        how,
        (*rows, *places, *order_rows(items, beside, "scores", config.resamples)),
        tuple(rating for scores in found for rating in ratings_of(scores)),
        tuple(_notes(items, found, places, config)),
        {
            "names": list(dict.fromkeys(name_of(item) for item in items)),
            "questions": questions_of(levels),
            "stories": [
                {"id": item.id, "system": item.system, "prompt": item.prompt, "words": item.story.words}
                for item in items
            ],
            "scores": {
                item.id: {name: means.by_item.get((item.id, name)) for name in questions_of(levels)} for item in items
            },
        },
    )


def name_of(item: Item) -> str:
    """What is scored: the story's system, or the story itself where that is not known."""
    return item.system or item.id


def _system_rows(
    items: Sequence[Item], levels: Sequence[Level], means: Means, found: Sequence[Scores], config: Config
) -> list[Row]:
    rows = []
    for name in dict.fromkeys(name_of(item) for item in items):
        mine = [item for item in items if name_of(item) == name]
        for what in questions_of(levels):
            known = [(item.prompt, means.by_item[item.id, what]) for item in mine if (item.id, what) in means.by_item]
            rows.append(Row(name, what, _mean(known, what.partition("/")[0], found, config)))
        words = fmean(item.story.words for item in mine)
        rows.append(Row(name, "words", Estimate(words, len(mine), method="mean words of its stories")))
    return rows


def _mean(known: Sequence[tuple[str, float]], level: str, found: Sequence[Scores], config: Config) -> Scored:
    """The mean over stories, drawn by prompt; why there is none."""
    if not known:
        reasons = [scores.why_not for scores in found if scores.call.group.level == level and scores.why_not]
        return Unscored(reasons[0] if reasons else "no call has a score of it")
    return bootstrap_mean(
        [value for _, value in known],
        [prompt for prompt, _ in known],
        resamples=config.resamples,
        seed=config.seed,
        method=f"mean score of 100 over {len(known)} stories, each over its orders and passages",
    )


# ratings --------------------------------------------------------------------------------------------------------------


def ratings_of(scores: Scores) -> list[Rating]:
    """A rating of each text in each category; one of all texts for a call that gave none, which says why."""
    shown, level = scores.shown, scores.call.group.level
    if scores.given is None:
        return [_rating(scores, shown, level, None)]
    found = []
    for place, (item, given) in enumerate(zip(shown, scores.given, strict=True)):
        for category, value in given.items():
            reason = scores.reasons[place] if category == OVERALL else ""
            found.append(_rating(scores, (item,), question(level, category), value, reason))
    return found


def _rating(scores: Scores, items: Sequence[Item], asked: str, answer: float | None, reason: str = "") -> Rating:
    return Rating(
        rater=scores.by or ROLE,
        kind=kind_of(scores.by),
        items=tuple(item.id for item in items),
        systems=tuple(item.system for item in items) if all(item.system for item in items) else (),
        prompt=items[0].prompt,
        question=asked,
        shown="" if answer is None else f"{answer:g}",
        answer=answer,
        unscored=scores.why_not,
        reason=reason,
        rubric=RUBRIC,
        evaluator=EVALUATOR,
        call=f"{scores.at}/score",
    )


# what a reader must know ----------------------------------------------------------------------------------------------


def _notes(items: Sequence[Item], found: Sequence[Scores], places: Sequence[Row], config: Config) -> list[str]:
    notes = []
    lost = [scores for scores in found if scores.given is None]
    if lost:
        (why, _), *_ = Counter(scores.why_not for scores in lost).most_common(1)
        notes.append(f"{len(lost)} of {len(found)} calls have no scores; most often: {why}")
    lifted = [row for row in places if row.what.startswith("effect/") and _size(row.scored) >= _LARGE]
    if lifted:
        most = max(lifted, key=lambda row: _size(row.scored))
        notes.append(
            f"The place in which a text is shown moves its score: {most.of}, {most.what.removeprefix('effect/')}, by "
            f"{most.scored} points. Averaged over all orders it cancels out; with one order it is in the numbers."
        )
    prompts = Counter(item.prompt for item in items)
    lone = sum(count == 1 for count in prompts.values())
    if lone:
        notes.append(
            f"{lone} of {len(prompts)} prompts have one story. A score without another text beside it says little: "
            "give stories of several systems on one prompt."
        )
    elif config.orders == 1:
        notes.append(
            "Each set of texts was shown in one order, as in the paper, so the place's effect is in the numbers."
        )
    return notes


def _size(scored: Scored) -> float:
    return abs(scored.value) if isinstance(scored, Estimate) else 0.0
