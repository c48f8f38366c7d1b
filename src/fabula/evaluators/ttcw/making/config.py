"""Settings of section 3.1, plot and candidate; the paper names none of these values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

What: TypeAlias = Literal["plot", "candidate"]


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds: no setting, but a candidate that misses its words is continued or shortened."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` asks one call for a plot and one for a candidate.

    Attributes:
        what: "plot" takes the plot out of each story, "candidate" writes a story for each plot.
        words: of a candidate ("1400", "1300-1500"); empty asks for none.
        plot_words: a plot is asked for in one sentence of at most so many; plots of the tests' data have about 50.
        max_tokens: bounds each reply; none is the model's own limit.
        ours: what improved mode adds.
    """

    what: What = "plot"
    words: str = ""
    plot_words: int = 60
    max_tokens: int | None = 4096
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: a candidate of the length asked for."""
        return cls(max_tokens=None, ours=Ours())
