"""Section 5.3 of SNAP: a judge reads a narrative and a dialogue made from it, and rates the dialogue from 1 to 5.

`evaluate` is the procedure; below it stand the three ways in which a number comes about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError
from fabula.base.remembering import remembered
from fabula.craft.measuring import check_numbers, check_samples, checked
from fabula.craft.raters import NO_ANSWER, mark_for, performer_of, rating_of, source_of
from fabula.engine.methods import values_of
from fabula.engine.replies import ReplyProblem, read_chances, read_score, short
from fabula.engine.run import side_by_side
from fabula.evaluators.snap_ratings.criteria import HIGH, NOTHING, criteria_in
from fabula.evaluators.snap_ratings.report import EVALUATOR, report_of
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.snap_ratings.config import Config
    from fabula.evaluators.snap_ratings.criteria import Criterion
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report
    from fabula.models.base import Reply

ROLE: Final = "judge"
RUBRIC: Final = "snap-1"
NO_CHANCES: Final = "The judge gives no probabilities: a number is its one answer, at temperature 0."
NO_DIGRESSIONS: Final = "Nobody leaves the story, so there is nothing to come back from."
_SHORT_REASON: Final = 400  # tokens of a small judge's reply with a reason


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Ratings from 1 (worst) to 5 of each dialogue, their means by system, and the differences between systems.

    Raises:
        UsageError: a setting is wrong, or a dialogue comes without the narrative that it was made from.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    paper = config.paper
    check_numbers(config, from_1=("samples", "max_tokens"), from_0=("temperature", "long_from"))
    samples = 1 if paper.scoring == "chances" else paper.samples
    check_samples(samples, paper.temperature)
    checked(items)
    for item in items:
        source_of(item)

    # Section 5.3: continuity, information appropriateness, non-redundancy, each asked about on its own (appendix B).
    # Section 5.1: each question has 20 completions of one token at temperature 1.
    ask = {"samples": drawn, "chances": weighed, "reasoned": reasoned}[paper.scoring]
    criteria = criteria_in(paper.criteria)

    async def asked(item: Item, criterion: Criterion, at: Run) -> tuple[Rating, bool]:
        try:
            return await ask(item, criterion, at, config)
        except NO_ANSWER as error:  # one refusal does not sink the others
            return _rating(item, criterion, at, performer_of(at, ROLE).identity, None, why=str(error)), False

    found = await side_by_side(
        asked(item, criterion, run.scope(item.id, criterion.prompt, *([sample] if samples > 1 else [])))
        for item in items
        for criterion in criteria
        for sample in range(1, samples + 1)
    )

    # Tables 2 and 3: means of each system, over short and over long narratives.
    ratings, by_chances = [rating for rating, _ in found], sum(chances for _, chances in found)
    notes = (NO_CHANCES,) if paper.scoring == "chances" and by_chances < len(found) else ()
    how = values_of(config) | {
        "criteria": ", ".join(criterion.name for criterion in criteria),
        "judge": performer_of(run, ROLE).identity,
        "numbers": _numbers(paper.scoring, by_chances, len(found)),
    }
    return report_of(items, criteria, ratings, how, notes)


# how a number comes about ---------------------------------------------------------------------------------------------


async def drawn(item: Item, criterion: Criterion, at: Run, config: Config) -> tuple[Rating, bool]:
    """One number as the judge says it (section 5.1); where the reply holds none, a rating that says so.

    Raises:
        ModelError: the judge did not answer.
    """
    reply = await _number(item, criterion, at, config, config.paper.temperature)
    return _read(item, criterion, at, reply, lambda: read_score(reply.text, criterion.low, HIGH)), False


async def weighed(item: Item, criterion: Criterion, at: Run, config: Config) -> tuple[Rating, bool]:
    """The mean of the numbers, weighed by how likely the judge was to say each, and true.

    Where its server gives no probabilities, whatever its kind can do, its answer, and false.

    Raises:
        ModelError: the judge did not answer.
    """
    reply = await _number(item, criterion, at, config, 0.0)

    def read() -> float:
        if reply.logprobs is None:
            return read_score(reply.text, criterion.low, HIGH)
        return _expected(read_chances(reply.logprobs, _options(criterion)), criterion.low)

    return _read(item, criterion, at, reply, read), reply.logprobs is not None


async def reasoned(item: Item, criterion: Criterion, at: Run, config: Config) -> tuple[Rating, bool]:
    """The number after its reason; where the judge gives probabilities, a number of its own beside the reason (ours).

    Raises:
        ModelError: the judge did not answer.
    """
    sampling = Sampling(temperature=config.paper.temperature, max_tokens=at.reply_tokens(ROLE, short=_SHORT_REASON))
    fields = _fields(item, criterion, config, reasoned=True)
    by = performer_of(at, ROLE).identity
    try:
        verdict = await at.ask_for(verdict_type(criterion.low), ROLE, criterion.prompt, sampling=sampling, **fields)
        rating = _rating(item, criterion, at, by, float(verdict.score), reason=verdict.reason)
    except ReplyError as error:
        rating = _rating(item, criterion, at, by, None, why=str(error), reason=error.reply)
    if not (config.ours.weigh and _gives_chances(at)):
        return rating, False
    number, by_chances = await weighed(item, criterion, at.scope("number"), config)
    return (replace(number, reason=rating.reason), True) if by_chances else (rating, False)


class Verdict(BaseModel):
    """A reason, and the number that follows from it."""

    reason: Annotated[str, Field(min_length=1, description="Your reason, in two or three sentences."), short(1200)]
    score: int


@remembered(16)
def verdict_type(low: int) -> type[Verdict]:
    """The reply's type, for numbers from `low` to 5."""
    score: Any = Field(ge=low, le=HIGH)
    return create_model("SnapVerdict", __base__=Verdict, score=(int, score))


async def _number(item: Item, criterion: Criterion, at: Run, config: Config, temperature: float) -> Reply:
    """A reply of one number; an engine that can be bound to a choice says nothing else."""
    sampling = Sampling(
        temperature=temperature,
        top_p=1.0,
        frequency_penalty=0.0,
        presence_penalty=0.0,
        max_tokens=config.paper.max_tokens,
    )
    fields = _fields(item, criterion, config, reasoned=False)
    if _gives_chances(at) or performer_of(at, ROLE).capabilities.choices:
        return await at.weigh(_options(criterion), ROLE, criterion.prompt, sampling=sampling, **fields)
    return await at.reply(ROLE, criterion.prompt, sampling=sampling, expect=1, **fields)


def _gives_chances(run: Run) -> bool:
    return performer_of(run, ROLE).capabilities.logprobs


def _options(criterion: Criterion) -> list[str]:
    return [str(number) for number in criterion.numbers]


def _fields(item: Item, criterion: Criterion, config: Config, *, reasoned: bool) -> dict[str, Any]:
    source, dialogue = source_of(item), item.story.text
    return {
        "source": source,
        "dialogue": dialogue,
        "mark": mark_for(source, dialogue),
        "guard": config.ours.guard,
        "reasoned": reasoned,
        "low": criterion.low,
    }


def _expected(chances: dict[str, float], low: int) -> float:
    """The mean of the numbers; 0, "there is nothing to rate", is an answer of its own where it is the likeliest."""
    if low == NOTHING and chances[str(NOTHING)] >= max(chances.values()):
        return NOTHING
    rated = {int(number): chance for number, chance in chances.items() if int(number) != NOTHING}
    return sum(number * chance for number, chance in rated.items()) / sum(rated.values())


def _read(item: Item, criterion: Criterion, at: Run, reply: Reply, read: Callable[[], float]) -> Rating:
    try:
        return _rating(item, criterion, at, reply.model, read())
    except ReplyProblem as problem:
        return _rating(item, criterion, at, reply.model, None, why=str(problem), reason=reply.text)


def _rating(
    item: Item, criterion: Criterion, at: Run, by: str, value: float | None, *, why: str = "", reason: str = ""
) -> Rating:
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


def _numbers(scoring: str, by_chances: int, total: int) -> str:
    """How the numbers really came about, for reports."""
    if scoring == "samples":
        return "mean of the numbers drawn, 1 to 5"
    plain = "rating 1 to 5" if scoring == "chances" else "rating 1 to 5 after a reason"
    if not by_chances:
        return plain
    whole = "numbers 1 to 5 weighed by their probabilities"
    return whole if by_chances == total else f"{by_chances} of {total} {whole}, else {plain}"
