"""What happens in a run, as frozen records; progress bars, transcripts and a studio are listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.engine.replies.rules import RuleName
    from fabula.models.base import Usage

RECORD: Final = "json"  # suffix of artefacts that are records of a run
SHEET: Final = "yaml"  # of those that have a form, such as a plan of scenes
TABLE: Final = "csv"  # and of those that are tables


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A system begins; `roles` are those it is expected to call, in order where that is known."""

    system: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call is asked, of which role, and who plays that."""

    path: str
    role: str
    performer: str


@dataclass(frozen=True, slots=True)
class CallStarted(CallPlace):
    """A role is being asked; `priced` says whether it is known what its model costs, be that nothing."""

    max_tokens: int | None = None
    priced: bool = True


@dataclass(frozen=True, slots=True)
class TextArrived:
    """A piece of a reply."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CallFinished(CallPlace):
    """A role has answered; `replayed` means from the journal, at no cost."""

    usage: Usage
    replayed: bool


@dataclass(frozen=True, slots=True)
class CallLost(CallPlace):
    """A call was paid for and came to nothing: its model declined, or failed after it was counted."""

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
    """Files in a folder are waited for, in which somebody is to answer; none once all are there."""

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
    """An artefact has its text; `suffix` is its file's.

    `source` is "made", "revised" (after an author's note, or to fit what changed), "edited", "rewritten" (a passage of
    it was) or "pinned"; "edited, revised" is the author's own text after a note.

    `settled` says that a person has no part in it any more: what it was made of was approved before.
    """

    path: str
    folder: str
    text: str
    source: str
    suffix: str = "md"
    settled: bool = False

    @property
    def waits(self) -> bool:
        """Whether a person may be asked to approve it: a text that was made, and neither a record nor a table."""
        return self.source in ("made", "revised") and not self.settled and self.suffix not in (RECORD, TABLE)


@dataclass(frozen=True, slots=True)
class Noted:
    """A remark of the system, for the transcript."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A rule took a piece out of a reply, which is recorded with it."""

    path: str
    rule: RuleName
    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run ended; `error` is empty when the story is whole."""

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
