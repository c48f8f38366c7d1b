"""SNAP as we would use it: the paper's program, in which nobody knows too much and what cannot be read stops nothing.

What is the paper's comes from `algorithm.py`. Here, in the same order: the loop over the cells, with a narrative for a
brief that is a writing task; a cell as each character witnessed it, and the labels and the plan that are made from
that; turns that are drawn again where they cannot be used, and a plan that does not stall; summaries that keep what
was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.conversation.cards import Cards
from fabula.craft.conversation.knowledge import Marks, SegmentSentence, known_to, marked
from fabula.craft.conversation.lines import Cell, Freedom, Parties, PartyView, SpokenLine, SubPlan, Summaries, witnessed
from fabula.craft.conversation.talk import PlanProgress, State, next_step
from fabula.craft.conversation.turns import TurnKnowledge, turn_of
from fabula.craft.narratives import NARRATIVE, narrative_of, words_of_task
from fabula.craft.planning import given_codex
from fabula.craft.prose import clean_text
from fabula.engine.run import Run, has_author_text, side_by_side, was_made
from fabula.story.people import among, present_in
from fabula.story.personas import Persona, Personas
from fabula.story.sentences import sentences
from fabula.systems.snap import algorithm
from fabula.systems.snap.algorithm import (
    TOKENS_A_WORD,
    Characters,
    Snap,
    called,
    fields_of,
    summed_up,
    talked_through,
    that_fit,
)
from fabula.systems.snap.config import Config, Ours
from fabula.systems.snap.replies import NarrativeReply

if TYPE_CHECKING:
    from fabula.engine.replies.dialogue import SpokenTurn
    from fabula.story import Brief, Story


_TRIES: Final = 3  # draws of a turn
_PLAN_TOKENS: Final = 640  # of a small model's plan, which would not end by itself
_IDLE: Final = "listens"  # what somebody does where no draw can be used


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue, cell by cell, between two agents, as in the paper's program."""
    named = present_in((config.paper.player.strip(), *config.paper.npc_names), brief.text)  # a made narrative may not
    snap = await _opened(
        await narrative_for(brief, run), run, config, cards=Cards(known=named, codex=await given_codex(run))
    )
    return await talked_through(snap, brief, run)


async def narrative_for(brief: Brief, run: Run) -> str:
    """The author's narrative, or the brief's text; if the brief is a writing task, the planner's narrative.

    Where the brief asks for a number of words the planner says whether it is one, and writes its narrative: 1 call,
    kept as `plan/narrative.md`. The paper's narratives are given.
    """
    words = words_of_task(brief)
    if words is None or has_author_text(run, NARRATIVE):
        return await narrative_of(run, brief)

    async def make(own: Run) -> str:
        made = await own.ask_for(NarrativeReply, "planner", "narrative", text=brief.titled, words=words)
        return made.narrative.strip() or brief.text

    return await run.keep(NARRATIVE, make, folder="plan")


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Improved:
    """As the paper's, with what each of those who talk witnesses, and one plan for a cell: a person waits for it.

    Raises:
        UsageError: there is no sentence in it, nobody to talk with, or no model for a coherence by BERTScore.
        UnknownNameError: one of the parties is not in it.
    """
    one_plan = replace(config, paper=replace(config.paper, candidates=1))  # which is not scored
    return await _opened(narrative, run, one_plan, parties, cards)


async def _opened(
    narrative: str,
    run: Run,
    config: Config,
    parties: Parties | None = None,
    cards: Cards | None = None,
) -> Improved:
    """As `open_talk`, with as many plans for a cell as the paper has."""
    snap = await algorithm.open_talk(narrative, run, config, parties, cards)
    characters = Lenient(snap.segments, snap.characters.author)
    return Improved(snap.segments, snap.parties, characters, snap.config, snap.cards)


# a cell as each of those in it witnessed it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Improved(Snap):
    """A narrative in cells, with prompts that contain only what their character witnessed.

    A prompt is made from a `PartyView`, and that from sentences that all its readers witnessed. So no plan, persona
    or turn can hold what its readers do not know, whatever a model makes of its prompt.
    """

    characters: Lenient
    marks: Marks = field(default_factory=Marks)

    @property
    def ours(self) -> Ours:
        """What we add to the paper's settings."""
        return self.config.ours or Ours()

    @property
    def freedom(self) -> Freedom:
        """How far the player may lead away, unless a conversation says otherwise."""
        return self.ours.freedom

    async def views(self, run: Run, number: int) -> dict[str, PartyView]:
        """What each of those who talk knows of a cell."""
        return {name: await self.view(run, number, (name,)) for name in self.parties.names}

    async def present(self, run: Run, number: int) -> tuple[str, ...]:
        """Those of the others who are in a cell; all, where none of them is."""
        labelled = (await self.characters.of(run, number)).names
        named = present_in(self.parties.others, self.segments[number - 1])
        there = [name for name in self.parties.others if name in named or among(name, labelled)]
        return tuple(there) or self.parties.others

    async def told(self, run: Run, number: int) -> tuple[SegmentSentence, ...]:
        """The sentences of a cell with their witnesses, kept as `plan/cell-N-witnesses.yaml` for all conversations."""

        async def make() -> tuple[SegmentSentence, ...]:
            labelled = (await self.characters.of(run, number)).names
            names = [self.parties.player, *await self.present(run, number)]
            names += [name for name in labelled if among(name, names) is None]
            place = Run(run.context).scope(f"cell-{number}")
            return await marked(place, self.segments[number - 1], sorted(names), "labeller", "witnesses")

        return await self.marks.of(number, make)

    async def view(self, run: Run, number: int, readers: Sequence[str]) -> PartyView:
        """What all of `readers` know of a cell: its sentences, and who is in it."""
        segment = known_to(await self.told(run, number), readers)
        people = {name: await self.persona(run, number, readers, name) for name in self.parties.names}
        return PartyView(segment, people[readers[0]], people)

    async def persona(self, run: Run, number: int, readers: Sequence[str], name: str) -> str:
        """Who somebody is, as `readers` know it: by this cell's labels or those of the last one that names them.

        What the author wrote about somebody is theirs alone.
        """
        alone = tuple(readers) == (name,)
        if alone and (known := called(name, self.characters.author)):
            return known.block
        for cell in range(number, 0, -1):
            if known := called(name, (await self.labels(run, cell, readers, alone=alone)).people):
                return (known if alone else known.public).block
        return Persona(name).block

    async def labels(self, run: Run, number: int, readers: Sequence[str], *, alone: bool) -> Personas:
        """The labels of what `readers` witnessed of a cell; 1 call where that is not all of it.

        Labels that the author wrote are of all of it, and so for those alone whom they are about.
        """
        segment, whole = known_to(await self.told(run, number), readers), self.segments[number - 1].strip()
        written = await self.characters.written(run, number)
        if (written and alone) or (segment == whole and not written):
            return await self.characters.of(run, number)
        return await self.characters.of_part(run, number, segment) if segment else Personas("", ())

    async def plan(
        self,
        run: Run,
        cell: Cell,
        summaries: Summaries,
        people: Sequence[str],
        partners: Sequence[str],
        name: str,
    ) -> tuple[SubPlan, ...]:
        """The paper's plan, from what all of `people` know and remember; none where that is nothing.

        Its points are known to those who know all that it was made from.
        """
        view = await self.view(run, cell.number, people)
        if not view.segment:
            return ()
        remembered = {summaries.get(one, "") for one in people}
        memory = remembered.pop() if len(remembered) == 1 else ""
        shared = replace(cell, views={**cell.views, people[0]: view})
        steps = await super().plan(run, shared, {people[0]: memory}, people, partners, name)
        witnesses = list(people)
        for other in self.parties.names:
            if other not in people and memory in ("", summaries.get(other, "")):
                theirs = await self.view(run, cell.number, (*people, other))
                witnesses += [other] if (theirs.segment, theirs.others) == (view.segment, view.others) else []
        return tuple(replace(step, witnesses=tuple(witnesses)) for step in steps)

    async def candidates(
        self, run: Run, given: Mapping[str, Any], tokens: int | None = None
    ) -> list[tuple[SubPlan, ...]]:
        """The paper's plans; where none can be read, the segment's own sentences. A small model's are short."""
        try:
            return await super().candidates(run, given, tokens or run.room("planner").reply_tokens(_PLAN_TOKENS))
        except ReplyError as error:
            run.note(f"No plan could be read at {run.at}; the segment's own sentences stand in. {error}")
            parts = sentences(" ".join(given["segment"].split()))
            return [tuple(SubPlan(" ".join(parts[n : n + 2])) for n in range(0, len(parts), 2))]

    # turns and how the plan goes on

    async def turn(self, run: Run, moment: TurnKnowledge, role: str, prompt: str) -> SpokenTurn:
        """A role's turn, drawn up to three times; in the end somebody only listens."""
        fields = fields_of(moment) | {
            "absent": moment.absent if len(self.parties.others) > 1 else (),
            "answers": bool(moment.lines) and moment.lines[-1].name == moment.partners[0],
            "card": self.cards.sheet(run, moment, role),
            "freedom": moment.freedom,
        }
        warm = self.config.paper.turn_temperature
        return await turn_of(run, moment, role, prompt, fields, temperature=warm, tries=_TRIES, fallback=_IDLE)

    def progress(self, state: State, words: str, answer: SpokenTurn) -> PlanProgress:
        """As in the paper EOD ends the cell, but for its first turn; and so does a last sub-plan that stalls."""
        most = turns_allowed(self.ours.turns_per_step, state.freedom)
        step, stayed, stalled = next_step(state.steps, state.step, state.stayed, words, most)
        return PlanProgress(step, stayed, stalled or (answer.ended and state.number_in_cell > 1))

    # summaries

    async def summarise(self, run: Run, lines: Sequence[SpokenLine], summaries: Summaries) -> Summaries:
        """What each remembers of this cell and of those before; one call for all who remember the same."""
        alike: dict[tuple[str, tuple[SpokenLine, ...]], list[str]] = {}
        for name in self.parties.names:
            if own := witnessed(lines, name):
                alike.setdefault((summaries.get(name, ""), own), []).append(name)
        texts = await side_by_side(
            summary_of(run if number == 1 else run.scope("view", number), before, own, self.config.paper.summary_words)
            for number, (before, own) in enumerate(alike, 1)
        )
        found = dict(summaries)
        for names, text in zip(alike.values(), texts, strict=True):
            found |= dict.fromkeys(names, text)
        return found


@dataclass
class Lenient(Characters):
    """The labels of each cell, and of parts of it; where none can be read, nobody is known of them."""

    _parts: dict[tuple[int, str], Personas] = field(default_factory=dict)

    async def of_part(self, run: Run, number: int, segment: str) -> Personas:
        """The characters of a part of a cell, as far as that part tells of them; 1 call, the first time."""
        key = (number, segment)
        async with self._one:
            if key not in self._parts:
                place = Run(run.context).scope(f"cell-{number}", "view", sha256(segment.encode()).hexdigest()[:8])
                self._parts[key] = await self.labelled(place, segment)
        return self._parts[key]

    async def labelled(self, run: Run, segment: str) -> Personas:
        """The characters of a segment, by the labeller."""
        try:
            return await super().labelled(run, segment)
        except ReplyError as error:
            run.note(f"No labels could be read, so that nobody is known of this part. {error}")
            return Personas("", ())

    async def written(self, run: Run, number: int) -> bool:
        """Whether the labels of a cell are the author's own, and not those that were made and pinned."""
        name, root = f"cell-{number}-people", Run(run.context)
        given = await root.given(name, folder="plan", suffix="yaml")
        return given is not None and not was_made(root, name, given)


def turns_allowed(turns_per_step: int, freedom: Freedom) -> int:
    """Exchanges after which a sub-plan is left: half as many on rails, twice as many when loose; 0 sets no bound."""
    if freedom == "guided" or not turns_per_step:
        return turns_per_step
    return max(turns_per_step // 2, 1) if freedom == "rails" else turns_per_step * 2


async def summary_of(run: Run, before: str, lines: Sequence[SpokenLine], words: int) -> str:
    """A summary of what was before and of a cell's dialogue, without chatter, kept as `plan/cell-N-summary.md`."""

    async def make(own: Run) -> str:
        tokens = own.room("summariser").reply_tokens(words * TOKENS_A_WORD)
        text = await summed_up(own, that_fit(own, lines, before), words, before, tokens)
        text = clean_text(own, "summariser", text, labels=("Summary", "The dialogue"), last=False, kind="notes")
        return text.strip() or f"{before} {lines[-1].name}: {lines[-1].text}".strip()

    return await run.keep("summary", make, folder="plan")
