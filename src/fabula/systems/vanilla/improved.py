"""Vanilla as we would use it: nobody knows what they did not witness, and a turn that cannot be used is drawn again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from fabula.craft.conversation.knowledge import Marks, SegmentSentence, known_to, marked
from fabula.craft.conversation.lines import Cell, Parties, PartyView, SubPlan, Summaries
from fabula.craft.conversation.turns import TurnKnowledge, turn_of
from fabula.craft.narratives import narrative_of
from fabula.engine.run import Run
from fabula.story.people import among
from fabula.systems.vanilla import algorithm
from fabula.systems.vanilla.algorithm import Vanilla, fields_of, talked_through
from fabula.systems.vanilla.config import Config, Ours

if TYPE_CHECKING:
    from fabula.craft.conversation.cards import Cards
    from fabula.craft.conversation.talk import PlanProgress, State
    from fabula.engine.replies.dialogue import SpokenTurn
    from fabula.story import Brief, Story


_TRIES: Final = 3  # draws of a turn
_SILENT: Final = "says nothing"  # what somebody does where no draw can be used


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents, as in the paper's program."""
    return await talked_through(await open_talk(await narrative_of(run, brief), run, config), brief, run)


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Improved:
    """As the paper's, with what each of those who talk witnesses.

    Raises:
        UsageError: there is no sentence in it, or nobody to talk with.
        UnknownNameError: one of the parties is not in the narrative.
    """
    talk = await algorithm.open_talk(narrative, run, config, parties, cards)
    return Improved(talk.narrative, talk.parties, config, talk.cards)


@dataclass(frozen=True)
class Improved(Vanilla):
    """A narrative and who talks, each with the sentences that they witnessed."""

    marks: Marks = field(default_factory=Marks)

    @property
    def ours(self) -> Ours:
        """What we add to the paper's settings."""
        return self.config.ours or Ours()

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[SubPlan, ...] | None = None,
        there: tuple[str, ...] = (),
    ) -> Cell:
        """What each witnesses of the whole narrative, and who they are by their cards."""
        del summaries, steps
        told = await self.marks.of(1, partial(self.told, Run(run.context)))
        sheets = {persona.name: persona for persona in self.cards.personas(self.parties.player)}
        views, own = {}, among(self.parties.player, sheets)
        seen = {self.parties.player: sheets[own].public.block if own else ""}
        for name in self.parties.names:
            known = among(name, sheets)
            others = dict.fromkeys(self.parties.names, "") | seen
            views[name] = PartyView(known_to(told, [name]), sheets[known].block if known else "", others)
        return Cell(number, views, present=there or self.parties.others)

    async def told(self, run: Run) -> tuple[SegmentSentence, ...]:
        """The sentences with their witnesses, kept as `plan/witnesses.yaml`; a card's situation is known to all."""
        if self.ours.open_ended:
            return (SegmentSentence(self.narrative, self.parties.names),)
        others = [name for name in self.cards.known if among(name, self.parties.names) is None]
        return await marked(run, self.narrative, sorted((*self.parties.names, *others)), "labeller", "witnesses")

    async def turn(self, run: Run, moment: TurnKnowledge, role: str, prompt: str) -> SpokenTurn:
        """A role's turn, drawn up to three times; in the end somebody says nothing."""
        fields = fields_of(moment) | {
            "absent": moment.absent if len(self.parties.others) > 1 else (),
            "card": self.cards.sheet(run, moment, role),
            "open_ended": self.ours.open_ended,
            "other": "" if moment.who == self.parties.player else moment.view.others[self.parties.player],
            "partners": moment.partners,
            "persona": moment.view.persona,
        }
        warm = self.config.paper.turn_temperature
        return await turn_of(run, moment, role, prompt, fields, temperature=warm, tries=_TRIES, fallback=_SILENT)

    def progress(self, state: State, words: str, answer: SpokenTurn) -> PlanProgress:
        """As in the paper, unless there is no end."""
        at = super().progress(state, words, answer)
        return at._replace(ends=at.ends and not self.ours.open_ended)
