"""The roles of a run, asked for typed replies; what cannot be had is counted and never ends the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.base.errors import ReplyError
from fabula.engine.replies import json_instruction, schema_of
from fabula.engine.roles import is_person
from fabula.measure.ratings import Rating
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.ratings import RaterKind

T = TypeVar("T")

EVALUATOR: Final = "atlas"
RUBRIC: Final = "atlas-1"
REPLY_TOKENS: Final = {
    "events": 2500,
    "entities": 3000,
    "relations": 2500,
    "attributes": 2500,
    "node": 600,
    "propose": 1600,
    "verify": 2600,
    "facts": 2800,
    "compare": 1200,
    "settle": 2600,
    "judge": 4000,
}


@dataclass
class Desk:
    """One story's calls, with what was counted on the way.

    Attributes:
        run: at the story's place.
        ratings: verdicts, and calls whose reply could not be read.
        counts: how often something was dropped, cut, merged or missed.
    """

    run: Run
    item: Item
    temperature: float = 0.0
    ratings: list[Rating] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def who(self, role: str) -> str:
        """Who plays a role."""
        return self.run.context.cast.assignment(role).performer.identity

    def room(self, role: str, prompt: str) -> int | None:
        """How many tokens the whole prompt may have beside its reply; `None` where that is not known."""
        context = self.run.window(role)
        return None if context is None else context - REPLY_TOKENS[prompt]

    async def ask(self, at: Run, shape: type[T], role: str, prompt: str, **fields: Any) -> T | None:  # noqa: ANN401 - fields of a prompt
        """A reply of that shape; `None`, counted and told in a rating, where none could be had.

        Raises:
            ModelError: the model did not answer.
            BudgetError: the cap is reached.
        """
        why = self._too_long(at, shape, role, prompt, fields)
        if not why:
            sampling = Sampling(temperature=self.temperature, max_tokens=REPLY_TOKENS[prompt])
            try:
                return await at.ask_for(shape, role, prompt, sampling=sampling, **fields)
            except ReplyError as error:
                why = str(error)
        self.counts[f"unreadable_{prompt}"] += 1
        self.rate(role, f"{at.at}/{prompt}", f"{at.at}/{prompt}", unscored=why)
        return None

    def rate(self, role: str, question: str, call: str, **told: Any) -> None:  # noqa: ANN401 - fields of a rating
        """Keep a verdict."""
        who = self.who(role)
        told.setdefault("answer", None)
        self.ratings.append(
            Rating(
                rater=who or role,
                kind=_kind(who),
                items=(self.item.id,),
                systems=(self.item.system,) if self.item.system else (),
                prompt=self.item.prompt,
                question=question,
                rubric=RUBRIC,
                evaluator=EVALUATOR,
                call=call,
                **told,
            )
        )

    def _too_long(self, at: Run, shape: type[T], role: str, prompt: str, fields: dict[str, Any]) -> str:
        """Why a call cannot be made to this role; empty where it can."""
        room = self.room(role, prompt)
        if room is None:
            return ""
        told = at.render(prompt, **fields)
        if not at.context.cast.assignment(role).performer.capabilities.schema:
            told += json_instruction(schema_of(shape))
        if (needed := estimate_tokens(told)) <= room:
            return ""
        whole = REPLY_TOKENS[prompt]
        return (
            f"This prompt has about {needed:,} tokens and its reply up to {whole:,}; the {role} has room for "
            f"{room + whole:,} in all. Give this role a model with more."
        )


def _kind(performer: str) -> RaterKind:
    if is_person(performer):
        return "person"
    return "program" if performer.startswith("program:") else "model"
