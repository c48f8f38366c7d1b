"""The settings of example-name: those of its paper."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.plugin import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets; `--preset faithful` is these values.

    Attributes:
        temperature: of the judge. Name the section of the paper that says so.
    """

    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """All settings. The defaults are the paper; `fabula evaluate` and `--set` know them by these names."""

    paper: Paper = Paper()
