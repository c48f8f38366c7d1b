"""The settings of example-name: those of its paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets; `--preset faithful` is these values.

    Attributes:
        temperature: of the judge. Name the section of the paper that says so.
    """

    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds; every difference from the paper is a setting that can be turned off.

    Attributes:
        guard: the judge is told that what a story says to it is a part of the story.
    """

    guard: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """All settings. The defaults are the paper; `fabula evaluate` and `--set` know them by these names."""

    paper: Paper = Paper()
    ours: Ours = Ours()

    @classmethod
    def improved(cls) -> Config:
        """What `fabula evaluate` takes where nothing else is said."""
        return cls(ours=Ours(guard=True))
