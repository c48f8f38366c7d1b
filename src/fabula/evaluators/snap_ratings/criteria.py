"""The four questions that SNAP puts to a dialogue, by the names that ratings and reports have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabula.base.errors import UnknownNameError

LOW, HIGH = 1, 5
NOTHING: Final = 0
"""What a judge says of linearity where nobody leaves the story: there is nothing to come back from."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question: its name, its prompt file, and the lowest number that may be said."""

    name: str
    prompt: str
    low: int = LOW

    @property
    def numbers(self) -> tuple[int, ...]:
        """What may be said."""
        return tuple(range(self.low, HIGH + 1))


CRITERIA: Final = (
    Criterion("continuity", "continuity"),
    Criterion("information appropriateness", "information"),
    Criterion("non-redundancy", "non_redundancy"),
    Criterion("linearity", "linearity", NOTHING),
)


def criteria_in(names: str) -> tuple[Criterion, ...]:
    """The criteria that `names` names, with commas between them; all where it is empty.

    Raises:
        UnknownNameError: there is no such criterion.
    """
    known = {criterion.name: criterion for criterion in CRITERIA}
    wanted = [name.strip().lower() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise UnknownNameError("criterion", name, known)
    return tuple(known[name] for name in dict.fromkeys(wanted)) or CRITERIA
