"""A story under check: its scenes, the roles that are asked about them, and the counts and ratings kept.

Missing replies are counted and reported. They never end the check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.craft.raters import rating_of, reply_or_why
from fabula.engine.replies import is_cut, schema_of
from fabula.evaluators.atlas.quoting import StoryText
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.models.prompt_text import json_instruction

if TYPE_CHECKING:
    from fabula.continuity import NumberedScene, Scenes
    from fabula.engine.run import Run
    from fabula.evaluators.atlas.config import Config
    from fabula.evaluators.atlas.findings import AtlasFinding, Proposal
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


T = TypeVar("T")

EVALUATOR: Final = "atlas"
WHOLE_FILE: Final = "story"
"""The label of the only scene of a story that is a whole text file, so that line numbers are those of the file."""
RUBRIC: Final = "atlas-1"
LARGEST_BATCH: Final = 12
"""The number of proposals or suspicions that are verified in one call."""
REPLY_TOKENS: Final = {
    "events": 2500,
    "entities": 3000,
    "relations": 2500,
    "node": 600,
    "propose": 1600,
    "verify": 2600,
    "read": 3200,
    "decide": 3200,
    "judge": 4000,
}
"""Tokens of the context window that are reserved for the reply, and the most that a small model may write."""


@dataclass
class StoryCheck:
    """One story under check.

    Attributes:
        run: at the story's place.
        split: the story's scenes.
        ratings: verdicts, and calls whose replies could not be read.
        counts: how often something was dropped, cut, merged or missed.
        unread: numbers of the paragraphs that no model read.
        cut: paths of calls whose replies were cut off at the model's limit; their first part was read.
        rejected: suspicions that the verifier did not confirm, with its decision as `attribute`.
        undecided: suspicions without a verdict.
    """

    run: Run
    item: Item
    split: Scenes
    config: Config
    ratings: list[Rating] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unread: set[int] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    rejected: list[AtlasFinding] = field(default_factory=list)
    undecided: list[AtlasFinding | Proposal] = field(default_factory=list)

    @property
    def scenes(self) -> Sequence[NumberedScene]:
        """The scenes, in the order of the text."""
        return self.split.scenes

    @cached_property
    def text(self) -> StoryText:
        """The story's text, in which quotations are searched for."""
        return StoryText(self.scenes)

    def performer(self, role: str) -> str:
        """The performer of a role."""
        return self.run.room(role).model.identity

    def prompt_room(self, role: str, prompt: str) -> int | None:
        """The most tokens that a whole prompt may have in addition to its reply; `None` if unknown."""
        window = self.run.room(role).window
        return None if window is None else window - REPLY_TOKENS[prompt]

    def fits(self, role: str, most: int, unknown: int) -> bool:
        """Whether the whole story fits `most` tokens and half of a role's window; `unknown` is its size if unknown."""
        return sum(one.tokens for one in self.text.paragraphs) <= min(
            most, (self.run.room(role).window or unknown) // 2
        )

    async def ask(
        self,
        at: Run,
        shape: type[T],
        role: str,
        prompt: str,
        **fields: Any,  # noqa: ANN401 - fields of a prompt
    ) -> T | None:
        """A reply of that shape.

        If none can be read, the result is `None`, which is counted and kept as an unscored rating.

        Raises:
            ModelError: the model did not answer.
            BudgetError: the cap is reached.
        """
        if why := self._too_long(at, shape, role, prompt, fields):
            at.note(f"{self.item.id} is not read by role {role!r}. {why}", "shortfall")
        else:
            most = at.room(role).reply_tokens(short=REPLY_TOKENS[prompt])
            sampling = Sampling(temperature=self.config.paper.temperature, max_tokens=most)
            reply, why = await reply_or_why(at, shape, role, prompt, sampling, **fields)
            if reply is not None:
                self._note(at, f"{at.at}/{prompt}")
                return reply
        self.counts[f"unreadable_{prompt}"] += 1
        self.rate(role, f"{at.at}/{prompt}", f"{at.at}/{prompt}", unscored=why)
        return None

    def _note(self, at: Run, path: str) -> None:
        """Keep the path of a call whose reply was cut off."""
        last = at.context.journal.calls.last(path, 0)
        if last is not None and (last.reply.finish == "length" or is_cut(last.text)):
            self.cut.add(path)

    def rate(self, role: str, question: str, call: str, **verdict: Any) -> None:  # noqa: ANN401 - fields of a rating
        """Keep a verdict."""
        said = {"answer": None, "shown": "", **verdict}
        by = self.performer(role) or role
        self.ratings.append(
            rating_of([self.item], by, evaluator=EVALUATOR, rubric=RUBRIC, question=question, call=call, **said)
        )

    def _too_long(self, at: Run, shape: type[T], role: str, prompt: str, fields: dict[str, Any]) -> str:
        """Why this role cannot be called; empty if it can."""
        room = self.prompt_room(role, prompt)
        if room is None:
            return ""
        text = at.render(prompt, **fields)
        if not at.room(role).model.capabilities.schema:
            text += json_instruction(schema_of(shape, short=at.room(role).aids))
        if (needed := estimate_tokens(text)) <= room:
            return ""
        reply = REPLY_TOKENS[prompt]
        return (
            f"This prompt has about {needed:,} tokens and its reply up to {reply:,}, but the {role} has room for "
            f"{room + reply:,} in all. Give this role a model with a larger context."
        )
