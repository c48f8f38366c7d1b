"""Settings of Character Simulation: the paper's values, and what improved mode adds to them."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets
from fabula.models.base import Sampling


@dataclass(frozen=True, slots=True)
class Paper:
    """The paper's own values.

    Attributes:
        max_turns: most turns of one scene (section 5.2: 10 iterations).
        recent: turns that a character sees when it responds (appendix B.1.3: up to 10).
        temperature: of all replies but the plan's (section 4.2.2); none leaves it to the model.
        frequency_penalty: of all replies but the plan's (section 4.2.2).
    """

    max_turns: int | None = 10
    recent: int = 10
    temperature: float | None = 0.9
    frequency_penalty: float | None = 0.2

    @property
    def sampling(self) -> Sampling:
        """How all replies are drawn."""
        return Sampling(temperature=self.temperature, frequency_penalty=self.frequency_penalty)


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds and an author may set.

    Attributes:
        words: replaces the brief's word range ("1300-1350", "~950"); empty keeps it. The scenes share it by importance.
        scenes: scenes to plan if the author gives no plan; 0 leaves it to the planner.
        characters: characters to plan in addition to those of the brief; 0 leaves it to the planner.
    """

    words: str = ""
    scenes: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; with `ours` the program in `improved.py` runs."""

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: the length that was asked for, nothing that a character has seen is lost, and fewer calls a turn."""
        return cls(Paper(max_turns=None, temperature=None, frequency_penalty=None), Ours())
