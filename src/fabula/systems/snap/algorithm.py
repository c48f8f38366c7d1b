"""SNAP (section 4): a narrative in cells; each is planned, the best plan is talked through, and that is summed up.

In the paper's order: the loop over the cells (4.1), a cell and what it is given (4.2) with its labels (3.1), the
planning model (4.3), the planning filter (4.4), the agent model (4.5) and the summary model (4.6). Two agents talk
here, as in section 5.3. What one of them does a person does in `fabula chat`: with the same `Snap`, in a conversation
of `fabula.craft.conversation`, whose dialogue between two agents this is too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.craft.bertscore.embedders import open_embedder
from fabula.craft.bertscore.scoring import Embedder, Vectors, encoded, matched
from fabula.craft.cells import cells
from fabula.craft.conversation.cards import Cards
from fabula.craft.conversation.lines import (
    Cell,
    Freedom,
    Parties,
    PartyView,
    SpokenLine,
    SubPlan,
    Summaries,
    dialogue_of,
    plan_text,
    without_remarks,
)
from fabula.craft.conversation.talk import PlanProgress, State, conversation, gone_on, next_step
from fabula.craft.conversation.turns import TurnKnowledge, turn_of
from fabula.craft.memory import tf_idf
from fabula.craft.narratives import check_narrative, narrative_of, who_talks
from fabula.craft.packing import latest
from fabula.craft.planning import WHOLE, checked_personas
from fabula.engine.replies import ReplyProblem, read_chances, read_score
from fabula.engine.replies.dialogue import SpokenTurn, read_plan, with_names
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import Brief, Story, one_line, slug
from fabula.story.people import among
from fabula.story.personas import MAX_PERSONAS, Persona, Personas, parse_personas
from fabula.story.sentences import sentences
from fabula.systems.snap.replies import CharacterLabels
from fabula.systems.snap.scores import CRITERIA, kept_scores, min_max, rounded, write_scores

if TYPE_CHECKING:
    from fabula.systems.snap.config import Config, Paper
    from fabula.systems.snap.scores import Matrix


_NOBODY: Final = "# Nobody was found in this cell. Write a list `personas:` with a `name:` for each character.\n"
_LOW, _HIGH = 1, 5
_SCORES: Final = tuple(str(score) for score in range(_LOW, _HIGH + 1))
_ONE_TOKEN: Final = Sampling(temperature=1.0, top_p=1.0, frequency_penalty=0.0, presence_penalty=0.0, max_tokens=1)
TOKENS_A_WORD: Final = 2
_ROOM: Final = 0.8  # of a summary model's window, as tokens are estimates


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents (section 5.3)."""
    return await talked_through(await open_talk(await narrative_of(run, brief), run, config), brief, run)


async def talked_through(snap: Snap, brief: Brief, run: Run) -> Story:
    """The narrative as a dialogue, cell by cell (section 4.1)."""
    story = Story.of(brief)
    summaries: Summaries = {}
    for number in range(1, len(snap.segments) + 1):
        here = run.scope(f"cell-{number}")
        # What the cell is given (4.2), its plan (4.3), filtered (4.4); the second agent has a plan of its own (5.3).
        cell = await snap.cell(here, number, summaries)
        cell = await snap.with_player_plan(here, cell, summaries)
        # Both talk in turn (4.5), until one of them says EOD.
        talk = partial(conversation, snap, cell=cell, summaries=summaries, most=snap.config.paper.max_turns)
        more = partial(gone_on, snap, cell=cell, summaries=summaries)  # where the author wants it to go on
        text = await here.keep("dialogue", talk, folder="story", more=more, read=without_remarks)
        story = story.add(f"cell-{number}/dialogue", text)
        # The dialogue's summary goes on to the next cell (4.6).
        if number < len(snap.segments):
            heard = dialogue_of(text, snap.parties, (snap.parties.player, *cell.present))
            summaries = await snap.summarise(here, heard, summaries)
    return story


async def open_talk(
    narrative: str, run: Run, config: Config, parties: Parties | None = None, cards: Cards | None = None
) -> Snap:
    """The narrative in cells of about ten sentences (section 3.1), ready to be talked through.

    Raises:
        UsageError: there is no sentence in it, nobody to talk with, or no model for a coherence by BERTScore.
        UnknownNameError: one of the parties is not in it.
    """
    check_narrative(narrative)
    cards, segments = cards or Cards(), tuple(cells(narrative, config.paper.sentences))
    config = replace(config, paper=await opened(run, config.paper))
    given = await run.given("personas", folder="plan", suffix="yaml")
    author = parse_personas(given).people if given else ()
    wanted = parties or Parties(config.paper.player.strip(), config.paper.npc_names)
    found = await who_talks(run, narrative, wanted, cards, [persona.name for persona in author])
    characters = Characters(segments, (*author, *cards.personas(found.player)))
    return Snap(segments, found, characters, config, cards)


# a cell (section 4.2) -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Snap:
    """A narrative in cells, and what SNAP does in each; a `Talk` that all conversations on it share."""

    segments: tuple[str, ...]
    parties: Parties
    characters: Characters
    config: Config
    cards: Cards = field(default_factory=Cards)

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
        """The cell of this number: segment, personas, and its plan, which is made unless `steps` is it."""
        cell = Cell(number, await self.views(run, number), steps or (), there or await self.present(run, number))
        if steps is None:
            planned = await self.plan(run, cell, summaries, cell.present, (self.parties.player,), "plan")
            cell = replace(cell, steps=planned)
        return cell

    async def views(self, run: Run, number: int) -> dict[str, PartyView]:
        """What everybody has of a cell; an author's secret is on its own sheet character alone."""
        personas = {name: await self.characters.persona(run, number, name) for name in self.parties.names}
        segment, public = self.segments[number - 1].strip(), {name: one.public.block for name, one in personas.items()}
        return {name: PartyView(segment, persona.block, public) for name, persona in personas.items()}

    async def present(self, run: Run, number: int) -> tuple[str, ...]:
        """Who is there to answer: all."""
        del run, number
        return self.parties.others

    async def with_player_plan(self, run: Run, cell: Cell, summaries: Summaries) -> Cell:
        """The cell with a plan from the point of view of the player's character (section 5.3, Tables 14 to 20)."""
        steps = await self.plan(run, cell, summaries, (self.parties.player,), cell.present, "player-plan")
        return replace(cell, player_steps=steps)

    # the planning model (section 4.3)

    async def plan(
        self,
        run: Run,
        cell: Cell,
        summaries: Summaries,
        people: Sequence[str],
        partners: Sequence[str],
        name: str,
    ) -> tuple[SubPlan, ...]:
        """The plan of those agents (`people`), kept as `plan/cell-N-plan.md`: some are made, and the best is chosen.

        Raises:
            ReplyError: no plan could be read.
        """
        view = cell.views[people[0]]
        personas = [view.persona, *(view.others[name] for name in people[1:])]
        given = {
            "people": people,
            "partners": partners,
            "personas": personas,
            "partner_personas": [view.others[name] for name in partners],
            "summary": summaries.get(people[0], ""),
            "segment": view.segment,
        }

        async def make(own: Run) -> str:
            own = own.tries("plan")
            plans = await self.candidates(own, given)
            return plan_text(await best_plan(own, plans, view.segment, "\n".join(personas), self.config.paper))

        return await run.keep(name, make, folder="plan", read=read_steps)

    async def candidates(
        self, run: Run, given: Mapping[str, Any], tokens: int | None = None
    ) -> list[tuple[SubPlan, ...]]:
        """Plans to choose from (Table 5), of so many tokens at most, each once; a reply that is none is left out.

        Raises:
            ReplyError: none could be read.
        """
        sampling = Sampling(temperature=self.config.paper.plan_temperature, max_tokens=tokens)
        texts = await side_by_side(
            run.scope("candidate", number).ask("planner", "plan", sampling=sampling, **given)
            for number in range(1, self.config.paper.candidates + 1)
        )
        plans = list(dict.fromkeys(_plans_in(texts)))
        if not plans:
            raise run.exhausted(
                "plan", f"No plan could be read at {run.at} in {len(texts)} replies.", "planner", texts[-1]
            )
        return plans

    # the agent model (section 4.5)

    async def answer(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """One turn of the agent (Table 8)."""
        return await self.turn(run, moment, "npc", "answer")

    async def play(self, run: Run, moment: TurnKnowledge) -> SpokenTurn:
        """One turn of the player's character by a model, an agent like the other (section 5.3)."""
        return await self.turn(run, moment, "player", "play")

    async def turn(self, run: Run, moment: TurnKnowledge, role: str, prompt: str) -> SpokenTurn:
        """A role's turn, from the plan, its persona and what was said to it; 1 call."""
        return await turn_of(
            run, moment, role, prompt, fields_of(moment), temperature=self.config.paper.turn_temperature
        )

    def progress(self, state: State, words: str, answer: SpokenTurn) -> PlanProgress:
        """The agent's EOD ends the cell (Table 8, rule 9), but never in its first turn.

        Which sub-plan an exchange serves is judged by its words, for whoever wants to see it; the agent is not told.
        """
        step, stayed, _ = next_step(state.steps, state.step, state.stayed, words)
        return PlanProgress(step, stayed, answer.ended and state.number_in_cell > 1)

    # the summary model (section 4.6)

    async def summarise(self, run: Run, lines: Sequence[SpokenLine], summaries: Summaries) -> Summaries:
        """The summary of a cell's dialogue, which is all that the next cell has of it."""
        if not lines:
            return summaries
        return dict.fromkeys(self.parties.names, await summary_of(run, lines, self.config.paper.summary_words))


# labels (section 3.1) -------------------------------------------------------------------------------------------------


@dataclass
class Characters:
    """Who is in each cell, with traits and background, by automatic labels; the author's own personas come first."""

    segments: Sequence[str]
    author: tuple[Persona, ...] = ()
    _labels: dict[int, Personas] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, run: Run, number: int) -> Personas:
        """The characters of a cell, kept as `plan/cell-N-people.yaml` for all conversations; 1 call, the first time.

        Raises:
            PlanError: the author's labels have problems; all are named.
            ReplyError: no labels could be read.
        """
        name = f"cell-{number}-people"

        def read(text: str) -> Personas:
            written = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
            return parse_personas(text, f"plan/{name}.yaml") if written else Personas("", ())

        async def make(own: Run) -> str:
            own = own.tries(WHOLE)
            found = await self.labelled(own, self.segments[number - 1])
            return checked_personas(own, found, "labeller") if found.people else _NOBODY

        async with self._one:
            if number not in self._labels:
                shared = Run(run.context)
                self._labels[number] = await shared.keep(name, make, folder="plan", suffix="yaml", read=read)
        return self._labels[number]

    async def labelled(self, run: Run, segment: str) -> Personas:
        """The names, traits and backgrounds of a segment's characters; the paper prints no prompt for them."""
        reply = await run.ask_for(CharacterLabels, "labeller", "label", segment=segment.strip())
        people: dict[str, Persona] = {}
        for label in reply.characters:
            if name := one_line(label.name):
                traits = tuple(dict.fromkeys(one_line(trait) for trait in label.traits if trait.strip()))
                persona = Persona(name, description=one_line(label.background), personality=traits)
                people.setdefault(slug(name), persona)
        if len(people) > MAX_PERSONAS:
            run.note(f"Only the first {MAX_PERSONAS} of {len(people)} labelled people are used.")
        return Personas("", tuple(people.values())[:MAX_PERSONAS])

    async def persona(self, run: Run, number: int, name: str) -> Persona:
        """Who somebody is: by the author, else by this cell's labels, or those of the last one that names them."""
        if known := called(name, self.author):
            return known
        for cell in range(number, 0, -1):
            if known := called(name, (await self.of(run, cell)).people):
                return known
        return Persona(name)


def called(name: str, people: Sequence[Persona]) -> Persona | None:
    """The persona of somebody among some, under that name."""
    known = {persona.name: persona for persona in people}
    found = among(name, known)
    return replace(known[found], name=name) if found else None


# plans as text --------------------------------------------------------------------------------------------------------


def read_steps(text: str) -> tuple[SubPlan, ...]:
    """The sub-plans of a plan, `#1. headline` and a line with details each."""
    return tuple(SubPlan(title, detail) for title, detail in read_plan(text))


def _plans_in(texts: Sequence[str]) -> Iterator[tuple[SubPlan, ...]]:
    for text in texts:
        with suppress(ReplyProblem):
            yield read_steps(text)


# the planning filter (section 4.4) ------------------------------------------------------------------------------------


async def best_plan(
    run: Run, plans: Sequence[tuple[SubPlan, ...]], segment: str, persona: str, paper: Paper
) -> tuple[SubPlan, ...]:
    """P_best, the plan with the highest sum S (equation 2); the first of several. One plan is not scored.

    The scores are kept as `plan/cell-N-plan-scores.csv`, and the choice is made from that file.

    Raises:
        UsageError: an edited table cannot be read, or is of other plans.
    """
    if len(plans) == 1 or not paper.plan_filter:
        return plans[0]

    async def table(own: Run) -> str:
        scores = await scored(own, plans, segment, persona, paper)
        return write_scores(run.at.rpartition("/")[0], plans, scores, weighted_sums(scores, paper.weights).tolist())

    rows = await kept_scores(run, plans, table)
    sums = weighted_sums(np.array([row.scores for row in rows]), paper.weights)
    best = int(np.argmax(sums))
    scores = ", ".join(f"{name} {value:.4f}" for name, value in zip(CRITERIA, rows[best].scores, strict=True))
    run.note(f"Plan {rows[best].plan} of {len(plans)} was chosen ({scores}; sum {sums[best]:.4f}).")
    return plans[rows[best].plan - 1]


def weighted_sums(scores: Matrix, weights: Sequence[float]) -> Matrix:
    """S of each plan (equation 1), its scores normalised min-max among these plans; shape (plans,)."""
    return min_max(scores) @ np.asarray(weights)  # type: ignore[no-any-return] # numpy's own types


async def scored(run: Run, plans: Sequence[tuple[SubPlan, ...]], segment: str, persona: str, paper: Paper) -> Matrix:
    """C1, C2 and C3 of each plan: coherence, connectivity (Table 6), personality (Table 7)."""
    near = await coherences(plans, segment, run, paper)
    judged = await side_by_side(
        side_by_side(
            [
                g_eval(at, paper, "connectivity", plan=text),
                g_eval(at, paper, "personality", plan=text, segment=segment, persona=persona),
            ]
        )
        for at, text in ((run.scope("filter", number), plan_text(plan)) for number, plan in enumerate(plans, 1))
    )
    return rounded([(first, *others) for first, others in zip(near, judged, strict=True)])


async def g_eval(run: Run, paper: Paper, prompt: str, **fields: str) -> float:
    """The mean of samples of one token, or the expected score by the tokens' probabilities (section 5.1).

    Replies in which no score can be read are left out; where there is no other, the score is 1.
    """
    gives_logprobs = run.room("judge").model.capabilities.logprobs
    if paper.scoring == "samples" or (paper.scoring == "auto" and not gives_logprobs):
        return _mean(await run.sample(paper.samples, "judge", prompt, sampling=_ONE_TOKEN, **fields))
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
        with suppress(ReplyProblem):
            found.append(read_score(text, _LOW, _HIGH))
    return sum(found) / len(found) if found else float(_LOW)


# the agent model (section 4.5) ----------------------------------------------------------------------------------------


def fields_of(moment: TurnKnowledge) -> dict[str, Any]:
    """What a cell gives to whoever speaks in it; the dialogue so far follows as a chat."""
    return {
        "who": moment.who,
        "partners": moment.partners,
        "opposite": moment.opposite,
        "persona": moment.view.persona,
        "other": moment.view.others[moment.partners[0]],
        "summary": moment.summary,
        "segment": moment.view.segment,
        "steps": moment.steps,
        "begins": moment.begins,
    }


# the summary model (section 4.6) --------------------------------------------------------------------------------------


async def summary_of(run: Run, lines: Sequence[SpokenLine], words: int) -> str:
    """A cell's dialogue summed up for the next one, kept as `plan/cell-N-summary.md`."""

    async def make(own: Run) -> str:
        text = await summed_up(own, that_fit(own, lines), words)
        return text.strip() or f"{lines[-1].name}: {lines[-1].text}"

    return await run.keep("summary", make, folder="plan")


async def summed_up(
    run: Run, lines: Sequence[SpokenLine], words: int, before: str = "", tokens: int | None = None
) -> str:
    """The summary model's text: BART trained on DialogSum reads the dialogue alone, any other model is prompted.

    A trained one may call speakers by DialogSum's tags; they get their names back.
    """
    instructed = run.room("summariser").model.capabilities.instructed
    sampling = Sampling(max_tokens=tokens if instructed else words * TOKENS_A_WORD)
    given: dict[str, Any] = {"instructed": instructed, "lines": lines, "words": words, "summary": before}
    reply = await run.reply("summariser", "summarise", sampling=sampling, **given)
    if unread := reply.sent.get("unread"):
        run.note(
            f"The summary model had no room for the first {unread:,} tokens at {run.at}, so they are not summarised."
        )
    present = dict.fromkeys([*(line.name for line in lines), *(name for line in lines for name in line.witnesses)])
    return reply.text if instructed else with_names(reply.text, tuple(present))


def that_fit(run: Run, lines: Sequence[SpokenLine], before: str = "") -> tuple[SpokenLine, ...]:
    """The last lines that the summary model has room for, one at least (BART reads 1,024 tokens); a note says so."""
    window = run.room("summariser").window
    if window is None:
        return tuple(lines)
    room = int((window - estimate_tokens(before)) * _ROOM)
    kept = max(1, len(latest([f"{line.name}: {line.text}" for line in lines], room)))
    if kept < len(lines):
        run.note(f"The summary model has room for the last {kept} of {len(lines)} lines at {run.at}.")
    return tuple(lines[-kept:])


# coherence of a plan with its segment ---------------------------------------------------------------------------------


_OVERLAP: Final = 64  # tokens that two windows of a long segment share
_FIELDS: Final = "coherence_"
_ONE: Final = Lock()  # models of this kind use all cores for one text; a second one is not opened meanwhile


class _Source(NamedTuple):
    """What gives the vectors."""

    embedder: str
    model: str
    fetch: bool


async def opened(run: Run, paper: Paper) -> Paper:
    """The settings with the measure of coherence, which is opened, so that a missing one is found before any call.

    With "auto" it is BERTScore where that is on this machine; else words, and a note says why.

    Raises:
        UsageError: with "bertscore" a package or the model is not on this machine; says what to do.
    """
    if paper.coherence == "words" or not paper.plan_filter or paper.candidates == 1:
        return paper
    try:
        await asyncio.to_thread(_opened, _source(paper))
    except UsageError as error:
        if paper.coherence == "bertscore":
            raise
        run.note(f"The coherence of plans is measured by words, not by BERTScore as in the paper. {error}")
        return replace(paper, coherence="words")
    return replace(paper, coherence="bertscore")


async def coherences(plans: Sequence[Sequence[SubPlan]], segment: str, run: Run, paper: Paper) -> list[float]:
    """The coherence of each plan with the segment, as the settings have it measured; made-up plans by words.

    Raises:
        UsageError: a package or the model is not on this machine; says what to do.
    """
    if run.context.unless_made_up(lambda: paper.coherence, "words") != "bertscore":
        return [by_words(plan, segment) for plan in plans]
    return await asyncio.to_thread(_by_bertscore, [_text(plan) for plan in plans], segment, _source(paper))


def by_words(plan: Sequence[SubPlan], segment: str) -> float:
    """Cosine of the TF-IDF vectors of plan and segment, 0 to 1."""
    return float(tf_idf(_text(plan), [segment, *sentences(segment)])[0])


def _text(plan: Sequence[SubPlan]) -> str:
    return " ".join(step.text for step in plan)


def _source(paper: Paper) -> _Source:
    return _Source(paper.coherence_embedder, paper.coherence_model, paper.coherence_fetch)


def _by_bertscore(texts: Sequence[str], segment: str, source: _Source) -> list[float]:
    with _ONE:
        return [_likeness(text, segment, source) for text in texts]


@remembered(512, 20_000)  # a dry run comes before a run
def _likeness(text: str, segment: str, source: _Source) -> float:
    """F1 of a text against the segment; 0 where one has no token, or the model takes them for opposites."""
    reference, own = _vectors(segment, source), _vectors(text, source)
    return max(matched(reference, own).f, 0.0) if reference.counts.any() and own.counts.any() else 0.0


@remembered(8, 50_000)  # a segment is compared with all its plans
def _vectors(text: str, source: _Source) -> Vectors:
    embedder = _embedder(source)
    return encoded(embedder.tokens(text), embedder, min(_OVERLAP, embedder.limit // 2))


def _opened(source: _Source) -> Embedder:
    with _ONE:
        return _embedder(source)


@remembered(2)
def _embedder(source: _Source) -> Embedder:
    return open_embedder(source.embedder, source.model, fetch=source.fetch, fields=_FIELDS)
