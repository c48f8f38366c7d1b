"""Numbers with their n, interval and method (`Estimate`), or with the reason why there is none (`Unscored`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

_ROUNDING: Final = 1e-12  # a number nearer to 0 than this is shown as 0


def figures(value: float) -> str:
    """The number in four figures. Rounding errors around 0 and minus 0 become 0."""
    return f"{0.0 if abs(value) < _ROUNDING else value:.4g}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured number.

    Attributes:
        value: finite.
        n: how many units it rests on (stories, prompts, verdicts; `method` says which).
        low: lower end of the interval; `None` where there are too few units, or nothing varies.
        high: upper end.
        method: how value and interval were made, for instance "mean over stories, by 12 groups; t interval, widened
            for skewness".
        level: of the interval.
        p: of a difference: the chance of one this far from 0 if there were none, corrected for how many there are.
    """

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str = ""
    level: float = 0.95
    p: float | None = None

    def __post_init__(self) -> None:
        numbers = [number for number in (self.value, self.low, self.high) if number is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"An estimate is finite; got {numbers}. Say `Unscored` where there is no number.")
        for name in ("value", "low", "high"):
            if getattr(self, name) == 0:  # minus 0 is a way of computing, no number to print
                object.__setattr__(self, name, abs(getattr(self, name)))

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{figures(self.value)} (n {self.n})"
        return f"{figures(self.value)} [{figures(self.low)}, {figures(self.high)}] (n {self.n})"

    def as_data(self) -> dict[str, Any]:
        """The estimate for JSON."""
        return {
            "value": self.value,
            "n": self.n,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
        } | ({} if self.p is None else {"p": self.p})


@dataclass(frozen=True, slots=True)
class Unscored:
    """The reason why there is no number. It is counted, never dropped and never NaN."""

    reason: str
    n: int = 0

    def __str__(self) -> str:
        return f"not scored: {self.reason}"

    def as_data(self) -> dict[str, Any]:
        """The reason for JSON."""
        return {"value": None, "n": self.n, "unscored": self.reason}


Scored: TypeAlias = Estimate | Unscored


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes:
        of: what was measured: a story's id, a system's or a rater's name, a trivial baseline, or "all".
        what: the measure, for instance "words", "strength/overall".
        scored: the number with its interval, or why there is none.
    """

    of: str
    what: str
    scored: Scored


def estimate_cells(scored: Scored) -> tuple[str, str, str]:
    """Value, interval and n of a number as table cells, or the reason why there is no number."""
    if not isinstance(scored, Estimate):
        return "not scored", scored.reason, str(scored.n)
    if scored.low is None or scored.high is None:
        return figures(scored.value), "", str(scored.n)
    return figures(scored.value), f"{figures(scored.low)} to {figures(scored.high)}", str(scored.n)
