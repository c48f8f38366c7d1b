"""The settings of example-name: those of its paper, and what you add."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.plugin import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets; `--preset faithful` is these values.

    Attributes:
        parts: of the story, each of which is one call. Name the section of the paper that says so.
        temperature: of all calls.
    """

    parts: int = 3
    temperature: float = 0.8


@dataclass(frozen=True, slots=True)
class Ours:
    """What `improved.py` adds, where one may want to set it; `[ours]` in paper.toml says what was measured of each."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """All settings. The defaults are the paper; `fabula systems` and `--set` know them by these names."""

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """What `fabula write` takes where nothing else is said."""
        return cls(ours=Ours())
