"""Who speaks next (section 3, "Orchestrator"): a function from the scratchpad and the agents to an agent or none."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from fabula.base.errors import UnknownNameError
from fabula.engine.roles import load_function
from fabula.story.scratchpad import Scratchpad
from fabula.systems.agents_room.agents import Agent

if TYPE_CHECKING:
    from fabula.engine.run import Run

Orchestrator: TypeAlias = Callable[[Scratchpad, tuple[Agent, ...]], Awaitable[Agent | None]]
FINISH = "Finish"


def orchestrator_of(spec: str, run: Run) -> Orchestrator:
    """The orchestrator that a setting names: "deterministic", "llm", or a Python function `file.py:name`.

    The user's function takes the scratchpad and the agents and gives the label of the next agent, or `None` to stop.

    Raises:
        UnknownNameError: neither of the two names, nor a function.
        ConfigError: the function's file does not exist.
    """
    if spec == "deterministic":
        return in_order
    if spec == "llm":
        return _asked(run)
    if ":" not in spec:
        raise UnknownNameError("orchestrator", spec, ("deterministic", "llm", "file.py:function"))
    return _from_function(spec)


async def in_order(scratchpad: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
    """The first agent that has not spoken yet (section 4.1); `None` after the last."""
    return next((agent for agent in agents if not scratchpad.has(agent.label)), None)


def _asked(run: Run) -> Orchestrator:
    """A model chooses among the agents that have not spoken, or finishes once a part of the story stands."""

    async def choose(scratchpad: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        left = {agent.label: agent for agent in agents if not scratchpad.has(agent.label)}
        options = [*left, FINISH] if scratchpad.of_kind("writing") else list(left)
        if not left or len(options) == 1:
            return next(iter(left.values()), None)
        where = run.scope("orchestrator", len(scratchpad.entries))
        label = await where.choose(
            options, "orchestrator", "orchestrator", scratchpad=scratchpad, options=options, finish=FINISH
        )
        return left.get(label)

    return choose


def _from_function(spec: str) -> Orchestrator:
    function = load_function(spec)

    async def choose(scratchpad: Scratchpad, agents: tuple[Agent, ...]) -> Agent | None:
        answer = function(scratchpad, agents)
        label = await answer if inspect.isawaitable(answer) else answer
        known = {agent.label: agent for agent in agents}
        if label is not None and label not in known:
            raise UnknownNameError(f"agent that {spec} named", str(label), known)
        return None if label is None else known[label]

    return choose
