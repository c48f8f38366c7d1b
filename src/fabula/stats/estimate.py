"""A number that never stands alone: `Estimate` has its n, interval and method; `Unscored` says why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured number.

    Attributes:
        value: finite.
        n: how many units it rests on (stories, prompts, verdicts; `method` says which).
        low: lower end of the interval; `None` where one unit allows none.
        high: upper end.
        method: how value and interval were made, for instance "mean over stories, bootstrap by prompt, 1000 resamples".
        level: of the interval.
    """

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str = ""
    level: float = 0.95

    def __post_init__(self) -> None:
        numbers = [number for number in (self.value, self.low, self.high) if number is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"An estimate is finite; got {numbers}. Say `Unscored` where there is no number.")

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.4g} (n {self.n})"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] (n {self.n})"

    def as_data(self) -> dict[str, Any]:
        """The estimate for JSON."""
        return {
            "value": self.value,
            "n": self.n,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
        }


@dataclass(frozen=True, slots=True)
class Unscored:
    """There is no number, and why; it is counted, never dropped and never NaN."""

    reason: str
    n: int = 0

    def __str__(self) -> str:
        return f"not scored: {self.reason}"

    def as_data(self) -> dict[str, Any]:
        """The reason for JSON."""
        return {"value": None, "n": self.n, "unscored": self.reason}


Scored: TypeAlias = Estimate | Unscored
