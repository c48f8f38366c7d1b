"""Section 5.3 of SNAP: a judge reads a narrative and a dialogue made from it, and rates the dialogue from 1 to 5."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.measuring import check_numbers, check_samples, checked
from fabula.craft.raters import NO_ANSWER, mark_for, rating_of, source_of
from fabula.engine.methods import values_of
from fabula.engine.replies import ReplyProblem, read_score
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.snap_ratings.criteria import HIGH, NOTHING, Criterion, criteria_in
from fabula.evaluators.snap_ratings.report import EVALUATOR, report_of
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from fabula.evaluators.snap_ratings.config import Config, Paper
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report


ROLE: Final = "judge"
RUBRIC: Final = "snap-1"
NUMBERS: Final = "mean of the numbers drawn, 1 to 5"
NO_DIGRESSIONS: Final = "Nobody leaves the story, so there is nothing to come back from."


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Ratings from 1 (worst) to 5 of each dialogue, their means by system, and the differences between systems.

    Raises:
        UsageError: a setting is wrong, or a dialogue lacks the narrative that it was made from.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    # Each question has 20 completions of one token at temperature 1 (section 5.1).
    return await rated(items, run, config, drawn, NUMBERS)


async def rated(
    items: Sequence[Item],
    run: Run,
    config: Config,
    ask: Callable[[Item, Criterion, Run, Paper], Awaitable[Rating]],
    numbers: str,
) -> Report:
    """The report on the ratings that `ask` gives; `numbers` describes how they are made."""
    paper = config.paper
    check_numbers(config, from_1=("samples", "max_tokens"), from_0=("temperature", "long_from"))
    check_samples(paper.samples, paper.temperature)
    checked(items)
    for item in items:
        source_of(item)

    # Section 5.3: continuity, information appropriateness, non-redundancy, each asked about on its own (appendix B).
    criteria = criteria_in(paper.criteria)

    async def asked(item: Item, criterion: Criterion, at: Run) -> Rating:
        try:
            return await ask(item, criterion, at, paper)
        except NO_ANSWER as error:  # one refusal does not sink the others
            return rating(item, criterion, at, at.room(ROLE).model.identity, None, why=str(error))

    ratings = await side_by_side(
        asked(item, criterion, run.scope(item.id, criterion.prompt, *([sample] if paper.samples > 1 else [])))
        for item in items
        for criterion in criteria
        for sample in range(1, paper.samples + 1)
    )

    # Tables 2 and 3: means of each system, over short and over long narratives.
    how = values_of(config) | {
        "criteria": ", ".join(criterion.name for criterion in criteria),
        "judge": run.room(ROLE).model.identity,
        "numbers": numbers,
    }
    return report_of(items, criteria, ratings, how, paper.long_from)


async def drawn(item: Item, criterion: Criterion, at: Run, paper: Paper) -> Rating:
    """A rating with one number (section 5.1), or with the reason why the reply has none.

    An engine that supports choices can reply only with a number.

    Raises:
        ModelError: the judge did not answer.
    """
    sampling = Sampling(
        temperature=paper.temperature,
        top_p=1.0,
        frequency_penalty=0.0,
        presence_penalty=0.0,
        max_tokens=paper.max_tokens,
    )
    given = fields_of(item, criterion)
    if at.room(ROLE).model.capabilities.choices:
        options = [str(number) for number in criterion.numbers]
        reply = await at.weigh(options, ROLE, criterion.prompt, sampling=sampling, **given)
    else:
        reply = await at.reply(ROLE, criterion.prompt, sampling=sampling, **given)
    try:
        return rating(item, criterion, at, reply.model, read_score(reply.text, criterion.low, HIGH))
    except ReplyProblem as problem:
        return rating(item, criterion, at, reply.model, None, why=str(problem), reason=reply.text)


def fields_of(item: Item, criterion: Criterion) -> dict[str, Any]:
    """The texts that the judge is shown. `mark` occurs in neither text, so that neither can end its own block."""
    source, dialogue = source_of(item), item.story.text
    return {"source": source, "dialogue": dialogue, "mark": mark_for(source, dialogue), "low": criterion.low}


def rating(
    item: Item, criterion: Criterion, at: Run, by: str, value: float | None, *, why: str = "", reason: str = ""
) -> Rating:
    """A rating of one dialogue; 0 means that nobody leaves the story and there is nothing to rate."""
    nothing = value == NOTHING
    return rating_of(
        [item],
        by,
        evaluator=EVALUATOR,
        rubric=RUBRIC,
        question=criterion.name,
        answer=None if nothing else value,
        call=f"{at.at}/{criterion.prompt}",
        shown="" if value is None else f"{value:g}",
        unscored=NO_DIGRESSIONS if nothing else why,
        reason=reason.strip(),
    )
