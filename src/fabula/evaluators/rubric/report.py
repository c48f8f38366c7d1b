"""The report on the scores of single calls: systems by level and category, the effect of the place, and baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.craft.levels import CATEGORIES, Level, ReadingPassage
from fabula.craft.measuring import difference_rows, lost_note, mean_rows, stories_data
from fabula.craft.raters import rating_of
from fabula.craft.trivial import order_rows
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import mean_of, share_of

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


EVALUATOR: Final = "rubric"
OVERALL: Final = "overall"
_RUBRIC: Final = "rubric-1"
_PAIR: Final = 2
_MOST: Final = 100.0  # points of a score
_LARGE: Final = 5.0  # points of 100 by which a place may lift a text before a reader is warned
SetId: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class PassageSet:
    """Passages that are compared: one from each story, at the same relative position.

    Attributes:
        number: the number of the set for its prompt and level, from 1.
        items: the stories on one prompt, one from each system.
        passages: one from each story.
    """

    prompt: str
    level: Level
    number: int
    items: tuple[Item, ...]
    passages: tuple[ReadingPassage, ...]

    @property
    def id(self) -> SetId:
        """Prompt, level and number."""
        return self.prompt, self.level, self.number


@dataclass(frozen=True, slots=True)
class RubricScores:
    """The result of a call.

    Attributes:
        set: the passages.
        shown: their stories in the order shown.
        at: path of the call.
        by: who judged.
        given: for each text in the order shown, its scores by category and `OVERALL`; `None` if there are none.
        reasons: the judge's words on each text.
        why_not: why there are no scores.
    """

    set: PassageSet
    shown: tuple[Item, ...]
    at: str
    by: str
    given: tuple[Mapping[str, float], ...] | None
    reasons: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def best(self) -> int | None:
        """The place of the one text with the highest overall score; `None` for a tie."""
        values = [given[OVERALL] for given in self.given or ()]
        top = max(values)
        return values.index(top) if values.count(top) == 1 else None


def question(level: str, category: str) -> str:
    """The name of a rating's question: "story/overall", "sentence/rhythm"."""
    return f"{level}/{category}"


def questions_of(levels: Sequence[Level]) -> list[str]:
    """All questions of the levels, each level's overall score first."""
    return [question(level, category) for level in levels for category in (OVERALL, *CATEGORIES[level])]


def report_of(
    items: Sequence[Item], levels: Sequence[Level], found: Sequence[RubricScores], how: Mapping[str, Any]
) -> Report:
    """The report on all stories."""
    means = _means(found)
    places = _place_rows(found, levels)
    questions = questions_of(levels)
    measured = {name: [_known(means, found, item, name) for item in items] for name in questions}
    words: list[Scored] = [Estimate(item.story.words, 1, method="words of the story") for item in items]
    named = [replace(item, system=item.contender) for item in items]
    overall = {
        item.id: fmean(values)
        for item in items
        if (values := [means[key] for level in levels if (key := (item.id, question(level, OVERALL))) in means])
    }
    apart, said = difference_rows(items, measured, _MOST)
    return Report(
        EVALUATOR,
        how,
        (
            *mean_rows(named, measured, (0.0, _MOST), called=""),
            *mean_rows(named, {"words": words}, called=""),
            *apart,
            *places,
            *order_rows(items, overall, "scores"),
        ),
        tuple(rating for scores in found for rating in ratings_of(scores)),
        (*_notes(items, found, places, how["orders"]), *said),
        {
            "names": list(dict.fromkeys(item.contender for item in items)),
            "questions": questions,
            "stories": stories_data(items),
            "scores": {item.id: {name: means.get((item.id, name)) for name in questions} for item in items},
        },
    )


def _means(found: Sequence[RubricScores]) -> dict[tuple[str, str], float]:
    """The mean score of each story on each question: over orders, and then over passages.

    Orders whose calls could not be read are left out.
    """
    cells: defaultdict[tuple[str, str], defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for scores in found:
        for item, given in zip(scores.shown, scores.given or (), strict=False):
            for category, value in given.items():
                cells[item.id, question(scores.set.level, category)][scores.set.number].append(value)
    return {key: fmean(fmean(values) for values in sets.values()) for key, sets in cells.items()}


def _known(means: Mapping[tuple[str, str], float], found: Sequence[RubricScores], item: Item, asked: str) -> Scored:
    if (item.id, asked) in means:
        return Estimate(means[item.id, asked], 1, method="score of 100 over its orders and passages")
    level = asked.partition("/")[0]
    reasons = (scores.why_not for scores in found if scores.set.level == level and item in scores.set.items)
    return Unscored(next(filter(None, reasons), "no call has a score of it"))


def ratings_of(scores: RubricScores) -> list[Rating]:
    """A rating of each text in each category. A call without scores has one rating of all texts that says why."""
    level, call = scores.set.level, f"{scores.at}/score"
    rated = partial(rating_of, by=scores.by, evaluator=EVALUATOR, rubric=_RUBRIC, call=call, unscored=scores.why_not)
    if scores.given is None:
        return [rated(scores.shown, question=level, answer=None)]
    return [
        rated((item,), question=question(level, category), answer=value, reason=reason if category == OVERALL else "")
        for item, given, reason in zip(scores.shown, scores.given, scores.reasons, strict=True)
        for category, value in given.items()
    ]


# how a score depends on the place in which a text is shown ------------------------------------------------------------


def _place_rows(found: Sequence[RubricScores], levels: Sequence[Level]) -> list[Row]:
    """Rows on how each place moves a text's overall score, by level, and how often the first place wins.

    Rows: `place N`, `effect/LEVEL`: the mean difference between a text's score there and its own mean over the orders
    of its set. `judge`, `same best/LEVEL`: the share of sets in which the same text is best in all orders. `first
    position`, `best`: the share of calls whose single best text was shown first, next to the share expected by chance.
    """
    read = [scores for scores in found if scores.given is not None and len(scores.shown) >= _PAIR]
    rows = []
    for level in levels:
        of_level = [scores for scores in read if scores.set.level == level]
        effects = _effects(of_level)
        most = max((len(scores.shown) for scores in of_level), default=0)
        rows += [Row(f"place {place + 1}", f"effect/{level}", _effect(effects[place])) for place in range(most)]
        if of_level:
            rows.append(Row("judge", f"same best/{level}", _same_best(of_level)))
    return [*rows, Row("first position", "best", _first_best(read), baseline=True)]


def _effects(found: Sequence[RubricScores]) -> defaultdict[int, list[tuple[SetId, float]]]:
    """By place, the set and the difference from the text's own mean, for all texts shown in several orders."""
    cells: defaultdict[tuple[SetId, str], list[tuple[int, float]]] = defaultdict(list)
    for scores in found:
        for place, (item, given) in enumerate(zip(scores.shown, scores.given or (), strict=True)):
            cells[scores.set.id, item.id].append((place, given[OVERALL]))
    effects: defaultdict[int, list[tuple[SetId, float]]] = defaultdict(list)
    for (of_set, _), shown in cells.items():
        if len({place for place, _ in shown}) > 1:
            mean = fmean(value for _, value in shown)
            for place, value in shown:
                effects[place].append((of_set, value - mean))
    return effects


def _effect(effects: Sequence[tuple[SetId, float]]) -> Scored:
    if not effects:
        return Unscored("every text was shown in one place only")
    several_prompts = len({prompt for (prompt, _, _), _ in effects}) > 1
    method = "mean difference from the text's own mean over its orders, in points"
    return mean_of(
        [value for _, value in effects],
        [of_set[0] if several_prompts else of_set for of_set, _ in effects],
        method=method,
    )


def _same_best(found: Sequence[RubricScores]) -> Scored:
    best: defaultdict[SetId, list[str | None]] = defaultdict(list)
    for scores in found:
        place = scores.best
        best[scores.set.id].append(None if place is None else scores.shown[place].id)
    several = {of_set: names for of_set, names in best.items() if len(names) > 1}
    if not several:
        return Unscored("no set was shown in several orders")
    return share_of(
        [float(len(set(names)) == 1) for names in several.values()],
        [prompt for prompt, _, _ in several],
        method="share of sets shown in several orders whose best text is the same in all",
    )


def _first_best(found: Sequence[RubricScores]) -> Scored:
    decided = [scores for scores in found if scores.best is not None]
    if not decided:
        return Unscored("no call has one best text")
    chance = fmean(1 / len(scores.shown) for scores in decided)
    return share_of(
        [float(scores.best == 0) for scores in decided],
        [scores.set.prompt for scores in decided],
        method=f"share of calls with one best text in which it was shown first; {chance:.2f} by chance",
    )


# what a reader must know ----------------------------------------------------------------------------------------------


def _notes(items: Sequence[Item], found: Sequence[RubricScores], places: Sequence[Row], orders: int) -> list[str]:
    notes = lost_note((scores.why_not for scores in found), len(found), "calls have no scores")
    lifted = [row for row in places if row.what.startswith("effect/") and _size(row.scored) >= _LARGE]
    if lifted:
        most = max(lifted, key=lambda row: _size(row.scored))
        notes.append(
            f"The place in which a text is shown moves its score: {most.of}, {most.what.removeprefix('effect/')}, by "
            f"{most.scored} points. Averaged over all orders it cancels out. With one order it remains in the numbers."
        )
    lone = {scores.set.items[0].id for scores in found if len(scores.set.items) == 1}
    if lone:
        notes.append(
            f"{len(lone)} of {len(items)} stories were scored alone. A score without another text next to it means "
            "little. Give the same number of stories by each system on a prompt."
        )
    elif orders == 1:
        notes.append(
            "Each set of texts was shown in one order, as in the paper, so the numbers contain the effect of the place."
        )
    return notes


def _size(scored: Scored) -> float:
    return abs(scored.value) if isinstance(scored, Estimate) else 0.0
