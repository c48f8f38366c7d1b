"""What was done to a text: errors that are known, and changes that look like errors and are none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "name", "number", "date", "colour", "side", "place", "object", "title", "kin", "life", "state"
]
KINDS: Final[tuple[Kind, ...]] = (
    "name", "number", "date", "colour", "side", "place", "object", "title", "kin", "life", "state",
)  # fmt: skip
Reason: TypeAlias = Literal["announced", "reported", "second"]
REASONS: Final[tuple[Reason, ...]] = ("announced", "reported", "second")
Method: TypeAlias = Literal["swap", "qualify", "restate", "plant"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the changed text: where it is, in characters, and what it says."""

    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Label:
    """One change.

    Attributes:
        id: kind and number, as "colour-2".
        kind: what was changed.
        error: whether it contradicts the story; a matched negative does not.
        reason: why a negative is no error: the change is announced, only reported, or of a second thing; else empty.
        method: an existing mention was changed ("swap"), a word was added to one ("qualify"), a sentence was added
            that states it again ("restate"), or fact and contradiction were both added ("plant").
        subject: what it is about.
        values: the story's own value, and the one put in.
        fact: where the story states its own value.
        place: where the other value stands.
        distance: words between both.
    """

    id: str
    kind: Kind
    error: bool
    reason: Reason | Literal[""]
    method: Method
    subject: str
    values: tuple[str, str]
    fact: Span
    place: Span
    distance: int

    def data(self) -> dict[str, Any]:
        """The label for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Injected:
    """A text with its changes.

    Attributes:
        text: the changed text.
        labels: every change, in the order of the text.
        missing: by kind, how many of the errors asked for found no place.
    """

    text: str
    labels: tuple[Label, ...]
    missing: dict[str, int]

    @property
    def errors(self) -> tuple[Label, ...]:
        """The labels of errors."""
        return tuple(label for label in self.labels if label.error)

    @property
    def negatives(self) -> tuple[Label, ...]:
        """The labels of changes that are no errors."""
        return tuple(label for label in self.labels if not label.error)
