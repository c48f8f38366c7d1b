"""Algorithm 1 of Agents' Room, and the settings of its variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from fabula.craft.planning import given_plan
from fabula.story import Story
from fabula.story.scratchpad import Scratchpad
from fabula.systems.agents_room.agents import agents_of
from fabula.systems.agents_room.orchestrators import orchestrator_of
from fabula.systems.agents_room.performing import perform
from fabula.systems.agents_room.planned import with_plan

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief

Variant: TypeAlias = Literal["plan", "write", "plan+write"]


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a room; the defaults are the paper's, `improved` names every difference.

    Attributes:
        variant: which agents take part (section 5, "Agents' Room Variants").
        orchestrator: "deterministic" (section 4.1), "llm", or a Python function as `file.py:name`.
        max_steps: T of Algorithm 1; the paper gives no value, ten agents need ten.
        max_tokens: target length of one reply (section 5).
        instruction_first: an agent's instruction stands before the scratchpad (appendix B); else after it, which lets
            prefix caches hit.
        tidy: chatter, echoed labels, loops and half sentences are taken out of replies.
        length_control: the brief's word range is met, section by section.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        plan_tokens: target length of a planning agent's reply; 0 means `max_tokens`.
    """

    variant: Variant = "plan+write"
    orchestrator: str = "deterministic"
    max_steps: int = 20
    max_tokens: int = 4096
    instruction_first: bool = True
    tidy: bool = False
    length_control: bool = False
    words: str = ""
    plan_tokens: int = 0

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: length control, tidy replies, prompts that caches can reuse, notes of bounded length."""
        return cls(instruction_first=False, tidy=True, length_control=True, plan_tokens=320)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Algorithm 1: while the orchestrator assigns a next agent, call it and add its output to the scratchpad."""
    agents = agents_of(config.variant)
    orchestrator = orchestrator_of(config.orchestrator, run)
    s, story = Scratchpad.of(brief), Story.of(brief)
    if plan := await given_plan(run):
        s = with_plan(s, plan)
    for _ in range(config.max_steps):
        agent = await orchestrator(s, agents)
        if agent is None:
            break
        y = await run.keep(agent.name, perform(agent, s, agents, brief, config), folder=agent.folder)
        s = s.add(agent.label, y, agent.kind)
        if agent.kind == "writing":
            story = story.add(agent.label, y)
    return story
