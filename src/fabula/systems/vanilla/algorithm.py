"""Vanilla (SNAP, Table 9): the whole narrative in one prompt, no cells and no plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.craft.conversation.cards import Cards
from fabula.craft.conversation.knowledge import Marks, Told, known_to, marked
from fabula.craft.conversation.lines import Cell, Parties, View, without_remarks
from fabula.craft.conversation.talk import Progress, conversation, gone_on
from fabula.craft.conversation.turns import chat_of, turn_of
from fabula.craft.narratives import check_people, narrative_of, parties_of, people_read
from fabula.engine.run import Run
from fabula.story import Story
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.lines import Freedom, Line, Step, Summaries
    from fabula.craft.conversation.talk import State
    from fabula.craft.conversation.turns import Moment
    from fabula.engine.replies.dialogue import Said
    from fabula.story import Brief
    from fabula.systems.vanilla.config import Config

_DIALOGUE_TOKENS: Final = 1500  # of the dialogue in a prompt, with aids


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents (section 5.3)."""
    talk = await open_talk(await narrative_of(run, brief), run, config)
    cell = await talk.cell(run, 1, {})

    async def talked_through(own: Run) -> str:
        return await conversation(talk, own, cell, {}, config.paper.max_turns)

    async def more(own: Run, text: str) -> str:
        return await gone_on(talk, own, cell, {}, text)

    text = await run.keep_as(without_remarks, "dialogue", talked_through, folder="story", more=more)
    return Story.of(brief).add("dialogue", text)


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Vanilla:
    """The narrative, ready to be talked through; asks who is in it where that is not known and nobody is named.

    Raises:
        UsageError: there is nobody to talk with.
        UnknownNameError: one of the parties is not in the narrative.
    """
    if not any(letter.isalnum() for letter in narrative):
        raise UsageError("The narrative has no sentence. Give a text in which somebody does something.")
    paper, cards = config.paper, cards or Cards()
    known = cards.names(parties.player if parties else paper.player.strip())
    if parties is None:
        player, others, people = paper.player.strip(), paper.npc_names, cards.known
        if not people and not (player and others):
            people = await people_read(run, narrative, "labeller")
        made_up = Parties(player or "the player", others or ("the character",))
        parties = run.unless_made_up(lambda: parties_of(narrative, player, others, known, people), made_up)
    else:
        check_people(parties.names, narrative, (*known, *cards.known))
    return Vanilla(narrative, parties, config, cards)


@dataclass(frozen=True)
class Vanilla:
    """A narrative and who talks; a `Talk` that all conversations share."""

    narrative: str
    parties: Parties
    config: Config
    cards: Cards = field(default_factory=Cards)
    marks: Marks = field(default_factory=Marks)

    @property
    def segments(self) -> tuple[str, ...]:
        """The whole narrative as one cell."""
        return (self.narrative,)

    @property
    def freedom(self) -> Freedom:
        """How far the player may lead away, unless a conversation says otherwise."""
        return self.config.ours.freedom

    @property
    def last_word(self) -> bool:
        """Whether the words that end the dialogue are answered once more."""
        return self.config.ours.last_word

    async def cell(
        self,
        run: Run,
        number: int,
        summaries: Summaries,
        steps: tuple[Step, ...] | None = None,
        there: tuple[str, ...] = (),
        before: Sequence[Line] = (),
    ) -> Cell:
        """The whole narrative, without a plan; with `private`, what each witnesses of it."""
        del summaries, steps, before
        told = await self.marks.of(1, partial(self._told, Run(run.context)))
        others = dict.fromkeys(self.parties.names, "")
        views = {name: View(known_to(told, [name]), others=others) for name in self.parties.names}
        return Cell(number, views, present=there or self.parties.others)

    async def _told(self, run: Run) -> tuple[Told, ...]:
        """The sentences of the narrative with their witnesses; everybody witnesses all, where nothing is private."""
        parties = self.parties.names
        if not self.config.ours.private:
            return (Told(self.narrative, parties),)
        others = [name for name in self.cards.known if among(name, parties) is None]
        return await marked(run, self.narrative, sorted((*parties, *others)), "labeller", "witnesses")

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries, before: Sequence[Line] = ()) -> Cell:
        """The cell as it is: nobody has a plan."""
        del run, summaries, before
        return cell

    async def answer(self, run: Run, moment: Moment) -> Said:
        """One turn (Table 9); 1 call, more where a draw is not usable."""
        return await self._turn(run, moment, "npc", "answer")

    async def play(self, run: Run, moment: Moment) -> Said:
        """One turn of the player's character by a model, by the same nine rules (section 5.3, Table 9)."""
        return await self._turn(run, moment, "player", "play")

    async def _turn(self, run: Run, moment: Moment, role: str, prompt: str) -> Said:
        ours = self.config.ours
        fields: dict[str, Any] = {
            "who": moment.who,
            "partners": moment.partners,
            "opposite": moment.opposite,
            "absent": moment.absent if len(self.parties.others) > 1 else (),
            "card": self.cards.sheet(run, moment, role),
            "segment": moment.view.segment,
            "open_ended": ours.open_ended,
            "begins": moment.begins,
            "last": moment.last,
            "sentences": ours.turn_sentences,
            "private": ours.private,
        }
        return await turn_of(
            run,
            moment,
            role,
            prompt,
            fields,
            chat=chat_of(moment, run.prompt_tokens(role, _DIALOGUE_TOKENS)),
            temperature=self.config.paper.turn_temperature,
            tries=ours.tries,
            fallback="says nothing" if ours.lenient else "",
        )

    def progress(self, state: State, words: str, answer: Said) -> Progress:
        """There is no plan; the agent alone ends the dialogue, but never in its first turn (rule 9)."""
        del words
        ends = answer.ended and state.number_in_cell > 1 and not self.config.ours.open_ended
        return Progress(0, 0, ends)

    async def summarise(self, run: Run, lines: Sequence[Line], summaries: Summaries) -> Summaries:
        """Nothing: there is one cell."""
        del run, lines
        return summaries
