"""The events of a run, as frozen records; progress bars, transcripts and the studio listen to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from fabula.engine.replies.rules import RuleName
    from fabula.models.base import Usage


RECORD: Final = "json"  # suffix of artefacts that are records of a run
SHEET: Final = "yaml"  # of those that have a form, such as a plan of scenes
TABLE: Final = "csv"  # and of those that are tables


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A system begins; `roles` are the roles that it is expected to call, in order if that is known."""

    system: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The place of a call, its role, and who plays that role."""

    path: str
    role: str
    performer: str


@dataclass(frozen=True, slots=True)
class CallStarted(CallPlace):
    """A role is asked; `priced` says whether the price of its model is known, including a price of zero."""

    max_tokens: int | None = None
    priced: bool = True


@dataclass(frozen=True, slots=True)
class TextArrived:
    """A piece of a reply arrived."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CallFinished(CallPlace):
    """A role answered; `replayed` means that the reply came from the journal, at no cost."""

    usage: Usage
    replayed: bool


@dataclass(frozen=True, slots=True)
class CallLost(CallPlace):
    """A call was paid for in vain: its model declined, or failed after the call was counted."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A model failed and is asked again after `wait` seconds."""

    model: str
    attempt: int
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class AnswersAwaited:
    """The run waits for somebody to answer in files of a folder; there are no files left once all are answered."""

    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A reply could not be read; the role is asked again with the reason."""

    path: str
    attempt: int
    problem: str


@dataclass(frozen=True, slots=True)
class Kept:
    """An artefact has its text; `suffix` is the suffix of its file.

    `source` is "made", "revised" (after an author's note, or to fit what changed), "edited", "rewritten" (in a passage)
    or "pinned"; "edited, revised" is the author's own text after a note.

    `settled` says that no person has to approve it, because it was made from approved texts.
    """

    path: str
    folder: str
    text: str
    source: str
    suffix: str = "md"
    settled: bool = False

    @property
    def waits(self) -> bool:
        """Whether a person may be asked to approve the artefact: it was made, and is neither a record nor a table."""
        return self.source in ("made", "revised") and not self.settled and self.suffix not in (RECORD, TABLE)


@dataclass(frozen=True, slots=True)
class Noted:
    """A remark of the system, for the transcript."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A rule removed a piece from a reply; the piece is recorded."""

    path: str
    rule: RuleName
    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run ended; `error` is empty if the story is whole."""

    system: str
    error: str = ""


Event: TypeAlias = (
    RunStarted
    | CallStarted
    | TextArrived
    | CallFinished
    | CallLost
    | CallRetried
    | AnswersAwaited
    | Repaired
    | Kept
    | Noted
    | Removed
    | RunFinished
)
Listener: TypeAlias = "Callable[[Event], None]"
