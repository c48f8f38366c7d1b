"""The settings of Dramatron: the values of the paper and its release, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Mode: TypeAlias = Literal["screenplay", "story"]
Examples: TypeAlias = Literal["classical", "three-step", "none"]
Summary: TypeAlias = Literal["logline", "logline+previous", "logline+all"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper and its released code; in a story those of Character Simulation.

    The preset improved uses the mode only.

    Attributes:
        mode: "screenplay", or "story": the baseline of Character Simulation (its section 4.2 and appendix B.3).
        examples: The set at the beginning of a screenplay's prompts: "classical" (nine steps), "three-step", or "none".
        title_tokens: Sample length of a title (release).
        place_tokens: Sample length of a place (release).
        level_tokens: Sample length of characters, scenes and dialogues (release).
        more_tokens: Sample length if a person has characters or scenes continued (release).
        max_paragraph: Length at which sampling of an answer stops (release, "max paragraph length").
        summary: What a story's scene gets of the whole; appendix B.3 leaves it open.
        max_tokens: Bounds a scene of a story; the number is ours.
    """

    mode: Mode = "screenplay"
    examples: Examples = "classical"
    title_tokens: int = 64
    place_tokens: int = 128
    level_tokens: int = 511
    more_tokens: int = 256
    max_paragraph: int = 1024
    summary: Summary = "logline+previous"
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds and an author may choose.

    Attributes:
        words: Replaces the brief's word range ("1300-1350", "~950"); empty keeps it.
        scenes: Scenes of a story without a plan; 0 lets the planner decide.
        characters: Its characters in addition to those of the brief; 0 lets the planner decide.
    """

    words: str = ""
    scenes: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; `faithful` is the paper and its release, `improved` a program of our own on the same hierarchy.

    Attributes:
        paper: Values of the paper and its release.
        ours: What improved mode adds; none in the preset faithful.
    """

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: nothing that was said is lost in reading, names are matched as names, and length is kept."""
        return cls(Paper(), Ours())
