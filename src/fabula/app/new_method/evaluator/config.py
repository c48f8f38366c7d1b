"""The settings of example-name, as in its paper."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.plugin import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """The paper's settings; `--preset faithful` uses these values.

    Attributes:
        temperature: temperature of the judge. Name the section of the paper that gives it.
    """

    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """All settings. The defaults follow the paper. `fabula evaluate` and `--set` use these names."""

    paper: Paper = Paper()
