"""The settings of example-name: those of its paper, and your additions."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.plugin import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """The paper's settings; `--preset faithful` uses these values.

    Attributes:
        parts: number of parts of the story; each part is one call. Name the section of the paper that gives it.
        temperature: temperature of all calls.
    """

    parts: int = 3
    temperature: float = 0.8


@dataclass(frozen=True, slots=True)
class Ours:
    """The settings of the additions in `improved.py`; `[ours]` in paper.toml gives what was measured of each."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """All settings. The defaults follow the paper. `fabula systems` and `--set` use these names."""

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """The settings that `fabula write` uses by default."""
        return cls(ours=Ours())
