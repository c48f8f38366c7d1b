"""Vanilla as something to talk to: one cell, no plan, nothing to remember."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fabula.craft.conversation.answering import Asking, answered, window
from fabula.craft.conversation.talk import Chapter, Pace
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.talk import Answer, Line, Memories, Moment, Parties, Place, Step
    from fabula.systems.vanilla.algorithm import Config


@dataclass(frozen=True)
class VanillaTalk:
    """A narrative and who talks; a `Talk` that all sessions share."""

    narrative: str
    parties: Parties
    config: Config

    @property
    def cells(self) -> tuple[str, ...]:
        """The whole narrative as one cell."""
        return (self.narrative,)

    @property
    def pace(self) -> Pace:
        """There is no plan, so the agent alone ends the dialogue."""
        return Pace(1, 0, watches=True)

    async def chapter(
        self, place: Place, number: int, memories: Memories, steps: tuple[Step, ...] | None = None
    ) -> Chapter:
        """The whole narrative."""
        del place, memories, steps
        return Chapter(number, self.narrative.strip(), (), self.parties.others)

    async def answer(self, place: Place, moment: Moment) -> Answer:
        """One turn; 1 call, more where a draw cannot be used."""
        run = replace(place.own.scope("turn", moment.turn), take=place.own.take)
        return await answered(run, moment, self._asking("npc", "answer"), self._given(moment))

    async def play(self, place: Place, moment: Moment) -> str:
        """One turn of the player's character by a model."""
        run = place.own.scope("turn", moment.turn)
        said = await answered(run, moment, self._asking("player", "play"), self._given(moment))
        return f"({said.action}) {said.message}".strip() if said.action else said.message

    async def remember(self, place: Place, chapter: Chapter, lines: Sequence[Line], memories: Memories) -> Memories:
        """Nothing: there is one cell."""
        del place, chapter, lines
        return memories

    def _asking(self, role: str, prompt: str) -> Asking:
        config = self.config
        sampling = Sampling(temperature=config.turn_temperature, max_tokens=config.turn_tokens)
        stands_in = ("says nothing",) if config.lenient else ()
        return Asking(role, prompt, sampling, config.tries, config.lead, config.turn_sentences, stands_in)

    def _given(self, moment: Moment) -> dict[str, Any]:
        partners = [name for name in self.parties.names if name != moment.who]
        return {
            "who": moment.who,
            "partners": partners,
            "segment": moment.chapter.text,
            "lines": window(moment.lines, self.config.history_tokens),
        }
