"""Our form of the ratings: a reason comes before each number, and the judge is warned about the texts that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError
from fabula.base.remembering import remembered
from fabula.engine.replies import short
from fabula.evaluators.snap_ratings.algorithm import ROLE, fields_of, rated, rating
from fabula.evaluators.snap_ratings.criteria import HIGH, Criterion
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.evaluators.snap_ratings.config import Config, Paper
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report


NUMBERS: Final = "rating 1 to 5 after a reason"
_SHORT_REASON: Final = 400  # tokens of a small judge's reply with a reason


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The paper's report on ratings that come with reasons.

    Raises:
        UsageError: a setting is wrong, or a dialogue lacks the narrative that it was made from.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    return await rated(items, run, config, reasoned, NUMBERS)


async def reasoned(item: Item, criterion: Criterion, at: Run, paper: Paper) -> Rating:
    """A rating with its reason. A reply that cannot be read is repaired.

    Raises:
        ModelError: the judge did not answer.
    """
    sampling = Sampling(temperature=paper.temperature, max_tokens=at.room(ROLE).reply_tokens(short=_SHORT_REASON))
    by, given = at.room(ROLE).model.identity, fields_of(item, criterion)
    try:
        verdict = await at.ask_for(verdict_type(criterion.low), ROLE, criterion.prompt, sampling=sampling, **given)
    except ReplyError as error:
        return rating(item, criterion, at, by, None, why=str(error), reason=error.reply)
    return rating(item, criterion, at, by, float(verdict.score), reason=verdict.reason)


class RatingReply(BaseModel):
    """A reason, and the number that follows from it."""

    reason: Annotated[str, Field(min_length=1, description="Your reason, in two or three sentences."), short(1200)]
    score: int


@remembered(16)
def verdict_type(low: int) -> type[RatingReply]:
    """The reply's type, for numbers from `low` to 5."""
    score: Any = Field(ge=low, le=HIGH)
    return create_model("SnapVerdict", __base__=RatingReply, score=(int, score))
