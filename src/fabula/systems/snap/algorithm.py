"""SNAP: a narrative in cells; each is planned, the plans are filtered, the best is talked through and summed up.

First the loop over the cells (section 4.1) and what is done in each (`Snap`, which holds the agent model, 4.5), then
the other parts in the paper's order: who is in a cell (3.1), the planning model (4.3), the planning filter (4.4), how
the plan is followed (ours), the summary model (4.6). What two agents do here a person does with one of them in `fabula
chat`: with the same `Snap`, in a conversation of `fabula.craft.conversation`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import numpy as np
from pydantic import BaseModel, Field

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.cells import cells
from fabula.craft.conversation.cards import Cards
from fabula.craft.conversation.knowledge import Marks, Told, kept_by, known_to, marked
from fabula.craft.conversation.lines import (
    Cell,
    Parties,
    Step,
    Summaries,
    View,
    dialogue_of,
    latest_lines,
    plan_text,
    without_remarks,
    witnessed,
)
from fabula.craft.conversation.talk import EXCHANGES_A_POINT, Progress, conversation, gone_on
from fabula.craft.conversation.turns import chat_of, turn_of
from fabula.craft.length import asked_range
from fabula.craft.memory import tf_idf
from fabula.craft.narratives import FILE as NARRATIVE_FILE
from fabula.craft.narratives import NARRATIVE, check_people, people_read
from fabula.craft.packing import first_of, last_of, latest
from fabula.craft.planning import WHOLE, checked_personas
from fabula.craft.prose import clean_text
from fabula.engine.events import TABLE
from fabula.engine.replies import ReplyProblem, read_chances, read_score, short
from fabula.engine.replies.dialogue import read_plan, with_names
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import Story, count_words, one_line, slug
from fabula.story.people import among, each_once, present_in, same_person
from fabula.story.personas import MAX_PERSONAS, Persona, Personas, Scalar, parse_personas
from fabula.story.sentences import sentences
from fabula.systems.snap.coherence import coherences, opened
from fabula.systems.snap.scores import (
    CRITERIA,
    headlines,
    min_max,
    read_scores,
    rounded,
    write_scores,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabula.craft.conversation.lines import Freedom, Line
    from fabula.craft.conversation.talk import State
    from fabula.craft.conversation.turns import Moment
    from fabula.engine.replies.dialogue import Said
    from fabula.story import Brief
    from fabula.systems.snap.config import Config
    from fabula.systems.snap.scores import Matrix, Row

    World = tuple[tuple[str, Scalar], ...]

PERSONAS: Final = "personas"
SCORES: Final = "scores"
_NOBODY: Final = "# Nobody was found in this cell. Write a list `personas:` with a `name:` for each character.\n"
# For estimates: a plan.
_USUAL_PLAN: Final = "\n".join(f"#{number}. {{6}}\n- {{25}}" for number in range(1, 6))
_LOW, _HIGH = 1, 5
_SCORES: Final = tuple(str(score) for score in range(_LOW, _HIGH + 1))
_ONE_TOKEN: Final = Sampling(temperature=1.0, top_p=1.0, frequency_penalty=0.0, presence_penalty=0.0, max_tokens=1)
_IDLE: Final = "listens"
_LAST_LINES: Final = 4  # of the dialogue before that go on with the summary
_SHEETS: Final = 12  # cells of which a sheet holds the labels
_TASK_WORDS: Final = 1000  # a brief with more of them is no writing task
_NEXT: Final = 0.1  # likeness to the next sub-plan below which an exchange is not about it
_TOKENS_A_WORD: Final = 2
_ROOM: Final = 0.8  # of a summary model's window, as tokens are estimates
# With aids for small models:
_FEW_STEPS: Final = 8
_LABEL_TOKENS, _PLAN_TOKENS = 700, 640
_SEGMENT_TOKENS, _DIALOGUE_TOKENS = 1200, 1500


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue, cell by cell (section 4.1), between two agents as in section 5.3."""
    named = present_in((config.paper.player.strip(), *config.paper.npc_names), brief.text)  # a made narrative may not
    snap = await open_talk(await narrative_for(brief, run, config), run, config, cards=Cards(known=named))
    story = Story.of(brief)
    summaries: Summaries = {}
    heard: tuple[Line, ...] = ()
    for number in range(1, len(snap.segments) + 1):
        here = run.scope(f"cell-{number}")
        # Who is in it (3.1), planning (4.3), filtering (4.4); the second agent has a plan of its own (5.3).
        cell = await snap.cell(here, number, summaries, before=heard)
        cell = await snap.with_player_plan(here, cell, summaries, heard)
        talked_through = partial(_talked_through, snap, cell=cell, summaries=summaries, before=heard)
        read = partial(_dialogue, parties=snap.parties)
        more = partial(_goes_on, snap, cell=cell, summaries=summaries, before=heard)
        text, lines = await here.keep_as(read, "dialogue", talked_through, folder="story", more=more)
        story = story.add(f"cell-{number}/dialogue", text)
        if number < len(snap.segments):
            there = (snap.parties.player, *cell.present)
            heard = tuple(replace(line, witnesses=there) for line in lines)
            summaries = await snap.summarise(here, heard, summaries)  # for the next cell (4.6)
    return story


async def _talked_through(snap: Snap, run: Run, cell: Cell, summaries: Summaries, before: Sequence[Line]) -> str:
    """A cell's dialogue: two agents (4.5) in turn, until one of them says EOD."""
    return await conversation(snap, run, cell, summaries, snap.config.paper.max_turns, before)


async def _goes_on(snap: Snap, run: Run, text: str, cell: Cell, summaries: Summaries, before: Sequence[Line]) -> str:
    """What is said after a cell's dialogue, where its author wants it to go on."""
    return await gone_on(snap, run, cell, summaries, text, before)


def _dialogue(text: str, parties: Parties) -> tuple[str, tuple[Line, ...]]:
    """A dialogue as its reader has it, without remarks, and its lines."""
    return without_remarks(text), dialogue_of(text, parties)


class Narrative(BaseModel):
    """A writing task as a narrative."""

    narrative: str = Field("", description="the whole narrative; empty where the text is one itself")


async def narrative_for(brief: Brief, run: Run, config: Config) -> str:
    """The author's narrative; where the brief asks for a number of words, the planner's (ours), else the brief's text.

    The planner says whether the brief is a writing task, and writes its narrative: 1 call, kept as `plan/narrative.md`.
    Where none is asked, a note says so, before anything is paid.
    """
    given, words = await run.given(NARRATIVE, folder="plan"), asked_range(brief)
    if given or words is None or count_words(brief.text) > _TASK_WORDS:
        return given or brief.text
    if run.aids("planner") or not config.ours.write_narrative:
        run.note(
            "The brief asks for a number of words, so it may be a writing task, and SNAP takes its sentences for the "
            f"story itself. Write the narrative that is to be talked through into {NARRATIVE_FILE}."
        )
        return brief.text

    async def make(own: Run) -> str:
        made = await own.ask_for(
            Narrative, "planner", "narrative", expect={"narrative": words.target}, text=brief.titled, words=words
        )
        return made.narrative.strip() or brief.text

    return await run.keep(NARRATIVE, make, folder="plan")


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Snap:
    """The narrative, ready to be talked through; costs the labels of its first cell where `parties` are not given.

    Raises:
        UsageError: there is no sentence in it, nobody to talk with, or no model for a coherence by BERTScore.
        UnknownNameError: one of the parties is not in it.
    """
    segments = tuple(cells(narrative, config.paper.sentences))
    if not segments:
        raise UsageError("The narrative has no sentence. Give a text in which somebody does something.")
    config = replace(config, paper=await opened(run, config.paper))
    given = await run.given(PERSONAS, folder="plan", suffix="yaml")
    characters = Characters(segments, config, parse_personas(given).people if given else ())
    cards = cards or Cards()
    found = await who_talks(characters, run, config, parties, cards)
    return Snap(segments, found, Knowledge(characters, found), config, cards)


@dataclass(frozen=True)
class Snap:
    """A narrative in cells, and what SNAP does in each; a `Talk` that all conversations on it share."""

    segments: tuple[str, ...]
    parties: Parties
    knowledge: Knowledge
    config: Config
    cards: Cards = field(default_factory=Cards)

    @property
    def freedom(self) -> Freedom:
        """How far the player may lead away, unless a conversation says otherwise."""
        return self.config.ours.freedom

    @property
    def last_word(self) -> bool:
        """Whether, between two models, the words that end a cell are answered once before the next begins."""
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
        """The cell of this number (section 4.2): what each knows of it, and a plan, made unless `steps` is it."""
        known, parties = self.knowledge, self.parties
        present = there or await known.present(run, number, parties.others)
        views = {name: await known.view(run, number, (name,), parties.names) for name in parties.names}
        cell = Cell(number, views, steps or (), present)
        if steps is None:
            made = await self._plan(run, cell, summaries, present, (parties.player,), "plan", before)
            cell = replace(cell, steps=made)
        return cell

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries, before: Sequence[Line] = ()) -> Cell:
        """The cell with a plan from the point of view of the player's character (section 5.3, Tables 14 to 20)."""
        player = (self.parties.player,)
        steps = await self._plan(run, cell, summaries, player, cell.present, "player-plan", before)
        return replace(cell, player_steps=steps)

    async def _plan(
        self,
        run: Run,
        cell: Cell,
        summaries: Summaries,
        people: Sequence[str],
        partners: Sequence[str],
        name: str,
        before: Sequence[Line],
    ) -> tuple[Step, ...]:
        """The plan of those agents (`people`), from what all of them know; empty where that is nothing.

        Raises:
            ReplyError: no plan could be read (only without `lenient`).
        """
        view = await self.knowledge.view(run, cell.number, people, self.parties.names)
        if not view.segment:
            return ()
        remembered = {summaries.get(one, "") for one in people}
        task = PlanTask(
            name,
            people=tuple(people),
            partners=tuple(partners),
            personas=view.others,
            summary=remembered.pop() if len(remembered) == 1 else "",
            segment=view.segment,
            kept=view.kept,
            before=self._last_of(line for line in before if set(people) <= set(line.witnesses)),
        )
        steps = await plan_of(run, task, self.config)
        if not self.config.ours.private:
            return steps
        knowing = await self.knowledge.who_know(run, cell.number, task, summaries, self.parties.names)
        return tuple(replace(step, witnesses=knowing) for step in steps)

    def _last_of(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """The last lines of the cell before, which prompts show beside the summary; none without `carry`."""
        return tuple(lines)[-_LAST_LINES:] if self.config.ours.carry else ()

    # the agent model (section 4.5)

    async def answer(self, run: Run, moment: Moment) -> Said:
        """One turn of the agent (Table 8); 1 call, more where a draw is not usable."""
        return await self._turn(run, moment, "npc", "answer")

    async def play(self, run: Run, moment: Moment) -> Said:
        """One turn of the player's character by a model, an agent like the other (section 5.3)."""
        return await self._turn(run, moment, "player", "play")

    async def _turn(self, run: Run, moment: Moment, role: str, prompt: str) -> Said:
        """What a cell gives to whoever speaks in it (section 4.2), as a prompt and the messages of a chat."""
        paper, ours, view = self.config.paper, self.config.ours, moment.view
        fields = {
            "who": moment.who,
            "partners": moment.partners,
            "opposite": moment.opposite,
            "absent": moment.absent if len(self.parties.others) > 1 else (),
            "persona": view.persona,
            "card": self.cards.sheet(run, moment, role),
            "other": view.others[moment.partners[0]],
            "summary": moment.summary,
            "segment": shown(view.segment, run, role) if view.segment else "",
            "steps": moment.steps,
            "step": moment.step,
            "moved": moment.moved,
            "dealt": moment.dealt,
            "counts": ours.own_progress and bool(moment.step) and not run.aids(role),
            "sentences": ours.turn_sentences,
            "last": moment.last,
            "before": () if run.aids(role) else self._last_of(moment.before),
            "kept": view.kept,
            "place": view.place,
            "time": view.time,
            "begins": moment.begins,
            "answers": bool(moment.lines) and moment.lines[-1].name == moment.partners[0],
            "freedom": moment.freedom,
            "private": ours.private,
            "remind": ours.enforce,
        }
        return await turn_of(
            run,
            moment,
            role,
            prompt,
            fields,
            chat=chat_of(moment, run.prompt_tokens(role, _DIALOGUE_TOKENS)),
            temperature=paper.turn_temperature,
            tries=ours.tries,
            fallback=_IDLE if ours.lenient else "",
            expect=_usual_turn(moment, counts=bool(fields["counts"])),
        )

    def progress(self, state: State, words: str, answer: Said) -> Progress:
        """Where the plan stands after an exchange, and whether the cell is over (Table 8, rules 2, 4 and 9).

        The agent's EOD ends the cell, but never in its first turn. In faithful mode EOD alone counts: which sub-plan is
        being served is recorded, and the agent is not told. With `own_progress` the agent's reply says which sub-plans
        have come up, and EOD counts when all have. Where it does not say so, words are compared; with `enforce` EOD
        counts at the last sub-plan alone, and with `turns_per_step` a last sub-plan that stalls ends the cell too.
        """
        ours = self.config.ours
        most = turns_allowed(ours.turns_per_step, state.freedom)
        later = state.number_in_cell > 1
        if ours.own_progress and (state.dealt or answer.dealt is not None):
            at = come_up(state, answer.dealt or (), most)
            all_ = len(at.dealt) >= len(state.steps) or state.step >= len(state.steps)
            return at._replace(ends=at.ends or (answer.ended and later and all_))
        step, stayed, done = next_step(state.steps, state.step, state.stayed, words, most)
        eod_counts = later and (not ours.enforce or state.step >= len(state.steps))
        return Progress(step, stayed, (answer.ended and eod_counts) or done)

    async def summarise(self, run: Run, lines: Sequence[Line], summaries: Summaries) -> Summaries:
        """What each of the parties remembers after a cell; one call for all who remember the same."""
        alike: dict[tuple[str, tuple[Line, ...]], list[str]] = {}
        for name in self.parties.names:
            if own := witnessed(lines, name):
                alike.setdefault((summaries.get(name, ""), own), []).append(name)
        texts = await side_by_side(
            summary_of(run if number == 1 else run.scope("view", number), before, own, self.config)
            for number, (before, own) in enumerate(alike, 1)
        )
        found = dict(summaries)
        for names, text in zip(alike.values(), texts, strict=True):
            found |= dict.fromkeys(names, text)
        return found


# who is in a cell (sections 3.1 and 4.2) ----------------------------------------------------------------------------


@dataclass
class Characters:
    """Who is in the narrative: the author's own personas, which hold everywhere, and each cell's labels.

    Attributes:
        segments: of the narrative.
        author: personas of `plan/personas.yaml`.
    """

    segments: Sequence[str]
    config: Config
    author: tuple[Persona, ...] = ()
    _labels: dict[int, Personas] = field(default_factory=dict)
    _parts: dict[tuple[int, str, World], Personas] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def at_start(self, run: Run) -> bool:
        """Whether labels say who people are, where it is and when, as a cell begins; small models are not asked it."""
        return self.config.ours.at_start and not run.aids("labeller")

    async def of(self, run: Run, number: int) -> Personas:
        """The characters of a cell, kept as `plan/cell-N-people.yaml` for all conversations; one call, the first time.

        Its `world` says where the cell begins (`place`) and when (`time`), as far as labels do; they are told where and
        when the cell before began, so that the cells before are labelled first.

        Raises:
            PlanError: the author's labels have problems; all are named.
            ReplyError: no labels could be read (only without `lenient`).
        """
        before: World = ()
        for cell in range(1 if self.at_start(run) else number, number + 1):
            before = (await self._of(run, cell, before)).world or before
        return self._labels[number]

    async def _of(self, run: Run, number: int, before: World) -> Personas:
        name = f"cell-{number}-people"

        def read(text: str) -> Personas:
            written = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
            return parse_personas(text, f"plan/{name}.yaml") if written else Personas("", ())

        async def make(own: Run) -> str:
            own = own.tries(WHOLE)
            found = await _labelled(own, self.segments[number - 1], self.config, before)
            return checked_personas(own, found, "labeller") if found.people else _NOBODY

        async with self._one:
            if number not in self._labels:
                shared = Run(run.context)
                self._labels[number] = await shared.keep_as(read, name, make, folder="plan", suffix="yaml")
        return self._labels[number]

    async def as_known(self, run: Run, number: int, segment: str, before: World = ()) -> Personas:
        """The characters of a part of a cell's segment, as far as that part tells of them; one call, the first time.

        `before` is where and when the cell before began, as its readers know it.
        """
        key = (number, segment, before)
        async with self._one:
            if key not in self._parts:
                shared = Run(run.context).scope(f"cell-{number}", "view", sha256(segment.encode()).hexdigest()[:8])
                self._parts[key] = await _labelled(shared, segment, self.config, before)
        return self._parts[key]

    async def written(self, run: Run, number: int) -> bool:
        """Whether the labels of a cell are the author's own, and not those that were made and pinned."""
        name = f"cell-{number}-people"
        given = await Run(run.context).given(name, folder="plan", suffix="yaml")
        return given is not None and not Run(run.context).was_made(name, given)


@dataclass
class Knowledge:
    """Who of those that talk knows what of a cell: all of it, as in the paper, or what was witnessed (`private`, ours).

    A prompt is made from a `View`, and a view from sentences that all its readers witnessed. So no plan, persona or
    turn can hold what its readers do not know, whatever a model makes of its prompt.
    """

    characters: Characters
    parties: Parties
    _marks: Marks = field(default_factory=Marks)
    _known: dict[tuple[tuple[str, ...], bool, int], Personas] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether it is told apart who knows what."""
        return self.characters.config.ours.private

    async def present(self, run: Run, number: int, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `names` who are in a cell; all, where nobody is named."""
        labelled = (await self.characters.of(run, number)).names
        named = present_in(names, self.characters.segments[number - 1])
        return tuple(name for name in names if name in named or among(name, labelled)) or names

    async def told(self, run: Run, number: int) -> tuple[Told, ...]:
        """The sentences of a cell with their witnesses, kept as `plan/cell-N-witnesses.yaml` for all conversations."""
        segment, parties = self.characters.segments[number - 1], self.parties.names
        if not self.private:
            return (Told(segment, parties),)

        async def make() -> tuple[Told, ...]:
            labelled = (await self.characters.of(run, number)).names
            names = list(await self.present(run, number, parties))
            names += [name for name in labelled if among(name, names) is None]
            place = Run(run.context).scope(f"cell-{number}")
            return await marked(place, segment, sorted(names), "labeller", "witnesses", knew=True)

        return await self._marks.of(number, make)

    async def view(self, run: Run, number: int, readers: Sequence[str], names: Sequence[str]) -> View:
        """What all of `readers` know of a cell: its sentences, who each of `names` is, where and when it is."""
        segment = known_to(await self.told(run, number), readers)
        people = {name: await self._persona(run, number, readers, name) for name in names}
        kept = await self._kept(run, number, readers[0]) if len(readers) == 1 else ""
        place, time = [await self._scene(run, number, readers, part) for part in ("place", "time")]
        return View(segment, people[readers[0]], people, kept, place, time)

    async def _kept(self, run: Run, number: int, name: str) -> str:
        """What somebody has known from the beginning and others have not, as other cells tell it, also those ahead."""
        ahead = self.characters.config.ours.ahead
        if not (self.private and ahead) or run.aids("labeller"):
            return ""
        last = min(number + ahead, len(self.characters.segments))
        cells_ = [(cell, await self.told(run, cell)) for cell in range(1, last + 1) if cell != number]
        parties = self.parties.names
        return "\n".join(text for cell, told in cells_ for text in kept_by(name, told, parties, past=cell < number))

    async def _scene(self, run: Run, number: int, readers: Sequence[str], part: str) -> str:
        """The place or the time of a cell as `readers` know it, by the last cell whose labels say it."""
        cells_ = range(number, 0, -1) if self.characters.at_start(run) else ()
        worlds = [(await self._labels(run, cell, readers, own=len(readers) == 1)).world for cell in cells_]
        return next((str(said) for world in worlds for name, said in world if name == part), "")

    async def _persona(self, run: Run, number: int, readers: Sequence[str], name: str) -> str:
        """Who somebody is, as `readers` know it: by the author, else by this cell or the last one that names them.

        With `carry` what earlier cells told of them stays on the sheet. What the author wrote about somebody is theirs
        alone where knowledge is private.
        """
        alone = tuple(readers) == (name,)
        own = not self.private or alone
        known = {persona.name: persona for persona in self.characters.author} if own else {}
        if (author := among(name, known)) is not None:
            return seen(replace(known[author], name=name), alone=alone).block
        sheets: list[Persona] = []
        carry = self.characters.config.ours.carry and not run.aids("npc")
        for cell in range(number, 0, -1):
            known = {persona.name: persona for persona in (await self._labels(run, cell, readers, own=own)).people}
            if (found := among(name, known)) is not None:
                sheets.append(seen(replace(known[found], name=name), alone=alone))
            if sheets and not carry:
                break
        if len(sheets) > _SHEETS:  # the first, which mostly says who somebody is, and the last ones
            sheets = [*sheets[: _SHEETS - 1], sheets[-1]]
        if sheets:
            return together(sheets[::-1]).block
        stranger = (
            f"\n{' and '.join(readers)} may have met {name}, but not by this name." if carry and not alone else ""
        )
        return f"Name: {name}{stranger}"

    async def _labels(self, run: Run, number: int, readers: Sequence[str], *, own: bool) -> Personas:
        """The characters of a cell, as far as what `readers` witnessed tells of them, after those of cells before."""
        key = (tuple(readers), own)
        before: World = ()
        for cell in range(1 if self.characters.at_start(run) else number, number + 1):
            if (*key, cell) not in self._known:
                self._known[*key, cell] = await self._labels_of(run, cell, readers, before, own=own)
            before = self._known[*key, cell].world or before
        return self._known[*key, number]

    async def _labels_of(self, run: Run, number: int, readers: Sequence[str], before: World, *, own: bool) -> Personas:
        segment = known_to(await self.told(run, number), readers)
        written = await self.characters.written(run, number)
        if (own and written) or (segment == self.characters.segments[number - 1].strip() and not written):
            return await self.characters.of(run, number)
        return await self.characters.as_known(run, number, segment, before) if segment else Personas("", ())

    async def who_know(
        self, run: Run, number: int, task: PlanTask, summaries: Summaries, names: Sequence[str]
    ) -> tuple[str, ...]:
        """The witnesses of a plan's points: those who know all that it was made from."""
        told = await self.told(run, number)

        async def knows(name: str) -> bool:
            readers = (*task.people, name)
            same = not task.kept and (not task.summary or summaries.get(name, "") == task.summary)
            if name in task.people or not (same and known_to(told, readers) == task.segment):
                return name in task.people
            return (await self.view(run, number, readers, names)).others == task.personas

        return tuple([name for name in names if await knows(name)])


def together(sheets: Sequence[Persona]) -> Persona:
    """One sheet of several of somebody, oldest first: each trait once, and each sentence of the background."""
    traits = {trait.casefold(): trait for sheet in sheets for trait in sheet.personality}
    told = {" ".join(one.split()): None for sheet in sheets for one in sentences(sheet.description)}
    fields = {
        name: next(own for sheet in sheets[::-1] if (own := getattr(sheet, name)))
        for name in Persona.__slots__
        if any(getattr(sheet, name) for sheet in sheets)
    }
    return replace(Persona(**fields), personality=tuple(traits.values()), description=" ".join(told))


def seen(sheet: Persona, *, alone: bool) -> Persona:
    """A sheet without what only its own player knows, unless it is read by that one `alone`."""
    return sheet if alone else replace(sheet, secret="", knows="")


async def _labelled(run: Run, segment: str, config: Config, before: World) -> Personas:
    """The characters of a segment by the labeller, and where and when it begins; with aids those whom it names."""
    role = "labeller"
    sampling = Sampling(max_tokens=run.reply_tokens(role, _LABEL_TOKENS))
    scene = config.ours.at_start and not run.aids(role)
    told = shown(segment, run, role)
    try:
        reply = await run.ask_for(
            _labels(scene=scene),
            role,
            "label",
            sampling=sampling,
            segment=told,
            scene=scene,
            before=[str(said) for _, said in before],
        )
    except ReplyError as error:
        if not config.ours.lenient:
            raise
        run.note(f"No labels could be read, so that nobody is known of this cell. {error}")
        return Personas("", ())
    people: dict[str, Persona] = {}
    for label in reply.characters:
        name = one_line(label.name)
        # Two whom one reply lists apart are two ("Mr. Bennet", "Elizabeth Bennet"), unless a small model lists them.
        alike = same_person if run.aids(role) else lambda one, other: slug(one) == slug(other)
        known = any(alike(name, other) for other in people)
        if name and not known and (not run.aids(role) or _named(run, name, segment)):
            traits = tuple(dict.fromkeys(one_line(trait) for trait in label.traits if trait.strip()))
            people[name] = Persona(name, description=one_line(label.background), personality=traits)
    if len(people) > MAX_PERSONAS:
        run.note(f"Of {len(people)} labelled people the first {MAX_PERSONAS} are known.")
    said = {"place": one_line(reply.place), "time": one_line(reply.time)} if scene else {}
    where = tuple((part, text) for part, text in said.items() if text)
    return Personas("", tuple(people.values())[:MAX_PERSONAS], where)


def _named(run: Run, name: str, segment: str) -> bool:
    return run.unless_made_up(lambda: bool(present_in([name], segment)), instead=True)


@cache
def _labels(*, scene: bool) -> Any:  # noqa: ANN401 - a type made at run time
    from pydantic import BaseModel, Field  # noqa: PLC0415 - keeps `fabula --help` fast

    class Label(BaseModel):
        name: Annotated[str, short(80)]
        traits: Annotated[list[Annotated[str, short(120)]], short(8)] = []
        background: Annotated[str, short(600)] = ""

    class Labels(BaseModel):
        characters: Annotated[list[Label], short(12)]

    class Scene(Labels):
        place: Annotated[str, Field(description="Where this part of the story begins, in a few words.")] = ""
        time: Annotated[str, Field(description="When it begins, in a few words.")] = ""

    return Scene if scene else Labels


async def who_talks(characters: Characters, run: Run, config: Config, given: Parties | None, cards: Cards) -> Parties:
    """Who talks: those given, those of the settings, else the first two of the first cell.

    Raises:
        UsageError: there are not two to talk with each other.
        UnknownNameError: one of them is not in the narrative.
    """
    player, others = (given.player, given.others) if given else (config.paper.player.strip(), config.paper.npc_names)
    narrative = "\n".join(characters.segments)
    known = [*(persona.name for persona in characters.author), *cards.names(player), *cards.known]
    if not (player and others):
        missing = 2 - bool(player) - bool(others)
        left = each_once(known, (player, *others))
        if len(left) < missing:
            known += (await characters.of(run, 1)).names
            left = each_once(known, (player, *others))
        if config.ours.lenient and len(left) < missing:
            with suppress(ReplyError):  # it is said below
                known += await people_read(run, narrative, "labeller")
            left = each_once(known, (player, *others))
        player = player or (left.pop(0) if left else "")
        others = others or tuple(left[:1])
    made_up = Parties(player or "the player", others or ("the character",))

    def checked() -> Parties:
        if not (player and others):
            raise UsageError(
                "The first cell names fewer than two characters, so there is nobody to talk with. Say who talks "
                "(player and npc, or --as and --with), or write them into plan/cell-1-people.yaml."
            )
        check_people([player, *others], narrative, known)
        return Parties(player, others)

    return run.unless_made_up(checked, made_up)


def shown(segment: str, run: Run, role: str) -> str:
    """A segment as a prompt for a role shows it: whole, unless a single sentence of it is longer than all may be."""
    tokens = run.prompt_tokens(role, _SEGMENT_TOKENS)
    text = segment.strip()
    begin = first_of(text, tokens)
    return begin if any(map(str.isalnum, begin)) else (text[: tokens * 3].rpartition(" ")[0] or text[: tokens * 3])


# the planning model (section 4.3) -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanTask:
    """What a plan is made from, and for whom.

    Attributes:
        name: of the artefact.
        people: whose plan it is: agents that follow it.
        partners: whom they talk with.
        personas: of all who talk, by name, as `people` know them.
        summary: what `people` remember.
        segment: what `people` know of the cell's segment.
        kept: what the one agent has known from the beginning, and others have not.
        before: the last lines of the cell before that `people` witnessed.
    """

    name: str
    people: tuple[str, ...]
    partners: tuple[str, ...]
    personas: Mapping[str, str]
    summary: str
    segment: str
    kept: str = ""
    before: tuple[Line, ...] = ()


async def plan_of(run: Run, task: PlanTask, config: Config) -> tuple[Step, ...]:
    """A plan of a cell, kept as `plan/cell-N-plan.md`: candidates (Table 5), and the best of them.

    Raises:
        ReplyError: no plan could be read (only without `lenient`).
    """
    paper, ours = config.paper, config.ours
    most = _FEW_STEPS if run.aids("planner") else None
    personas = [task.personas[name] for name in task.people]

    async def make(own: Run) -> str:
        own = own.tries("plan")
        sampling = Sampling(temperature=paper.plan_temperature, max_tokens=own.reply_tokens("planner", _PLAN_TOKENS))
        asked = partial(
            _candidate,
            own,
            sampling=sampling,
            people=task.people,
            partners=task.partners,
            partner_personas=[task.personas[name] for name in task.partners],
            personas=personas,
            summary=task.summary,
            before=task.before,
            kept=task.kept,
            segment=shown(task.segment, own, "planner"),
            instruction_first=paper.instruction_first,
        )
        texts: list[str] = []
        if ours.apart and not own.aids("planner"):
            for number in range(1, min(ours.apart, paper.candidates) + 1):
                texts.append(await asked(number, others=[headlines(plan) for plan in _plans_in(texts, most)]))
        else:
            texts = await side_by_side(asked(number, others=[]) for number in range(1, paper.candidates + 1))
        plans = list(dict.fromkeys(_plans_in(texts, most)))
        if not plans and not ours.lenient:
            raise own.no_use(
                "plan", f"No plan could be read at {own.at} in {len(texts)} replies.", "planner", texts[-1]
            )
        if not plans:
            own.note(f"No plan could be read at {own.at}; the segment's own sentences stand in.")
            return plan_text(plan_from(task.segment, most))
        return plan_text(await best_plan(own, plans, task.segment, "\n".join(personas), config))

    return await run.keep_as(_plan_in, task.name, make, folder="plan")


async def _candidate(run: Run, number: int, *, sampling: Sampling, others: Sequence[str], **fields: object) -> str:
    """The reply of the planner for a candidate; with `others` another way through the cell than theirs is asked for."""
    own = run.scope("candidate", number)
    return await own.ask("planner", "plan", sampling=sampling, expect=_USUAL_PLAN, others=others, **fields)


def _plan_in(text: str, most: int | None = None) -> tuple[Step, ...]:
    return tuple(Step(title, detail) for title, detail in read_plan(text, most))


def _plans_in(texts: Sequence[str], most: int | None) -> Iterator[tuple[Step, ...]]:
    """The plans in those replies that can be read."""
    for text in texts:
        try:
            yield _plan_in(text, most)
        except ReplyProblem:
            continue


def plan_from(segment: str, most: int | None) -> tuple[Step, ...]:
    """A plan that is the segment itself: its sentences, in equal parts of two or more; at most `most`, if given."""
    parts = sentences(" ".join(segment.split())) or [segment.strip()]
    size = max(2, -(-len(parts) // (most or len(parts))))
    return tuple(Step(" ".join(parts[n : n + size])) for n in range(0, len(parts), size))


# the planning filter (section 4.4) ------------------------------------------------------------------------------------


async def best_plan(
    run: Run, plans: Sequence[tuple[Step, ...]], segment: str, persona: str, config: Config
) -> tuple[Step, ...]:
    """P_best, the plan with the highest sum S (equation 2); the first of several. One plan is not scored.

    The scores are kept as `plan/cell-N-plan-scores.csv`, and the choice is made from that file: an edited score changes
    the choice, and a plan whose line is removed cannot be chosen.

    Raises:
        UsageError: an edited table cannot be read, or is of other plans.
    """
    if len(plans) == 1 or not config.paper.plan_filter:
        return plans[0]
    place = f"{run.at}/{SCORES}"
    file = f"plan/{slug(place)}.{TABLE}"

    def read(text: str) -> tuple[Row, ...]:
        rows = sorted(read_scores(text, file), key=lambda row: row.plan)
        return tuple(rows) if _are_of(rows, plans) else ()

    given = await run.given(SCORES, folder="plan", suffix=TABLE)
    if given is not None:
        rows = read(given)
    else:  # the calls belong to the plan's own line of work, which goes on from the choice
        made = await _scored(run, plans, segment, persona, config)

        async def keep(own: Run) -> str:
            del own
            return made

        rows = await run.keep_as(read, SCORES, keep, folder="plan", suffix=TABLE)
    if not rows:

        def refuse() -> NoReturn:
            raise UsageError(
                f"{file} is no table of the {len(plans)} plans that there are: each line has a plan's number and its "
                "steps as they were written, at least one and none twice. Correct the file, or have the plans scored "
                f"anew: `fabula text retake {place}`."
            )

        return run.unless_made_up(refuse, plans[0])
    sums = weighted_sums(np.array([row.scores for row in rows]), config.paper.weights)
    best = int(np.argmax(sums))
    row = rows[best]
    scores = ", ".join(f"{name} {value:.4f}" for name, value in zip(CRITERIA, row.scores, strict=True))
    by = "BERTScore" if config.paper.coherence == "bertscore" else "words"
    run.note(f"Plan {row.plan} of {len(plans)} was chosen ({scores}; sum {sums[best]:.4f}; coherence by {by}).")
    if not row.chosen:
        run.note(f"{file} marks another plan; its three scores and the weights decide.")
    return plans[row.plan - 1]


def weighted_sums(scores: Matrix, weights: Sequence[float]) -> Matrix:
    """S of each plan (equation 1), its scores normalised min-max among these plans; shape (plans,)."""
    return min_max(scores) @ np.asarray(weights)  # type: ignore[no-any-return] # numpy's own types


def _are_of(rows: Sequence[Row], plans: Sequence[tuple[Step, ...]]) -> bool:
    """Whether the rows of a table are some of these plans, each at most once."""
    numbers = [row.plan for row in rows]
    known = all(1 <= row.plan <= len(plans) and row.steps == headlines(plans[row.plan - 1]) for row in rows)
    return bool(rows) and known and len(set(numbers)) == len(numbers)


async def _scored(run: Run, plans: Sequence[tuple[Step, ...]], segment: str, persona: str, config: Config) -> str:
    """C1, C2 and C3 of each plan, as a table: coherence, connectivity (Table 6), personality (Table 7)."""
    near = await coherences(plans, segment, run, config.paper)
    # New scores may be drawn for the same plans (`fabula text retake`): such takes are added to those of the plans.
    judging = replace(run, take=run.take + run.within(SCORES).take)
    story = shown(segment, run, "judge")
    judged = await side_by_side(
        _judged(judging.scope("filter", number), plan_text(plan), story, persona, config)
        for number, plan in enumerate(plans, 1)
    )
    scores = rounded([(first, *others) for first, others in zip(near, judged, strict=True)])
    cell = run.at.rpartition("/")[0]
    return write_scores(cell, plans, scores, weighted_sums(scores, config.paper.weights).tolist())


async def _judged(run: Run, plan: str, segment: str, persona: str, config: Config) -> list[float]:
    """Connectivity and personality of a plan, 1 to 5."""
    return await side_by_side(
        [
            g_eval(run, config, "connectivity", plan=plan),
            g_eval(run, config, "personality", plan=plan, segment=segment, persona=persona),
        ]
    )


async def g_eval(run: Run, config: Config, prompt: str, **fields: str) -> float:
    """The mean of samples of one token, or the expected score by the tokens' probabilities (section 5.1).

    Replies in which no score can be read are left out; where there is no other, the score is 1 (both are ours).
    """
    paper = config.paper
    gives_logprobs = run.context.cast.assignment("judge").performer.capabilities.logprobs
    if paper.scoring == "samples" or (paper.scoring == "auto" and not gives_logprobs):
        return _mean(await run.sample(paper.samples, "judge", prompt, sampling=_ONE_TOKEN, expect=1, **fields))
    reply = await run.weigh(_SCORES, "judge", prompt, sampling=_ONE_TOKEN, **fields)
    if reply.logprobs is None:
        return _mean([reply.text])
    try:
        chances = read_chances(reply.logprobs, _SCORES)
    except ReplyProblem:
        return float(_LOW)
    return sum(int(score) * chance for score, chance in chances.items())


def _mean(texts: Sequence[str]) -> float:
    """The mean of the scores in some replies."""
    found: list[float] = []
    for text in texts:
        try:
            found.append(read_score(text, _LOW, _HIGH))
        except ReplyProblem:
            continue
    return sum(found) / len(found) if found else float(_LOW)


# following the plan (ours: enforce, turns_per_step) -------------------------------------------------------------------


def _usual_turn(moment: Moment, *, counts: bool) -> str:
    """How a turn looks, for estimates: points of the plan come up one by one, and after the last it is over."""
    dealt = min(int(len(moment.lines) / 2 / EXCHANGES_A_POINT), len(moment.steps))
    done = f"\nDONE {', '.join(map(str, range(1, dealt + 1))) or 'none'}" if counts else ""
    over = "\nEOD" if dealt and dealt == len(moment.steps) else ""
    return f"[{moment.who}: {{25}}]{done}{over}"


def turns_allowed(turns_per_step: int, freedom: Freedom) -> int:
    """Exchanges after which a sub-plan is left: half as many on rails, twice as many when loose; 0 sets no bound."""
    if freedom == "guided" or not turns_per_step:
        return turns_per_step
    return max(turns_per_step // 2, 1) if freedom == "rails" else turns_per_step * 2


def come_up(state: State, dealt: Iterable[int], most: int) -> Progress:
    """Where the plan stands when the agent says which sub-plans have come up: at the first that has not.

    What has come up once has; one turn may deal with several. Nothing is left because it takes long, but a talk that
    goes on for `most` exchanges after all has come up is over (0 sets no bound).
    """
    known = {n for n in dealt if 0 < n <= len(state.steps)}
    all_ = tuple(sorted({*state.dealt, *known}))
    left = [n for n in range(state.step, len(state.steps) + 1) if n not in all_]
    step = left[0] if left else len(state.steps)
    fresh = step != state.step or (not left and all_ != state.dealt)
    stayed = 0 if fresh else state.stayed + 1
    return Progress(step, stayed, ends=not left and bool(most) and stayed >= most, dealt=all_)


def next_step(steps: Sequence[Step], step: int, stayed: int, words: str, most: int) -> tuple[int, int, bool]:
    """Which sub-plan the next exchange serves, judged from the words of this one; no model is asked.

    The plan goes on when the words are nearer to the next sub-plan than to this one, and when this one has had its
    exchanges. It never goes further than one, and never back (Table 8, rule 2).

    Args:
        steps: the plan.
        step: number of the sub-plan that the exchange served.
        stayed: exchanges that this sub-plan had before.
        words: of the exchange, the player's and the answer's.
        most: exchanges after which a sub-plan counts as stalled; 0 sets no bound.

    Returns:
        The sub-plan of the next exchange, the exchanges it has had, and whether the plan is done: its last sub-plan has
        had its exchanges.
    """
    stayed += 1
    stalled = bool(most) and stayed >= most
    if step >= len(steps):
        return step, stayed, stalled
    here, there = tf_idf(words, [steps[step - 1].text, steps[step].text])
    goes_on = stalled or bool(there >= _NEXT and there > here)
    return (step + 1, 0, False) if goes_on else (step, stayed, False)


# the summary model (section 4.6) --------------------------------------------------------------------------------------


async def summary_of(run: Run, before: str, lines: Sequence[Line], config: Config) -> str:
    """A summary for the next cell, kept as `plan/cell-N-summary.md`; the last cell has none."""
    words, role, ours = config.paper.summary_words, "summariser", config.ours
    before = before if ours.carry else ""

    async def make(own: Run) -> str:
        instructed = own.context.cast.assignment(role).performer.capabilities.instructed
        if instructed:
            read = latest_lines(lines, own.prompt_tokens(role, 2 * _DIALOGUE_TOKENS))
        else:
            read = _fitting(own, lines, own.window(role), before)
        text = await _summed_up(own, role, instructed=instructed, summary=before, lines=read, words=words)
        if ours.lenient:
            labels = ("Summary", "The dialogue")
            text = clean_text(own, role, text, labels=labels, last=False, kind="notes")
        return text.strip() or f"{before} {read[-1].name}: {read[-1].text}".strip()

    text = await run.keep("summary", make, folder="plan")
    return last_of(text, words * _TOKENS_A_WORD) if run.aids(role) else text


async def _summed_up(run: Run, role: str, *, instructed: bool, summary: str, lines: Sequence[Line], words: int) -> str:
    """The summary model's text. A trained one may call speakers by DialogSum's tags; they get their names back."""
    # A trained summary model gets its usual length; `reply_tokens` bounds small models that follow instructions.
    tokens = run.reply_tokens(role, words * _TOKENS_A_WORD) if instructed else words * _TOKENS_A_WORD
    reply = await run.reply(
        role,
        "summarise",
        sampling=Sampling(max_tokens=tokens),
        expect=words,
        instructed=instructed,
        summary=summary,
        lines=lines,
        words=words,
    )
    if unread := reply.sent.get("unread"):
        run.note(f"The summary model had no room for the first {unread:,} tokens at {run.at}; they are not summed up.")
    present = dict.fromkeys([*(line.name for line in lines), *(name for line in lines for name in line.witnesses)])
    return reply.text if instructed else with_names(reply.text, tuple(present))


def _fitting(run: Run, lines: Sequence[Line], window: int | None, before: str) -> tuple[Line, ...]:
    """The last lines that a trained summary model has room for, one at least; says how many are left out."""
    if window is None:
        return tuple(lines)
    tokens = int((window - estimate_tokens(before)) * _ROOM)
    kept = max(1, len(latest([f"{line.name}: {line.text}" for line in lines], tokens)))
    if kept < len(lines):
        run.note(f"The summary model has room for the last {kept} of {len(lines)} lines at {run.at}.")
    return tuple(lines[-kept:])
