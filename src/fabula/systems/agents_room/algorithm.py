"""Agents' Room: Algorithm 1, its orchestrators, its agents, and what an agent does."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UnknownNameError, UsageError
from fabula.craft.chapters import Book, Part, chapters_wanted, outline
from fabula.craft.final_reading import final_reading
from fabula.craft.length import WordRange, asked_range
from fabula.craft.planning import given_plan
from fabula.craft.prose import Prose, clean_reply, write_prose
from fabula.engine.roles import load_function
from fabula.engine.run import DRAFTS
from fabula.models.base import Sampling
from fabula.story import Story, count_words
from fabula.story.scratchpad import Scratchpad
from fabula.systems.agents_room.plot import (
    Checked,
    Plot,
    events_of,
    later_of,
    most_events,
    plot_of,
    read_events,
    read_outline,
)

if TYPE_CHECKING:
    from fabula.engine.run import Draft, Run
    from fabula.story import Brief
    from fabula.story.plan import Plan, ScenePlan
    from fabula.systems.agents_room.config import Config
    from fabula.systems.agents_room.plot import Outline


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The story y of a writing task x (Algorithm 1), and the scratchpad's texts as artefacts.

    Raises:
        UnknownNameError: the variant, the orchestrator, or the agent that an orchestrator names is unknown.
        ReplyError: a role gives nothing of use.
    """
    plan = await given_plan(run)  # ours: an author's plan stands in for the planning agents
    agents = agents_of(config.paper.variant)  # A
    if not plan and drafts_first(brief, run, config):
        agents = drafting(config.ours.revisions)
    o = orchestrator_of(config.paper.orchestrator, run)
    s, y = Scratchpad.of(brief), Story.of(brief)  # line 1: s <- x
    if plan:
        s, agents = with_plan(s, plan, agents, run, config)
    drafts: list[Draft] = []  # ours, `final_reading`: the story's parts before the whole is read
    book: Book | None = None  # ours, `chapters`: a long story's chapters
    for _ in range(config.paper.max_steps):  # line 2: while o(s, A) and t < T
        a = await o(s, agents)  # line 3: a_t = o(s, A)
        if a is None:
            break
        if a.kind == "writing" and (book := book or await planned_in_chapters(s, agents, brief, run, config)):
            s = s.add(a.label, await book.write(run, a.role, part_of(a)), a.kind)
            continue
        y_t = await contributed(a, called(a, s, agents, brief, config), run, config, drafts)  # line 4: y_t = a_t(s)
        s = s.add(a.label, y_t, a.kind)  # line 5: s <- (s; (l_t, y_t))
        agents = planned(agents, a, y_t, run, config)  # ours: a part that the plot leaves out has no writer
        if a.kind == "writing":  # line 6
            y = y.add(a.label, y_t)  # line 7: y <- (y; y_t)
    if book is not None:
        return await book.finished(run, FINALIZER.role, y)
    return await read_at_the_end(y, s, drafts, brief, run, config) if drafts else y


async def contributed(
    a: Agent, make: Callable[[Run], Awaitable[str]], run: Run, config: Config, drafts: list[Draft]
) -> str:
    """The agent's text as an artefact; a part of the story as a draft of it where the whole is read at the end."""
    if a.kind == "planning" or not config.ours.final_reading or run.too_small_for("final_reading", FINALIZER.role):
        return await run.keep(a.name, make, folder=a.folder)
    drafts.append(await run.draft(a.name, make, folder=a.folder))
    return drafts[-1].text


async def read_at_the_end(
    y: Story, s: Scratchpad, drafts: list[Draft], brief: Brief, run: Run, config: Config
) -> Story:
    """Ours: the story as the finalizer leaves it, who reads the whole once against brief, plan and itself."""
    labels = {agent.label for agent in PLANNING}
    plan = Scratchpad(tuple(entry for entry in s.entries if entry.label in labels))
    want = _whole(brief, config)
    texts = await final_reading(run, FINALIZER.role, drafts, brief=brief.titled, plan=plan.render(), want=want)
    return y.with_texts(texts)


async def planned_in_chapters(
    s: Scratchpad, agents: tuple[Agent, ...], brief: Brief, run: Run, config: Config
) -> Book | None:
    """Ours: the chapters of a long story, each in one of its parts; `None` for a story that has none."""
    want, plan = _whole(brief, config), [(entry.label, entry.text) for entry in s.entries[1:]]
    writers = [a for a in agents if a.kind == "writing"]
    several = [a for a in writers if a.role != FINALIZER.role]
    weights = weights_of(config)
    shares = want.shares([weights[a.label] for a in several]) if want else [None] * len(several)
    parts = [Part(a.label, share.target if share else 0, a.duty) for a, share in zip(several, shares, strict=True)]
    asked = (brief, want, config.ours.words, parts)
    wanted = chapters_wanted(run, writers[0].role, *asked) if config.ours.chapters else None
    if wanted is None:
        return None
    chapters = await outline(run, _PLOT.role, brief.titled, wanted, want, plan=plan, parts=parts)
    final = config.ours.final_reading and not run.too_small_for("final_reading", FINALIZER.role)
    duties = {a.label: a.duty for a in several}
    limit = config.paper.max_tokens or None
    return Book(brief.titled, chapters, want, plan, duties, read_at_end=final, wanted=wanted, limit=limit)


def part_of(a: Agent) -> str | None:
    """The part of the story whose chapters an agent writes; `None` for who writes all."""
    return None if a.role == FINALIZER.role else a.label


# agents (sections 3 and 4.1) ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agent:
    """A labelled function from text to text (section 3, "Agents").

    Attributes:
        role: who plays it is cast by this name.
        label: its unique identifier in the scratchpad (appendix B.1).
        kind: planning agents write to the scratchpad only, writing agents also to the story.
        name: of its artefact, and so of its file.
        prompt: its prompt file.
        words: length of its text where none is asked for: for estimates, and to bound a small model's reply that is a
            part of the story (`Prose.usual`).
        weight: its share of the story's words.
        guide: what its section is for, after appendix C; shown in improved mode.
        duty: what its part does for the reader, whatever the order of time; shown with `need_to_know`.
        questions: what a planning agent looks for in a draft (`draft_first`), which it reads for its `duty`.
    """

    role: str
    label: str
    kind: Literal["planning", "writing"]
    name: str
    prompt: str
    words: int
    weight: float = 0.0
    guide: str = ""
    duty: str = ""
    questions: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The project folder of its artefact."""
        if self.kind == "writing":
            return "story"
        return DRAFTS if self.weight else "plan"


_LEAST_PLANNED, _MOST_PLANNED = 500, 4500  # words of stories in proportion to which notes are long
_NOTE_WORDS: Final = 200  # more than five sentences, or bullets for a few characters
_SECTION_WORDS: Final = 607  # Table 2: 3,034 words a story with five writing agents

PLANNING: Final = (
    Agent("conflict", "Central Conflict", "planning", "conflict", "conflict", _NOTE_WORDS),
    Agent("character", "Character Descriptions", "planning", "characters", "character", _NOTE_WORDS),
    Agent("setting", "Setting", "planning", "setting", "setting", _NOTE_WORDS),
    Agent("plot", "Key Plot Points", "planning", "plot", "plot", _NOTE_WORDS),
)
_PLOT: Final = PLANNING[-1]
WRITING: Final = (
    Agent(
        "exposition",
        "Exposition",
        "writing",
        "exposition",
        "section",
        _SECTION_WORDS,
        0.2,
        "which lets the reader step into the world of the story: its people, its place, and what troubles them",
        "opens the story and draws the reader into it: somebody wants something, and something is wrong",
    ),
    Agent(
        "rising_action",
        "Rising Action",
        "writing",
        "rising-action",
        "section",
        _SECTION_WORDS,
        0.25,
        "in which choices and events come between the characters and their goals, and the reader begins to care",
        "makes it harder: what is wanted comes nearer or slips away, and the reader begins to care",
    ),
    Agent(
        "climax",
        "Climax",
        "writing",
        "climax",
        "section",
        _SECTION_WORDS,
        0.2,
        "the turning point to which everything so far has led",
        "is the turn to which everything so far has led",
    ),
    Agent(
        "falling_action",
        "Falling Action",
        "writing",
        "falling-action",
        "section",
        _SECTION_WORDS,
        0.175,
        "which follows the turning point, clears up its events and lets the tension ease",
        "shows what the turn has changed",
    ),
    Agent(
        "resolution",
        "Resolution",
        "writing",
        "resolution",
        "section",
        _SECTION_WORDS,
        0.175,
        "the ending, which answers what is still open and shows the next step in the characters' lives",
        "is the ending, which answers what the beginning has asked",
    ),
)
# Section 5: planning alone makes no story, so one agent writes it; Table 2: 926 words.
FINALIZER: Final = Agent("finalizer", "Story", "writing", "story", "finalizer", 926, 1.0)

# Ours, `draft_first`: a whole draft, the planning agents as its readers, and the story written anew.
DRAFT: Final = Agent("finalizer", "Draft", "planning", "draft", "draft", 926, 1.0)
REVIEWS: Final = (
    Agent(
        "conflict",
        "Notes on the Central Conflict",
        "planning",
        "conflict",
        "review",
        _NOTE_WORDS,
        duty="its central conflict",
        questions=(
            "What do those at the centre of the story want most, and why? Does the reader feel it, and from where on?",
            "What stands in their way? Is it strong enough, and does somebody have to choose?",
            "Is it decided by what somebody does, at a price, and where the reader can see it?",
        ),
    ),
    Agent(
        "character",
        "Notes on the Characters",
        "planning",
        "characters",
        "review",
        _NOTE_WORDS,
        duty="its characters",
        questions=(
            "How do they sound? Could one tell from a line alone who is speaking?",
            "How do they look and move? Is there a gesture that is only theirs, or one that any story has?",
            "What drives them, what do they fear, what do they hide? Do they change, or show why they cannot?",
            "Does each of them know, say and notice only what they can?",
        ),
    ),
    Agent(
        "setting",
        "Notes on the Setting",
        "planning",
        "setting",
        "review",
        _NOTE_WORDS,
        duty="its setting",
        questions=(
            "Where does each scene happen? Could it happen nowhere else, and does the place take part in it?",
            "When does it happen, and how much time goes by? Do dates, ages, hours, numbers and distances agree?",
            "Are the things that people see, hear and use the right ones, and is any of them wrong for time or place?",
        ),
    ),
    Agent(
        "plot",
        "Notes on the Plot",
        "planning",
        "plot",
        "review",
        _NOTE_WORDS,
        duty="its plot, and for all that the Creative Writing Task demands",
        questions=(
            "Is every demand of the task met: order of telling, dates, person, tense, form, lengths, who learns what?",
            "What is set up and does not pay off? What pays off and was not set up, or is told instead of shown?",
            "Where can the reader not follow, and where are they told what they know already?",
            "Which scene has too little room, and which too much?",
            "Is the ending earned, and is its last line the right one?",
        ),
    ),
)
REWRITER: Final = Agent("finalizer", "Story", "writing", "story", "rewrite", 926, 1.0)


def drafting(revisions: int) -> tuple[Agent, ...]:
    """Ours, `draft_first`: a draft, its four readers, the story written anew, and as many revisions of the whole."""
    versions = [
        replace(
            REWRITER,
            label=f"Version {n}",
            kind="planning",
            name=f"version-{n}",
            prompt="revise" if n > 1 else "rewrite",
        )
        for n in range(1, revisions + 1)
    ]
    return (DRAFT, *REVIEWS, *versions, replace(REWRITER, prompt="revise") if versions else REWRITER)


_ONE_REPLY: Final = 3000  # words that models write as one story; longer ones come out shorter than asked


def drafts_first(brief: Brief, run: Run, config: Config) -> bool:
    """Whether the room begins with a draft.

    Not with a small model, whose second version repeats the first; not for a story that is too long for one reply; and
    not where another variant or orchestrator was chosen, or somebody to write a part, which says that agents are to
    plan and write.
    """
    paper, ours = config.paper, config.ours
    if not ours.draft_first or paper.variant != "plan+write" or paper.orchestrator != "deterministic":
        return False
    if any(run.cast_by_name(agent.role) for agent in WRITING):
        run.disobeys("draft_first", "somebody was chosen to write a part, so the agents plan and write.")
        return False
    want = _whole(brief, config)
    if want is not None and want.target > _ONE_REPLY:
        run.disobeys(
            "draft_first", f"a draft is one reply, of {_ONE_REPLY:,} words at most; this story is planned first."
        )
        return False
    if ours.chapters and chapters_wanted(run, FINALIZER.role, brief, want, ours.words):
        run.disobeys("draft_first", "a story in chapters is planned first.")
        return False
    return not run.too_small_for("draft_first", "finalizer")


def planned(agents: tuple[Agent, ...], a: Agent, y_t: str, run: Run, config: Config) -> tuple[Agent, ...]:
    """The agents without the writers of parts that the plot `y_t` leaves out (`plot_by_part`); all until `a` has it.

    A plot that gives its parts one word each was not thought out (a dry run makes up such a one): nobody is left out.
    """
    if a != _PLOT or not config.ours.plot_by_part or run.too_small_for("plot_by_part", a.role):
        return agents
    outline = read_outline(y_t)
    if outline is None or set(outline.words.values()) == {1}:
        return agents
    return tuple(x for x in agents if x not in WRITING or x.label in outline.parts)


def agents_of(variant: str) -> tuple[Agent, ...]:
    """The agents of a variant, in the deterministic orchestrator's order (sections 4.1 and 5).

    Raises:
        UnknownNameError: there is no such variant.
    """
    variants = {"plan": (*PLANNING, FINALIZER), "write": WRITING, "plan+write": (*PLANNING, *WRITING)}
    if variant not in variants:
        raise UnknownNameError("variant of agents-room", variant, variants)
    return variants[variant]


# orchestrators (section 3, "Orchestrator"): from the scratchpad and the agents to the next agent, or none -------------

Orchestrator: TypeAlias = Callable[[Scratchpad, tuple[Agent, ...]], Awaitable[Agent | None]]
_FINISH: Final = "Finish"


def orchestrator_of(spec: str, run: Run) -> Orchestrator:
    """The orchestrator that a setting names: "deterministic", "llm", or a Python function `file.py:name`.

    The user's function takes the scratchpad and the agents and gives the label of the next agent, or `None` to stop.

    Raises:
        UnknownNameError: neither of the two names, nor a function.
        ConfigError: the function's file does not exist.
    """
    if spec == "deterministic":
        return _in_order
    if spec == "llm":
        return _asked(run)
    if ":" not in spec:
        raise UnknownNameError("orchestrator", spec, ("deterministic", "llm", "file.py:function"))
    return _from_function(spec)


async def _in_order(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
    """The first agent that has not been called yet (section 4.1); `None` after the last."""
    return next((agent for agent in agents if not s.has(agent.label)), None)


def _asked(run: Run) -> Orchestrator:
    """A model chooses among the agents that are left, or finishes once a part of the story is written."""

    async def choose(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        left = {agent.label: agent for agent in agents if not s.has(agent.label)}
        options = [*left, _FINISH] if s.of_kind("writing") else list(left)
        if not left or len(options) == 1:
            return next(iter(left.values()), None)
        where = run.scope("orchestrator", len(s.entries))
        label = await where.choose(
            options, "orchestrator", "orchestrator", scratchpad=s, options=options, finish=_FINISH
        )
        return left.get(label)

    return choose


def _from_function(spec: str) -> Orchestrator:
    function = load_function(spec)

    async def choose(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        answer = function(s, agents)
        label = await answer if inspect.isawaitable(answer) else answer
        known = {agent.label: agent for agent in agents}
        if label is not None and label not in known:
            raise UnknownNameError(f"agent that {spec} named", str(label), known)
        return None if label is None else known[label]

    return choose


# what an agent does (section 4.1 and appendix B): one prompt, one reply; more where its length is controlled ----------

NOTE_LABELS: Final = (
    *(agent.label for agent in (*PLANNING, *WRITING, *drafting(0))),
    *("Creative Writing Task", "Content Plan"),
)
_NOTE_TRIES: Final = 3
SHORT_NOTE: Final = 160  # tokens of a note by a small model
_LIST: Final = 480  # tokens of its list of events
_RECENT: Final = 90  # words of the story that it is shown


def called(
    agent: Agent, s: Scratchpad, agents: tuple[Agent, ...], brief: Brief, config: Config
) -> Callable[[Run], Awaitable[str]]:
    """a(s): what makes `agent`'s text from the scratchpad."""
    writers = tuple(a for a in agents if a.kind == "writing")
    whole = _whole(brief, config)

    async def make(run: Run) -> str:
        if agent.role == FINALIZER.role and agent != FINALIZER:  # ours: a whole version of the story
            return await _write(agent, s, (agent,), whole, run, config)
        if agent.kind == "writing":
            return await _write(agent, s, writers, whole, run, config)
        if agent == _PLOT and config.ours.plot_by_part and not (run.aids(_PLOT.role) or run.by_person(_PLOT.role)):
            return await _plot_by_part(s, writers, whole, run, config)
        if agent == _PLOT and config.ours.plot_by_part and run.aids(_PLOT.role):
            return await _plot_of_events(s, writers, whole, run, config)
        return await _plan(agent, s, writers, whole, run, config)

    return make


async def _plan(
    agent: Agent, s: Scratchpad, writers: tuple[Agent, ...], whole: WordRange | None, run: Run, config: Config
) -> str:
    """A planning agent's note (appendix B.2); asked for again, a bounded number of times, if it is all chatter."""
    limit = config.ours.plan_tokens or config.paper.max_tokens or run.reply_tokens(agent.role, SHORT_NOTE)
    cleaned = config.ours.clean_replies or run.aids(agent.role)
    fields: dict[str, Any] = {
        "side": agent.duty,
        "questions": agent.questions,
        **_review_fields(agent, s, whole),
        **_planning_fields(s, writers, whole, run, agent.role, config),
    }
    fields |= {"note": note_length(agent, whole), "informed": fields["informed"] or agent in REVIEWS}
    words = usual_note(agent, whole, aids=run.aids(agent.role))
    fault, run = "", run.tries(agent.prompt)
    for attempt in range(_NOTE_TRIES if cleaned else 1):
        here = run.again(attempt, fault)
        sampling = Sampling(max_tokens=limit)
        reply = await here.reply(agent.role, agent.prompt, sampling=sampling, expect=words, **fields)
        if not cleaned and count_words(reply.text):
            return reply.text
        echo = [entry.text for entry in s.entries]
        text = clean_reply(here, agent.role, reply, labels=NOTE_LABELS, echo=echo, kind="notes")
        fault = here.fault(text, agent.prompt, fields)
        if not fault and text:
            return text
    if count_words(reply.text):
        run.note(f"No note of use in {_NOTE_TRIES} tries, each asked in another way: {fault} The last reply stands.")
        return reply.text
    problem = f"The role {agent.role!r} gave no note at {run.at} in {_NOTE_TRIES} tries, each asked in another way."
    raise run.no_use(agent.prompt, f"{problem} {fault}", agent.role, reply.text)


async def _plot_by_part(
    s: Scratchpad, writers: tuple[Agent, ...], whole: WordRange | None, run: Run, config: Config
) -> str:
    """Ours: the plot part by part; corrected once where `plan_check` says so, or a part holds far too much."""
    role, limit = _PLOT.role, config.ours.plan_tokens or config.paper.max_tokens or None
    sampling = Sampling(max_tokens=limit)
    fields = {**_planning_fields(s, writers, whole, run, role, config), "one_writer": writers == (FINALIZER,)}
    words = whole.target // len(WRITING) if whole else _SECTION_WORDS
    expect = {
        "parts": len(WRITING),
        "words": words,
        "told": 3 * _DEMAND,
        "demands": 3,
        "demands[]": _DEMAND,
        "events": max(round(_FULL * most_events(words)), 2),
        "events[]": _EVENT,
        "who": 2 * _CIRCUMSTANCE,
        "when": _CIRCUMSTANCE,
        "where": _CIRCUMSTANCE,
        "ends_with": _CIRCUMSTANCE,
        "sets_up": 3,
        "sets_up[]": _SHOWN,
        "pays_off": 2,
        "pays_off[]": _SHOWN,
    }
    try:
        plot = await run.ask_for(Plot, role, "plot_by_part", sampling=sampling, expect=expect, **fields)
    except ReplyError as error:
        run.note(f"The plot is asked for as free text: {error}")
        return await _plan(_PLOT, s, writers, whole, run, config)
    overfull = [(part.part, len(part.events), most_events(part.words)) for part in plot.parts if part.overfull]
    if not (config.ours.plan_check or overfull):
        return plot.text()
    fields |= {"scratchpad": s.add(_PLOT.label, plot.text(), _PLOT.kind), "compare": config.ours.plan_check}
    fields["overfull"] = overfull
    try:
        checked = await run.ask_for(Checked, role, "plot_check", sampling=sampling, **fields)
    except ReplyError as error:
        run.note(f"The plot stays as it was planned: {error}")
        return plot.text()
    for difference in checked.differences:
        run.note(f"The plot and the brief: {difference}")
    return plot.corrected(checked.parts).text()


async def _plot_of_events(
    s: Scratchpad, writers: tuple[Agent, ...], whole: WordRange | None, run: Run, config: Config
) -> str:
    """Ours, for small models: a list of events, of which each part gets its own; the best of a few draws."""
    fields = {**_planning_fields(s, writers, whole, run, _PLOT.role, config), "side": "", "questions": ()}
    sampling = Sampling(max_tokens=run.reply_tokens(_PLOT.role, _LIST))
    best, fault, tries = read_events(""), "", run.tries(_PLOT.prompt)
    for attempt in range(_NOTE_TRIES):
        here = tries.again(attempt, fault)
        reply = await here.reply(_PLOT.role, _PLOT.prompt, sampling=sampling, expect=_PLOT.words, **fields)
        events = read_events(reply.text)
        best = max(best, events, key=lambda one: one.worth)
        if best.enough or run.unless_made_up(lambda: False, instead=True):
            break
        fault = "It was no list of different events."
    made_up = run.unless_made_up(str, instead=reply.text)
    return best.text() or made_up or await _plan(_PLOT, s, writers, whole, run.scope("note"), config)


_FILLED: Final = 1.65  # times the least that is asked for are in a note, of 1 to 2
_OF_A_CHANGE: Final = 180  # words of a review for each thing that it would change
_DEMAND, _EVENT, _SHOWN, _CIRCUMSTANCE = 30, 28, 14, 15  # words of lines in a capable model's plot
_FULL: Final = 0.85  # of the events that a part has room for
_SHORT_STORY: Final = 1500  # words; to a shorter draft each reviewer names two changes, not three


def note_length(agent: Agent, whole: WordRange | None) -> str:
    """How long a note may be, as its prompt says it, in proportion to the story: 100 to 200 words for one of 900.

    The characters take half as much again; for the plot, the parts say it.
    """
    if whole is None or agent == _PLOT or agent not in PLANNING:
        return ""
    words = _least_of_note(agent, whole)
    return f"{round(words, -1):.0f} to {round(2 * words, -1):.0f} words"


def _least_of_note(agent: Agent, whole: WordRange) -> float:
    return min(max(whole.target, _LEAST_PLANNED), _MOST_PLANNED) / 9 * (1.5 if agent.name == "characters" else 1)


def usual_note(agent: Agent, whole: WordRange | None, *, aids: bool) -> int:
    """About how many words a note has, for estimates: more than the middle of what its prompt asks for.

    What a reader says of a draft goes with the number of things that they are asked for, with those that all agree on
    at the end.
    """
    if agent in REVIEWS:
        things = 2 if whole is None or whole.target < _SHORT_STORY else 3
        return _OF_A_CHANGE * (things + (agent == REVIEWS[-1]))
    asked = whole is not None and agent in PLANNING and agent != _PLOT and not aids
    return round(_FILLED * _least_of_note(agent, whole)) if asked and whole is not None else agent.words


def _review_fields(agent: Agent, s: Scratchpad, whole: WordRange | None) -> dict[str, Any]:
    """What a reader of the draft needs to know of the others, and of the draft's length."""
    noted = [one.label for one in REVIEWS if s.has(one.label)]
    return {
        "first": not noted,
        "ranks": agent in REVIEWS and len(noted) + 1 == len(REVIEWS),
        "brief_story": whole is not None and whole.target < _SHORT_STORY,
        "has": count_words(_text_of(s, DRAFT.label)),
    }


def _planning_fields(
    s: Scratchpad, writers: tuple[Agent, ...], whole: WordRange | None, run: Run, role: str, config: Config
) -> dict[str, Any]:
    """What fills the prompts of planning agents: the scratchpad; with `need_to_know` the length and the parts."""
    parts = WRITING if writers == (FINALIZER,) else writers
    weights = weights_of(config)
    weight = sum(weights[part.label] for part in parts)
    shares = [WordRange.band(round(whole.target * weights[p.label] / weight)).target for p in parts] if whole else []
    return {
        "scratchpad": s,
        "instruction_first": config.paper.instruction_first,
        "informed": _informed(run, role, config),
        "whole": whole,
        "note": "",
        "parts": [
            {"label": part.label, "words": share, "events": most_events(share), "guide": part.duty}
            for part, share in zip(parts, shares or [0] * len(parts), strict=True)
        ],
    }


def weights_of(config: Config) -> dict[str, float]:
    """The share of the story's words that each writing agent gets, by label.

    Raises:
        UsageError: the setting `shares` is not one number above 0 for each part.
    """
    shares = config.ours.shares
    if shares and (len(shares) != len(WRITING) or min(shares) <= 0):
        raise UsageError(f"shares is one number above 0 for each of the {len(WRITING)} parts. Write 10,30,30,20,10.")
    given = {a.label: share / sum(shares) for a, share in zip(WRITING, shares, strict=False)}
    return {a.label: a.weight for a in (*WRITING, FINALIZER)} | given


def _whole(brief: Brief, config: Config) -> WordRange | None:
    """The words that the whole story should have, where its length is controlled and something is asked for."""
    return asked_range(brief, config.ours.words) if config.ours.length_control else None


def _informed(run: Run, role: str, config: Config) -> bool:
    """Whether a role's prompts say what it needs to know; small models are given the paper's, and their reminders."""
    return config.ours.need_to_know and not run.too_small_for("need_to_know", role)


async def _write(
    agent: Agent, s: Scratchpad, writers: tuple[Agent, ...], whole: WordRange | None, run: Run, config: Config
) -> str:
    """A writing agent's section (appendix B.3), or the finalizer's story; `writers` are all who write the story."""
    first, limit = config.paper.instruction_first, config.paper.max_tokens or None
    left = [a for a in writers if a != agent and not s.has(a.label)]
    informed = agent.prompt == REWRITER.prompt or _informed(run, agent.role, config)
    aids = run.aids(agent.role)
    outline = read_outline(_text_of(s, _PLOT.label)) if (informed or aids) and config.ours.plot_by_part else None
    fields: dict[str, Any] = {
        "scratchpad": s,
        "section": agent.label,
        "guide": agent.duty if informed else "" if first else agent.guide,
        "last": not left,
        "instruction_first": first,
        "informed": informed,
        "ranked": all(s.has(one.label) for one in REVIEWS),
        "recent": " ".join(" ".join(entry.text for entry in s.of_kind("writing")).split()[-_RECENT:]),
        "missed": [],
        "known": _known(s),
        "section_events": False,
        "done": [],
        **_version(s, config),
        **_place(agent, s, writers, left, outline),
    }
    if not (config.ours.clean_replies or run.aids(agent.role)):
        sampling = Sampling(max_tokens=limit)
        return await run.ask(
            agent.role, agent.prompt, sampling=sampling, expect=agent.words, words=None, lead="", **fields
        )
    told = [entry.text for entry in s.of_kind("writing")]
    prose = Prose(
        not left,
        _words(agent, s, left, whole, outline, config, cut=aids),
        NOTE_LABELS,
        agent.words,
        told[-1] if told else "",
        quoted=("own",) if aids else (),
        events=events_of(fields["own"]) if aids else (),
        earlier=told if aids else (),
    )
    fields["section_events"] = bool(prose.events)
    fields["done"] = (
        [event for label in _labels(s) for event in events_of(outline.parts.get(label, ""))] if outline else []
    )
    before = [entry.text for entry in s.entries if not (prose.events and entry.label == _PLOT.label)]
    return await write_prose(run, agent.role, agent.prompt, prose, limit, before=before, fields=fields)


def _labels(s: Scratchpad) -> list[str]:
    """The labels of the parts that are written."""
    return [entry.label for entry in s.of_kind("writing")]


def _known(s: Scratchpad) -> str:
    """What a small model is shown of conflict, people and place; of the task it would tell all in each part."""
    notes = [text for agent in PLANNING if agent != _PLOT and (text := _text_of(s, agent.label))]
    return "\n\n".join(notes) or s.entries[0].text


def _place(
    agent: Agent, s: Scratchpad, writers: tuple[Agent, ...], left: list[Agent], outline: Outline | None
) -> dict[str, Any]:
    """Ours: where a part stands in the telling, its own plot points, and those to come; the scratchpad without both."""
    told = [entry.label for entry in s.of_kind("writing")]
    fields: dict[str, Any] = {"number": len(told) + 1, "several": len(writers) * (len(writers) > 1), "told": told}
    if outline is None or agent.label not in outline.parts:
        return {**fields, "own": "", "later": []}
    later = [(a.label, later_of(outline.parts[a.label])) for a in left if a.label in outline.parts]
    shared = _with_text(s, _PLOT.label, outline.head)
    return {**fields, "own": outline.parts[agent.label], "later": later, "scratchpad": shared}


def _version(s: Scratchpad, config: Config) -> dict[str, Any]:
    """Ours: the newest version of the whole story, its words, and which revision of how many it gets."""
    told = [entry for entry in s.entries if entry.label == DRAFT.label or entry.label.startswith("Version ")]
    newest = told[-1].text if told else ""
    return {"draft": newest, "has": count_words(newest), "n": len(told) - 1, "rounds": config.ours.revisions}


def _text_of(s: Scratchpad, label: str) -> str:
    return next((entry.text for entry in s.entries if entry.label == label), "")


def _with_text(s: Scratchpad, label: str, text: str) -> Scratchpad:
    """The scratchpad with another text under a label; without the entry where the text is empty."""
    entries = (replace(entry, text=text) if entry.label == label else entry for entry in s.entries)
    return Scratchpad(tuple(entry for entry in entries if entry.text))


def _words(
    agent: Agent,
    s: Scratchpad,
    left: list[Agent],
    whole: WordRange | None,
    outline: Outline | None,
    config: Config,
    *,
    cut: bool,
) -> WordRange | None:
    """The words this section should have: its share of those asked for, after the plot's numbers where it has them."""
    if whole is None:
        return None
    written = s.of_kind("writing")
    weights = weights_of(config)
    labels = [*(entry.label for entry in written), *(a.label for a in (agent, *left))]
    if outline is not None and all(label in outline.words for label in labels):
        weights = {label: float(words) for label, words in outline.words.items()}
    shares = [weights.get(label, agent.weight) for label in labels]
    done = len(written)
    words = [count_words(entry.text) for entry in written]
    return whole if len(shares) == 1 else whole.of_sections(shares[done:], words, before=shares[:done], cut=cut)


# an author's plan (ours) ----------------------------------------------------------------------------------------------


def with_plan(
    s: Scratchpad, plan: Plan, agents: tuple[Agent, ...], run: Run, config: Config
) -> tuple[Scratchpad, tuple[Agent, ...]]:
    """The scratchpad with a plan's conflict, characters, setting and scenes as the planning agents' notes.

    They are added whatever the variant: with a plan, the writing agents of the variant `write` read them too. A note
    that the plan has nothing for is left to its agent, where the variant has one. With `plot_by_part` its scenes stand
    below the parts of the arc, and a part without scenes has no writer.
    """
    by_part = plot_of(plan) if config.ours.plot_by_part and not run.aids(_PLOT.role) else None
    notes = {
        "conflict": plan.conflict,
        "characters": "\n".join(f"- {character.introduction()}" for character in plan.characters),
        "setting": plan.setting,
        "plot": by_part or "\n".join(_plot_point(scene) for scene in plan.scenes),
    }
    for agent in PLANNING:
        if notes[agent.name]:
            s = s.add(agent.label, notes[agent.name], agent.kind)
    return s, planned(agents, _PLOT, notes["plot"], run, config)


def _plot_point(scene: ScenePlan) -> str:
    """A scene as key plot points, under the part of the arc it belongs to."""
    events = " ".join(event.text for event in scene.outline)
    return f"- {scene.element.capitalize()}: {scene.name}{f' ({scene.place})' if scene.place else ''}. {events}"
