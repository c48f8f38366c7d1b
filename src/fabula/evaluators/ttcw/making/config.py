"""Settings of section 3.1, plot and candidate; the paper names none of these values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

What: TypeAlias = Literal["plot", "candidate"]


@dataclass(frozen=True, slots=True)
class Ours:
    """Improved mode adds no settings. A candidate that misses its length is continued or shortened."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` makes one call for a plot and one for a candidate.

    Attributes:
        what: "plot" extracts the plot of each story; "candidate" writes a story for each plot.
        words: length of a candidate ("1400", "1300-1500"); empty sets no length.
        plot_words: the most words of a plot, which is one sentence; plots in the tests' data have about 50.
        max_tokens: limit of each reply; without one, the model's own limit applies.
        ours: what improved mode adds.
    """

    what: What = "plot"
    words: str = ""
    plot_words: int = 60
    max_tokens: int | None = 4096
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: a candidate of the requested length."""
        return cls(max_tokens=None, ours=Ours())
