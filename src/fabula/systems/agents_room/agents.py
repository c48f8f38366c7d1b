"""The agents of section 4.1: four plan, five write, and a finalizer writes alone after planning (section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fabula.base.errors import UnknownNameError

if TYPE_CHECKING:
    from fabula.story.scratchpad import Scratchpad


@dataclass(frozen=True, slots=True)
class Agent:
    """A labelled function from text to text (section 3, "Agents").

    Attributes:
        role: who plays it is cast by this name.
        label: its unique identifier in the scratchpad (appendix B.1).
        kind: planning agents write to the scratchpad only, writing agents also to the story.
        name: of its artefact, and so of its file.
        prompt: its prompt file.
        weight: its share of the story's words.
        guide: what its section is for, after appendix C; told in improved mode.
    """

    role: str
    label: str
    kind: Literal["planning", "writing"]
    name: str
    prompt: str
    weight: float = 0.0
    guide: str = ""

    @property
    def folder(self) -> str:
        """The project folder of its artefact."""
        return "plan" if self.kind == "planning" else "story"


PLANNING = (
    Agent("conflict", "Central Conflict", "planning", "conflict", "conflict"),
    Agent("character", "Character Descriptions", "planning", "characters", "character"),
    Agent("setting", "Setting", "planning", "setting", "setting"),
    Agent("plot", "Key Plot Points", "planning", "plot", "plot"),
)
WRITING = (
    Agent(
        "exposition",
        "Exposition",
        "writing",
        "exposition",
        "section",
        0.2,
        "which lets the reader step into the world of the story: its people, its place, and what troubles them",
    ),
    Agent(
        "rising_action",
        "Rising Action",
        "writing",
        "rising-action",
        "section",
        0.25,
        "in which choices and events come between the characters and their goals, and the reader begins to care",
    ),
    Agent(
        "climax",
        "Climax",
        "writing",
        "climax",
        "section",
        0.2,
        "the turning point to which everything so far has led",
    ),
    Agent(
        "falling_action",
        "Falling Action",
        "writing",
        "falling-action",
        "section",
        0.175,
        "which follows the turning point, clears up its events and lets the tension ease",
    ),
    Agent(
        "resolution",
        "Resolution",
        "writing",
        "resolution",
        "section",
        0.175,
        "the ending, which answers what is still open and shows the next step in the characters' lives",
    ),
)
FINALIZER = Agent("finalizer", "Story", "writing", "story", "finalizer", 1.0)


def agents_of(variant: str) -> tuple[Agent, ...]:
    """The agents of a variant, in the deterministic orchestrator's order (sections 4.1 and 5).

    Raises:
        UnknownNameError: there is no such variant.
    """
    variants = {"plan": (*PLANNING, FINALIZER), "write": WRITING, "plan+write": (*PLANNING, *WRITING)}
    if variant not in variants:
        raise UnknownNameError("variant of agents-room", variant, variants)
    return variants[variant]


def is_last(agent: Agent, agents: tuple[Agent, ...], scratchpad: Scratchpad) -> bool:
    """Whether no other writing agent is left to be called: the last section may end the story (appendix B.3)."""
    left = [a for a in agents if a.kind == "writing" and not scratchpad.has(a.label)]
    return left == [agent]
