"""Vanilla, the baseline of SNAP (section 5.1, Table 9): the whole narrative and nine rules in one prompt.

There are no cells, plans and summaries. Two agents talk here, as in section 5.3; in `fabula chat` a person is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fabula.craft.conversation.cards import Cards
from fabula.craft.conversation.lines import (
    Cell,
    Freedom,
    Parties,
    PartyView,
    SpokenLine,
    SubPlan,
    Summaries,
    without_remarks,
)
from fabula.craft.conversation.talk import PlanProgress, State, conversation, gone_on
from fabula.craft.conversation.turns import TurnKnowledge, turn_of
from fabula.craft.narratives import check_narrative, narrative_of, who_talks
from fabula.story import Brief, Story

if TYPE_CHECKING:
    from fabula.engine.replies.dialogue import SpokenTurn
    from fabula.engine.run import Run
    from fabula.systems.vanilla.config import Config


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents (section 5.3)."""
    return await talked_through(await open_talk(await narrative_of(run, brief), run, config), brief, run)


async def talked_through(talk: Vanilla, brief: Brief, run: Run) -> Story:
    """The whole narrative as one dialogue."""
    cell = await talk.cell(run, 1, {})
    both = partial(conversation, talk, cell=cell, summaries={}, most=talk.config.paper.max_turns)
    more = partial(gone_on, talk, cell=cell, summaries={})  # where the author wants it to go on
    text = await run.keep("dialogue", both, folder="story", more=more, read=without_remarks)
    return Story.of(brief).add("dialogue", text)


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Vanilla:
    """The narrative, ready to be talked through.

    Raises:
        UsageError: there is no sentence in it, or nobody to talk with.
        UnknownNameError: one of the parties is not in the narrative.
    """
    check_narrative(narrative)
    cards = cards or Cards()
    wanted = parties or Parties(config.paper.player.strip(), config.paper.npc_names)
    return Vanilla(narrative, await who_talks(run, narrative, wanted, cards), config, cards)


@dataclass(frozen=True)
class Vanilla:
    """A narrative and who talks; a `Talk` that all conversations share."""

    narrative: str
    parties: Parties
    config: Config
    cards: Cards = field(default_factory=Cards)

    @property
    def segments(self) -> tuple[str, ...]:
        """The whole narrative as one cell."""
        return (self.narrative,)

    @property
    def freedom(self) -> Freedom | None:
        """Nothing but the paper's rules says how far the player may lead away."""
        return None

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[SubPlan, ...] | None = None,
        there: tuple[str, ...] = (),
    ) -> Cell:
        """The whole narrative, without a plan."""
        del run, summaries, steps
        others = dict.fromkeys(self.parties.names, "")
        views = {name: PartyView(self.narrative, others=others) for name in self.parties.names}
        return Cell(number, views, present=there or self.parties.others)

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries) -> Cell:
        """The cell as it is: nobody has a plan."""
        del run, summaries
        return cell

    async def answer(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """One turn (Table 9); 1 call."""
        return await self.turn(run, moment, "npc", "answer")

    async def play(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """One turn of the player's character by a model, by the same nine rules (section 5.3, Table 9)."""
        return await self.turn(run, moment, "player", "play")

    async def turn(self, run: Run, moment: TurnKnowledge, role: str, prompt: str) -> SpokenTurn:
        """A role's turn, from the dialogue so far as a chat."""
        return await turn_of(
            run, moment, role, prompt, fields_of(moment), temperature=self.config.paper.turn_temperature
        )

    def progress(self, state: State, words: str, answer: SpokenTurn) -> PlanProgress:
        """The agent alone ends the dialogue (rule 9), but never in its first turn."""
        del words
        return PlanProgress(0, 0, answer.ended and state.number_in_cell > 1)

    async def summarise(self, run: Run, lines: Sequence[SpokenLine], summaries: Summaries) -> Summaries:
        """Nothing: there is one cell."""
        del run, lines
        return summaries


def fields_of(moment: TurnKnowledge) -> dict[str, Any]:
    """What the prompt of a turn shows."""
    return {
        "who": moment.who,
        "opposite": moment.opposite,
        "segment": moment.view.segment,
        "begins": moment.begins,
    }
