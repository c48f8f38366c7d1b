"""One question about one dialogue, put to the judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError
from fabula.craft.raters import kind_of, mark_for, source_of
from fabula.engine.replies import ReplyProblem, read_chances, read_score
from fabula.evaluators.snap_ratings.criteria import HIGH, NOTHING
from fabula.measure.ratings import Rating
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.evaluators.snap_ratings.algorithm import Config
    from fabula.evaluators.snap_ratings.criteria import Criterion
    from fabula.measure.items import Item
    from fabula.models.base import Reply

EVALUATOR: Final = "snap-ratings"
ROLE: Final = "judge"
RUBRIC: Final = "snap-1"
DIGRESSIONS: Final = "Nobody leaves the story, so there is nothing to come back from."
_REASON: Final = 1200  # characters


class Verdict(BaseModel):
    """A reason, and the number that follows from it."""

    reason: str = Field(min_length=1, json_schema_extra={"maxLength": _REASON}, description="in two or three sentences")
    score: int


@lru_cache
def verdict_type(low: int) -> type[Verdict]:
    """The reply's type, for numbers from `low` to 5."""
    score: Any = Field(ge=low, le=HIGH)
    return create_model("SnapVerdict", __base__=Verdict, score=(int, score))


@dataclass(frozen=True, slots=True)
class Call:
    """A criterion of a dialogue, asked for the `sample`th time."""

    item: Item
    criterion: Criterion
    sample: int


@dataclass(frozen=True, slots=True)
class Judge:
    """The judge of a run, asked as the configuration wants."""

    run: Run
    config: Config

    @property
    def who(self) -> str:
        """Who judges."""
        return self.run.context.cast.assignment(ROLE).performer.identity

    @property
    def tells(self) -> bool:
        """Whether the judge tells probabilities."""
        return self.run.context.cast.assignment(ROLE).performer.capabilities.logprobs

    @property
    def numbers(self) -> str:
        """How a number comes about, for reports."""
        if self.config.scoring == "samples":
            return "mean of the numbers drawn, 1 to 5"
        if self.tells and (self.config.scoring == "chances" or self.config.weigh):
            return "numbers 1 to 5 weighed by their probabilities"
        return "rating 1 to 5" if self.config.scoring == "chances" else "rating 1 to 5 after a reason"

    @property
    def samples(self) -> int:
        """How often each question is asked; probabilities are asked for once."""
        return 1 if self.config.scoring == "chances" else self.config.samples

    async def rating(self, call: Call) -> Rating:
        """The rating; where the reply holds none, one that says so.

        Raises:
            ModelError: the judge did not answer.
        """
        run = self.run.scope(call.item.id, call.criterion.prompt)
        run = run.scope(call.sample) if self.samples > 1 else run
        if self.config.scoring == "reasoned":
            return await self._reasoned(call, run)
        return await (self._weighed if self.config.scoring == "chances" else self._drawn)(call, run)

    async def _reasoned(self, call: Call, run: Run) -> Rating:
        """The number after its reason; where the judge tells probabilities, a number of its own beside the reason."""
        sampling = Sampling(temperature=self.config.temperature, max_tokens=self.config.reason_tokens)
        shape = verdict_type(call.criterion.low)
        fields = self._fields(call, reasoned=True)
        try:
            said = await run.ask_for(shape, ROLE, call.criterion.prompt, sampling=sampling, **fields)
            given = self._rating(call, run, self.who, float(said.score), reason=said.reason)
        except ReplyError as error:
            given = self._rating(call, run, self.who, None, why=str(error), reason=error.reply)
        if not (self.config.weigh and self.tells):
            return given
        return replace(await self._weighed(call, run.scope("number")), reason=given.reason)

    async def _drawn(self, call: Call, run: Run) -> Rating:
        reply = await self._number(call, run, self.config.temperature)
        try:
            value = read_score(reply.text, call.criterion.low, HIGH)
        except ReplyProblem as problem:
            return self._rating(call, run, reply.model, None, why=str(problem), reason=reply.text)
        return self._rating(call, run, reply.model, value)

    async def _weighed(self, call: Call, run: Run) -> Rating:
        """The mean of the numbers, weighed by how likely the model was to say each; its answer where it tells none."""
        options = [str(number) for number in call.criterion.numbers]
        reply = await self._number(call, run, 0.0)
        try:
            if reply.logprobs is None:
                value = read_score(reply.text, call.criterion.low, HIGH)
            else:
                value = _expected(read_chances(reply.logprobs, options), call.criterion.low)
        except ReplyProblem as problem:
            return self._rating(call, run, reply.model, None, why=str(problem), reason=reply.text)
        return self._rating(call, run, reply.model, value)

    async def _number(self, call: Call, run: Run, temperature: float) -> Reply:
        """A reply of one number; an engine that can be bound to a choice says nothing else."""
        sampling = Sampling(temperature=temperature, max_tokens=self.config.max_tokens)
        fields = self._fields(call, reasoned=False)
        if self.tells or self.run.context.cast.assignment(ROLE).performer.capabilities.choices:
            options = [str(number) for number in call.criterion.numbers]
            return await run.weigh(options, ROLE, call.criterion.prompt, sampling=sampling, **fields)
        return await run.reply(ROLE, call.criterion.prompt, sampling=sampling, expect=1, **fields)

    def _fields(self, call: Call, *, reasoned: bool) -> dict[str, Any]:
        source, dialogue = source_of(call.item), call.item.story.text
        return {
            "source": source,
            "dialogue": dialogue,
            "mark": mark_for(source, dialogue),
            "guard": self.config.guard,
            "reasoned": reasoned,
            "low": call.criterion.low,
        }

    def _rating(
        self, call: Call, run: Run, who: str, value: float | None, *, why: str = "", reason: str = ""
    ) -> Rating:
        item = call.item
        shown = "" if value is None else f"{value:g}"
        if value == NOTHING:
            value, why = None, DIGRESSIONS
        return Rating(
            rater=who or ROLE,
            kind=kind_of(who),
            items=(item.id,),
            systems=(item.system,) if item.system else (),
            prompt=item.prompt,
            question=call.criterion.name,
            shown=shown,
            answer=value,
            unscored=why,
            reason=reason.strip(),
            rubric=RUBRIC,
            evaluator=EVALUATOR,
            call=f"{run.at}/{call.criterion.prompt}",
        )


def _expected(chances: dict[str, float], low: int) -> float:
    """The mean of the numbers; 0, "there is nothing to rate", is an answer of its own where it is the likeliest."""
    if low == NOTHING and chances[str(NOTHING)] >= max(chances.values()):
        return NOTHING
    rated = {int(number): chance for number, chance in chances.items() if int(number) != NOTHING}
    whole = sum(rated.values())
    return sum(number * chance for number, chance in rated.items()) / whole
