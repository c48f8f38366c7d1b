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

    The preset improved has use for the mode alone.

    Attributes:
        mode: "screenplay", or "story": the baseline of Character Simulation (its section 4.2 and appendix B.3).
        examples: The set that prompts of a screenplay begin with: "classical" (nine steps), "three-step", or "none".
        title_tokens: Sample length of a title (release).
        place_tokens: Sample length of a place (release).
        level_tokens: Sample length of characters, scenes and dialogues (release).
        more_tokens: Sample length where a person has characters or scenes continued (release).
        max_paragraph: Length from which an answer is not sampled on (release, "max paragraph length").
        summary: What a story's scene is given of the whole; appendix B.3 leaves it open.
        max_tokens: Bounds a scene of a story; the paper names no value.
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
        words: A word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        scenes: Of a story that has no plan yet; 0 lets the planner decide.
        characters: Of such a story, beside those whom the brief names; 0 lets the planner decide.
    """

    words: str = ""
    scenes: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; `faithful` is the paper and its release, `improved` a program of our own on the same hierarchy.

    Attributes:
        paper: Values of the paper and its release.
        ours: What improved mode adds; none where the preset is faithful.
    """

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: nothing that was said is lost in reading, names are matched as names, and length is kept."""
        return cls(Paper(), Ours())
