"""The algorithm of example-name: a judge grades each story, and the grades become numbers with intervals.

An evaluator uses only `run`, which calls models (`ask`, `ask_for`, `weigh`) and records every call, so that a run that
is killed continues where it stopped. A reply without a verdict is not a number: it is counted, with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.plugin import (
    Estimate,
    ReplyProblem,
    Sampling,
    Unscored,
    checked,
    mark_for,
    measured_report,
    rating_of,
    read_choice,
    side_by_side,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.plugin import Item, Rating, Report, Run, Scored

    from .config import Config

EVALUATOR: Final = "example-name"
RUBRIC: Final = "example-name-1"  # count it up when the question changes, so that verdicts are not mixed
MEASURE: Final = "readable"
GRADES: Final = ("1", "2", "3", "4", "5")
_SHOWN: Final = 200  # characters of a reply that is no grade


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """A grade from 1 to 5 for each story, each system's mean, and the systems shown to differ; one call per story."""
    checked(items)
    ratings = await side_by_side(_graded(item, run, config) for item in items)
    measured = {MEASURE: [_score(rating) for rating in ratings]}
    how = values_of(config) | {"judged by": run.room("judge").model.identity}
    limits = (1, len(GRADES))
    return measured_report(EVALUATOR, how, items, measured, limits, most=len(GRADES) - 1, ratings=ratings)


async def _graded(item: Item, run: Run, config: Config) -> Rating:
    """The judge's grade of a story (prompt grade.jinja); a rating without an answer if the reply has no grade."""
    at = run.scope(item.id)
    sampling = Sampling(temperature=config.paper.temperature)
    story = item.story.text
    fields = {"story": story, "mark": mark_for(story), "grades": GRADES}
    reply = await at.weigh(GRADES, "judge", "grade", sampling=sampling, **fields)
    answer, why = None, ""
    try:
        answer = float(read_choice(reply.text, GRADES))
    except ReplyProblem as problem:
        why = str(problem)
    return rating_of(
        [item],
        run.room("judge").model.identity,
        evaluator=EVALUATOR,
        rubric=RUBRIC,
        question=MEASURE,
        answer=answer,
        call=f"{at.at}/grade",
        unscored=why,
        reason=reply.text.strip()[:_SHOWN] if why else "",
    )


def _score(rating: Rating) -> Scored:
    """The number of a rating, with its n and how it was made."""
    if not isinstance(rating.answer, float):
        return Unscored(rating.unscored)
    return Estimate(rating.answer, 1, method="a judge's grade from 1 to 5")
