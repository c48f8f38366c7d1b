"""The four questions that SNAP asks about a dialogue, by their names in ratings and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabula.base.errors import UnknownNameError

LOW, HIGH = 1, 5
NOTHING: Final = 0
"""The judge's answer on linearity if nobody leaves the story and there is nothing to return from."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question: its name, its prompt file and the lowest possible rating."""

    name: str
    prompt: str
    low: int = LOW

    @property
    def numbers(self) -> tuple[int, ...]:
        """The possible ratings."""
        return tuple(range(self.low, HIGH + 1))


CRITERIA: Final = (
    Criterion("continuity", "continuity"),
    Criterion("information appropriateness", "information"),
    Criterion("non-redundancy", "non_redundancy"),
    Criterion("linearity", "linearity", NOTHING),
)


def criteria_in(names: str) -> tuple[Criterion, ...]:
    """The criteria that `names` lists, separated by commas; all criteria if it is empty.

    Raises:
        UnknownNameError: there is no such criterion.
    """
    known = {criterion.name: criterion for criterion in CRITERIA}
    wanted = [name.strip().lower() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise UnknownNameError("criterion", name, known)
    return tuple(known[name] for name in dict.fromkeys(wanted)) or CRITERIA
