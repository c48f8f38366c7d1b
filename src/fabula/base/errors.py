"""Every error that fabula raises on purpose.

The tree (catch the highest one that you can act on)::

    FabulaError                     anything below; `exit_code` 1
    ├── UsageError                  the caller asked for something impossible; `exit_code` 2
    │   ├── UnknownNameError        a system, model, role, field or path that does not exist; names the nearest
    │   ├── BriefError              the brief cannot be read as one
    │   ├── PlanError               a plan has problems; carries all of them as `problems`
    │   ├── PluginError             a system, evaluator or model of somebody else is broken; names it and the fault
    │   ├── ConfigError             a settings file or field is wrong; names file and field
    │   ├── OtherLengthError        a new passage is much longer or shorter than the old one, and nobody agreed
    │   ├── WrittenBeforeError      other settings would have texts written again that stand, and nobody agreed
    │   └── ConflictError           a text was changed since one has read it; carries the text that stands
    ├── ProjectError                the project folder cannot be used (not writable, for one)
    │   ├── LockedError             another process is at work on it; names the process
    │   ├── GoneError               it was there, and was deleted or moved
    │   └── DiskFullError           the disk or quota is full; nothing that was there is lost
    ├── JournalError                the project's record cannot be used
    │   ├── JournalDamagedError     the file is not a valid database
    │   ├── JournalVersionError     a newer or an older fabula wrote it
    │   └── JournalMissError        frozen replay met a call that was never recorded
    ├── ModelError                  a model did not answer; carries `model` and `retry_after`
    │   ├── ModelUnavailableError   not installed, no key, no such model
    │   │   └── UnreachableError    no connection; worth another try where the model has answered before
    │   ├── ModelTimeoutError       no answer in time
    │   ├── OverloadedError         429 or 5xx; worth another try
    │   │   └── UnreadableReplyError    what came is no reply, and may be charged; asked twice
    │   ├── EndlessReplyError       the reply did not end, and was broken off
    │   ├── ContextLengthError      the prompt does not fit
    │   └── RefusalError            the model declined
    ├── ReplyError                  a reply could not be read after the allowed repairs; carries the reply
    ├── BudgetError                 the next call might pass the cap, or one has; nothing is lost
    ├── MoreThanAnnouncedError      a run would ask more than was announced, and nobody agreed; nothing is lost
    ├── ServerError                 a server of fabula's refused, or is not reached; carries `status` and `code`
    └── PausedError                 the run waits for a person's approval; nothing is lost

A message says what happened, with values, and what to do, in the words of where it is met (`base.doors`). The command
line prints it without a traceback.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from fabula.base.doors import door_here, said

if TYPE_CHECKING:
    from collections.abc import Iterable


_NEAR: Final = 0.7  # share of letters that two names have in common
_SHORTEST_BEGINNING: Final = 3
_MOST_NAMES: Final = 30


class FabulaError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with.

    Attributes:
        door: where it is met, in whose words it says what to do.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.door = door_here()

    def __str__(self) -> str:
        return said(super().__str__(), self.door)


def kind_of(error: FabulaError) -> str:
    """What kind of error it is, by a name that stands in the tree of errors."""
    return next(kind.__name__ for kind in type(error).__mro__ if not kind.__name__.startswith("_"))


class UsageError(FabulaError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not known; the message has the known one that is near, else those that there are."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = _near(name, self.known)
        shown = ", ".join(self.known[:_MOST_NAMES]) or "none"
        more = f", and {len(self.known) - _MOST_NAMES} more" if len(self.known) > _MOST_NAMES else ""
        hint = f"Did you mean {near!r}?" if near else f"Known: {shown}{more}."
        super().__init__(f"Unknown {kind} {name!r}. {hint}")


def _near(name: str, known: Iterable[str]) -> str:
    """The known name that somebody who types `name` means: one that it begins, or nearly is; empty if none is near."""
    by_key, key = {known.casefold(): known for known in known}, name.casefold()
    begun = [known for known in by_key if len(key) >= _SHORTEST_BEGINNING and known.startswith(key)]
    close = begun if len(begun) == 1 else get_close_matches(key, by_key, n=1, cutoff=_NEAR)
    return by_key[close[0]] if close else ""


class BriefError(UsageError):
    """The brief is empty, too large or not text."""


class PlanError(UsageError):
    """A plan has problems; the message lists them, one a line, each with its place and what to do.

    Attributes:
        problems: the lines of the message.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class PluginError(UsageError):
    """A system, an evaluator or a model that does not come with fabula cannot be used, or failed."""


class OtherLengthError(UsageError):
    """A new passage is far from as long as the one that it would replace. It is kept, and was not taken."""


class WrittenBeforeError(UsageError):
    """With other settings than those it was written with, a story would be written again. Nothing was asked."""


class ConfigError(UsageError):
    """A setting is wrong; the message names the file or flag, and the field."""


class ConflictError(UsageError):
    """A text was changed since it was read by whoever writes it now. Nothing is overwritten.

    Attributes:
        theirs: the text that stands.
        base: names that text to whoever writes it next.
    """

    def __init__(self, message: str, *, theirs: str, base: str) -> None:
        super().__init__(message)
        self.theirs, self.base = theirs, base


class ProjectError(FabulaError):
    """The project folder cannot be used as it is."""


class LockedError(ProjectError):
    """Another process is at work on the project."""


class GoneError(ProjectError):
    """The project was there, and is there no more."""


class DiskFullError(ProjectError):
    """The disk or quota is full. Nothing that was there before is lost."""


class JournalError(FabulaError):
    """The journal cannot be used as it is."""


class JournalDamagedError(JournalError):
    """The journal file is not a valid database."""


class JournalVersionError(JournalError):
    """A newer fabula wrote this journal."""


class JournalMissError(JournalError):
    """A frozen replay met a call that the journal does not hold."""


class ModelError(FabulaError):
    """A model did not answer.

    Attributes:
        model: name of the model asked.
        retry_after: seconds the server asked us to wait, if it said so.
        retryable: whether the same call may succeed later.
        tokens: of prompt and reply that the server counted, and may charge, though it gave no reply.
        may_cost: whether the server may have worked, and may charge for that, though it counted nothing.
        most_tries: how often one call is tried that fails like this; `None` as often as the limits allow.
    """

    retryable = False
    most_tries: int | None = None
    may_cost = False
    tokens: tuple[int, int] = (0, 0)

    def __init__(self, message: str, *, model: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.model, self.retry_after = model, retry_after


class ModelUnavailableError(ModelError):
    """The model cannot be reached: not installed, no key, no connection."""


class UnreachableError(ModelUnavailableError):
    """Nobody answers at the model's address. A server that has answered before may come back."""


class ModelTimeoutError(ModelError):
    """No answer in time."""

    retryable = True
    may_cost = True


class OverloadedError(ModelError):
    """The server is busy or failed (429, 5xx, a cut stream)."""

    retryable = True


class UnreadableReplyError(OverloadedError):
    """What the server sent as a reply is none. It may charge for it, so it is asked twice and no more."""

    most_tries = 2
    may_cost = True


class EndlessReplyError(ModelError):
    """A reply did not end, and was broken off."""

    may_cost = True


class ContextLengthError(ModelError):
    """The prompt does not fit the model's context."""


class RefusalError(ModelError):
    """The model declined to answer."""


class ReplyError(FabulaError):
    """A reply could not be read as asked, also after the allowed repairs.

    Attributes:
        reply: the last reply, whole.
        at: where the tries were made that this error gives up; a run that it ends has them made anew by the next one.
    """

    def __init__(self, message: str, *, reply: str, at: str = "") -> None:
        super().__init__(message)
        self.reply, self.at = reply, at


class BudgetError(FabulaError):
    """The next call might pass the cap, or the last one has. All finished calls are kept; a higher cap goes on."""


class NoRoomError(BudgetError):
    """A call that can be left out would take what the rest of the run needs of a cap."""


class MoreThanAnnouncedError(FabulaError):
    """A run would ask more than was announced, and nobody agreed to it. All finished calls are kept."""


class ServerError(FabulaError):
    """A server of fabula's refused a request, or cannot be reached.

    Attributes:
        status: of its answer; 0 where there was none.
        code: names what was wrong.
    """

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class PausedError(FabulaError):
    """The run waits for approval. All finished calls are kept; the run exits with code 0.

    Attributes:
        path: the artefact that waits.
    """

    exit_code = 0

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path
