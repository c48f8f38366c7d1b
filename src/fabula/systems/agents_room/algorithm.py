"""Agents' Room: Algorithm 1, its orchestrators, its agents, and what an agent does."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UnknownNameError
from fabula.craft.length import asked_range
from fabula.craft.planning import given_plan
from fabula.craft.prose import Prose, clean_reply, write_prose
from fabula.engine.roles import load_function
from fabula.models.base import Sampling
from fabula.story import Story, count_words
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Plan, ScenePlan
    from fabula.systems.agents_room.config import Config


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The story y of a writing task x (Algorithm 1), and the scratchpad's texts as artefacts.

    Raises:
        UnknownNameError: the variant, the orchestrator, or the agent that an orchestrator names is unknown.
        ReplyError: a role gives nothing of use.
    """
    agents = agents_of(config.paper.variant)  # A
    o = orchestrator_of(config.paper.orchestrator, run)
    s, y = Scratchpad.of(brief), Story.of(brief)  # line 1: s <- x
    if plan := await given_plan(run):  # ours: an author's plan stands in for the planning agents
        s = with_plan(s, plan)
    for _ in range(config.paper.max_steps):  # line 2: while o(s, A) and t < T
        a = await o(s, agents)  # line 3: a_t = o(s, A)
        if a is None:
            break
        y_t = await run.keep(a.name, called(a, s, agents, brief, config), folder=a.folder)  # line 4: y_t = a_t(s)
        s = s.add(a.label, y_t, a.kind)  # line 5: s <- (s; (l_t, y_t))
        if a.kind == "writing":  # line 6
            y = y.add(a.label, y_t)  # line 7: y <- (y; y_t)
    return y


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
    """

    role: str
    label: str
    kind: Literal["planning", "writing"]
    name: str
    prompt: str
    words: int
    weight: float = 0.0
    guide: str = ""

    @property
    def folder(self) -> str:
        """The project folder of its artefact."""
        return "plan" if self.kind == "planning" else "story"


_NOTE_WORDS: Final = 200  # more than five sentences, or bullets for a few characters
_SECTION_WORDS: Final = 607  # Table 2: 3,034 words a story with five writing agents

PLANNING: Final = (
    Agent("conflict", "Central Conflict", "planning", "conflict", "conflict", _NOTE_WORDS),
    Agent("character", "Character Descriptions", "planning", "characters", "character", _NOTE_WORDS),
    Agent("setting", "Setting", "planning", "setting", "setting", _NOTE_WORDS),
    Agent("plot", "Key Plot Points", "planning", "plot", "plot", _NOTE_WORDS),
)
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
    ),
)
# Section 5: planning alone makes no story, so one agent writes it; Table 2: 926 words.
FINALIZER: Final = Agent("finalizer", "Story", "writing", "story", "finalizer", 926, 1.0)


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

_LABELS: Final = (*(agent.label for agent in (*PLANNING, *WRITING)), "Creative Writing Task", "Story", "Content Plan")
_NOTE_TRIES: Final = 3
_SHORT_NOTE: Final = 320  # tokens of a note by a small model


def called(
    agent: Agent, s: Scratchpad, agents: tuple[Agent, ...], brief: Brief, config: Config
) -> Callable[[Run], Awaitable[str]]:
    """a(s): what makes `agent`'s text from the scratchpad."""

    async def make(run: Run) -> str:
        if agent.kind == "planning":
            return await _plan(agent, s, run, config)
        left = [a for a in agents if a.kind == "writing" and not s.has(a.label) and a != agent]
        return await _write(agent, s, left, brief, run, config)

    return make


async def _plan(agent: Agent, s: Scratchpad, run: Run, config: Config) -> str:
    """A planning agent's note (appendix B.2); asked for again, a bounded number of times, if it is all chatter."""
    limit = config.ours.plan_tokens or config.paper.max_tokens or run.reply_tokens(agent.role, _SHORT_NOTE)
    tidy = config.ours.tidy or run.aids(agent.role)
    fields: dict[str, Any] = {"scratchpad": s, "instruction_first": config.paper.instruction_first}
    fault = ""
    for attempt in range(_NOTE_TRIES if tidy else 1):
        here = run.again(attempt, fault)
        sampling = Sampling(max_tokens=limit)
        reply = await here.reply(agent.role, agent.prompt, sampling=sampling, expect=agent.words, **fields)
        if not tidy:
            return reply.text
        echo = [entry.text for entry in s.entries]
        text = clean_reply(here, agent.role, reply, labels=_LABELS, echo=echo, kind="notes")
        fault = here.fault(text, agent.prompt, fields)
        if not fault:
            return text
    if count_words(reply.text):
        run.note(f"No note of use in {_NOTE_TRIES} tries, each asked in another way: {fault} The last reply stands.")
        return reply.text
    raise ReplyError(
        f"The role {agent.role!r} gave no note at {run.at} in {_NOTE_TRIES} tries, each asked in another way. {fault} "
        "Give this role a stronger model, or run again with another --seed.",
        reply=reply.text,
    )


async def _write(agent: Agent, s: Scratchpad, left: list[Agent], brief: Brief, run: Run, config: Config) -> str:
    """A writing agent's section (appendix B.3), or the finalizer's story; `left` are the writers still to come."""
    first, limit = config.paper.instruction_first, config.paper.max_tokens or None
    last = not left
    fields: dict[str, Any] = {
        "scratchpad": s,
        "section": agent.label,
        "guide": "" if first else agent.guide,
        "last": last,
        "instruction_first": first,
    }
    if not (config.ours.tidy or run.aids(agent.role)):
        sampling = Sampling(max_tokens=limit)
        return await run.ask(
            agent.role, agent.prompt, sampling=sampling, expect=agent.words, words=None, lead="", **fields
        )
    previous = next((entry.text for entry in reversed(s.of_kind("writing"))), "")
    prose = Prose(last, _words(agent, s, left, brief, config), _LABELS, agent.words, previous)
    before = [entry.text for entry in s.entries]
    return await write_prose(run, agent.role, agent.prompt, prose, limit, before=before, fields=fields)


def _words(agent: Agent, s: Scratchpad, left: list[Agent], brief: Brief, config: Config) -> WordRange | None:
    """The words this section should have: its share of what is left of those asked for."""
    whole = asked_range(brief, config.ours.words) if config.ours.length_control else None
    if whole is None:
        return None
    written = [count_words(entry.text) for entry in s.of_kind("writing")]
    return whole.of_sections([agent.weight, *(a.weight for a in left)], written)


# an author's plan (ours) ----------------------------------------------------------------------------------------------


def with_plan(s: Scratchpad, plan: Plan) -> Scratchpad:
    """The scratchpad with a plan's conflict, characters, setting and scenes as the planning agents' notes.

    They are added whatever the variant: with a plan, the writing agents of the variant `write` read them too. A note
    that the plan has nothing for is left to its agent, where the variant has one.
    """
    notes = {
        "conflict": plan.conflict,
        "characters": "\n".join(f"- {character.introduction()}" for character in plan.characters),
        "setting": plan.setting,
        "plot": "\n".join(_plot_point(scene) for scene in plan.scenes),
    }
    for agent in PLANNING:
        if notes[agent.name]:
            s = s.add(agent.label, notes[agent.name], agent.kind)
    return s


def _plot_point(scene: ScenePlan) -> str:
    """A scene as key plot points, under the part of the arc it belongs to."""
    events = " ".join(event.text for event in scene.outline)
    return f"- {scene.element.capitalize()}: {scene.name}{f' ({scene.place})' if scene.place else ''}. {events}"
