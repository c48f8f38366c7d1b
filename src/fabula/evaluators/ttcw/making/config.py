"""Settings of section 3.1, plot and candidate; the paper names none of these values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

What: TypeAlias = Literal["plot", "candidate"]


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` asks one call for a plot and one for a candidate.

    Attributes:
        what: "plot" takes the plot out of each story, "candidate" writes a story for each plot.
        words: of a candidate ("1400", "1300-1500"); empty asks for none.
        plot_words: a plot is asked for in at most so many; plots of the tests' data have about 50.
        sentences: a plot is asked for in at most so many; 0 is no bound. One, as in the tests' data.
        length_control: a candidate that misses its words is continued or shortened (ours).
        max_tokens: bounds each reply; none is the model's own limit.
    """

    what: What = "plot"
    words: str = ""
    plot_words: int = 60
    sentences: int = 1
    length_control: bool = False
    max_tokens: int | None = 4096

    @classmethod
    def improved(cls) -> Config:
        """Ours: a candidate of the length asked for."""
        return replace(cls(), length_control=True, max_tokens=None)
