"""Agents' Room: Algorithm 1 (section 3), and the agents and orchestrator that write fiction (section 4.1)."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.errors import UnknownNameError
from fabula.craft.planning import given_plan
from fabula.engine.roles import load_function
from fabula.models.base import Sampling
from fabula.story import Brief, Story, count_words
from fabula.story.scratchpad import Scratchpad
from fabula.systems.agents_room.given import with_given_notes

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.systems.agents_room.config import Config


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The story y of a writing task x (Algorithm 1); each agent's text is an artefact.

    Raises:
        UnknownNameError: the variant, the orchestrator, or the agent that an orchestrator names is unknown.
        ReplyError: an agent gives no text.
    """
    agents = agents_of(config.paper.variant)  # A
    o = orchestrator_of(config.paper.orchestrator, run)
    s, y = Scratchpad.of(brief), Story.of(brief)  # line 1: s <- x
    s = await with_given_notes(await given_plan(run), s, run)  # what a person has planned stands in for these agents
    calls = Counter[Agent]()
    for _ in range(config.paper.max_steps):  # line 2: while o(s, A) == True and t < T
        a = await o(s, agents)  # line 3: a_t = o(s, A)
        if a is None:
            break
        calls[a] += 1
        name, label = a.named(calls[a])
        y_t = await run.keep(name, asked(a, s, agents, config), folder=a.folder)  # line 4: y_t = a_t(s)
        s = s.add(a.label, y_t, a.kind)  # line 5: s <- (s; (l_t, y_t))
        if a.kind == "writing":  # line 6: if type(a_t) == writing
            y = y.add(label, y_t)  # line 7: y <- (y; y_t)
    return y  # line 10


# agents (section 3, "Agents", and section 4.1) ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agent:
    """A labelled function from text to text.

    Attributes:
        role: who plays it is cast by this name.
        label: l, its unique identifier in the scratchpad (appendix B.1).
        kind: planning agents write to the scratchpad only, writing agents also to the story.
        name: of its artefact, and so of its file.
        prompt: its prompt template (appendix B.2 and B.3).
        words: usual length of its text, for estimates.
    """

    role: str
    label: str
    kind: Literal["planning", "writing"]
    name: str
    prompt: str
    words: int

    @property
    def folder(self) -> str:
        """The project folder of its artefact."""
        return "story" if self.kind == "writing" else "plan"

    def named(self, call: int) -> tuple[str, str]:
        """What its text is called as an artefact and as a part of the story, for the first call, the second, ..."""
        return (self.name, self.label) if call == 1 else (f"{self.name}-{call}", f"{self.label} {call}")


_NOTE_WORDS: Final = 200  # more than five sentences, or bullets for a few characters
_SECTION_WORDS: Final = 607  # Table 2: 3,034 words a story, of five sections

PLANNING: Final = (
    Agent("conflict", "Central Conflict", "planning", "conflict", "conflict", _NOTE_WORDS),
    Agent("character", "Character Descriptions", "planning", "characters", "character", _NOTE_WORDS),
    Agent("setting", "Setting", "planning", "setting", "setting", _NOTE_WORDS),
    Agent("plot", "Key Plot Points", "planning", "plot", "plot", _NOTE_WORDS),
)
WRITING: Final = (
    Agent("exposition", "Exposition", "writing", "exposition", "section", _SECTION_WORDS),
    Agent("rising_action", "Rising Action", "writing", "rising-action", "section", _SECTION_WORDS),
    Agent("climax", "Climax", "writing", "climax", "section", _SECTION_WORDS),
    Agent("falling_action", "Falling Action", "writing", "falling-action", "section", _SECTION_WORDS),
    Agent("resolution", "Resolution", "writing", "resolution", "section", _SECTION_WORDS),
)
# Section 5: "planning alone does not result in a final story", so one agent writes it; Table 2: 926 words.
FINALIZER: Final = Agent("finalizer", "Story", "writing", "story", "finalizer", 926)


def agents_of(variant: str) -> tuple[Agent, ...]:
    """The agents of a variant (section 5, "Agents' Room Variants"), in the order of the deterministic orchestrator.

    Raises:
        UnknownNameError: there is no such variant.
    """
    variants = {"plan": (*PLANNING, FINALIZER), "write": WRITING, "plan+write": (*PLANNING, *WRITING)}
    if variant not in variants:
        raise UnknownNameError("variant of agents-room", variant, variants)
    return variants[variant]


def asked(a: Agent, s: Scratchpad, agents: tuple[Agent, ...], config: Config) -> Callable[[Run], Awaitable[str]]:
    """Y = a(s): the agent's prompt template, which formats the scratchpad, and one reply (appendix B.2 and B.3)."""

    async def make(run: Run) -> str:
        run, sampling = run.tries(a.prompt), Sampling(max_tokens=config.paper.max_tokens or None)
        section = {"section": a.label, "last": ends_the_story(a, agents)} if a in WRITING else {}
        y = await run.ask(a.role, a.prompt, sampling=sampling, expect=a.words, scratchpad=s, **section)
        if not count_words(y):
            raise run.exhausted(a.prompt, f"The role {a.role!r} gave no text at {run.at}.", a.role, y)
        return y

    return make


def ends_the_story(a: Agent, agents: tuple[Agent, ...]) -> bool:
    """Whether an agent's section is "meant to be the last" (appendix B.3), whoever is called before or after it."""
    return a == [one for one in agents if one.kind == "writing"][-1]


# orchestrators (section 3, "Orchestrator"): o(s, A), the next agent, or none ------------------------------------------

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
        return _asked_for(run)
    if ":" not in spec:
        raise UnknownNameError("orchestrator", spec, ("deterministic", "llm", "file.py:function"))
    return _from_function(spec)


async def _in_order(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
    """The first agent that has not been called yet (section 4.1); `None` after the last."""
    return next((a for a in agents if not s.has(a.label)), None)


def _asked_for(run: Run) -> Orchestrator:
    """A model chooses among the agents that are left, or finishes once a part of the story is written."""

    async def o(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        left = {a.label: a for a in agents if not s.has(a.label)}
        options = [*left, _FINISH] if s.of_kind("writing") else list(left)
        if not left or len(options) == 1:
            return next(iter(left.values()), None)
        own, prompt = run.scope("orchestrator", len(s.entries)), "orchestrator"
        label = await own.choose(options, prompt, prompt, scratchpad=s, options=options, finish=_FINISH)
        return left.get(label)

    return o


def _from_function(spec: str) -> Orchestrator:
    function = load_function(spec)

    async def o(s: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        answer = function(s, agents)
        label = await answer if inspect.isawaitable(answer) else answer
        known = {a.label: a for a in agents}
        if label is not None and label not in known:
            raise UnknownNameError(f"agent that {spec} named", str(label), known)
        return None if label is None else known[label]

    return o
