"""The errors that fabula raises on purpose.

The error classes as a tree (catch the highest class that you can handle)::

    FabulaError                     base class of all errors below; `exit_code` 1
    ├── UsageError                  the caller asked for something that is not possible; `exit_code` 2
    │   ├── UnknownNameError        a system, model, role, field or path does not exist; suggests the nearest name
    │   ├── BriefError              the text is not a valid brief
    │   ├── PlanError               a plan has problems; lists them in `problems`
    │   ├── PluginError             an external system, evaluator or model is broken; names it and describes the fault
    │   ├── ConfigError             a settings file or field is wrong; names the file and the field
    │   ├── OtherLengthError        a new passage is much longer or shorter than the old one, and nobody agreed to it
    │   ├── WrittenBeforeError      changed settings would rewrite existing texts, and nobody agreed to it
    │   └── ConflictError           a text has changed since it was read; contains the present text
    ├── ProjectError                the project folder cannot be used, for example because it is not writable
    │   ├── LockedError             another process is using the project; names the process
    │   ├── GoneError               the project was deleted or moved
    │   └── DiskFullError           the disk or quota is full; no earlier data is lost
    ├── JournalError                the project's journal cannot be used
    │   ├── JournalDamagedError     the file is not a valid database
    │   ├── JournalVersionError     a newer or older version of fabula wrote it
    │   └── JournalMissError        a frozen replay found a call that was never recorded
    ├── ModelError                  a model did not answer; has the attributes `model` and `retry_after`
    │   ├── ModelUnavailableError   the model is not installed, has no key or does not exist
    │   │   └── UnreachableError    there is no connection; worth a retry if the model has answered before
    │   ├── ModelTimeoutError       the model did not answer in time
    │   ├── OverloadedError         the server answered with 429 or 5xx; worth a retry
    │   │   └── UnreadableReplyError    the response is not a valid reply but may be charged for; tried twice
    │   ├── EndlessReplyError       the reply did not end and was cut off
    │   ├── ContextLengthError      the prompt does not fit the model's context
    │   └── RefusalError            the model declined to answer
    ├── ReplyError                  a reply could not be read after the allowed repairs; contains the reply
    ├── BudgetError                 the next call might exceed the cap, or the last call has; nothing is lost
    ├── MoreThanAnnouncedError      a run would make more calls than announced, without consent; nothing is lost
    ├── ServerError                 a fabula server refused a request or cannot be reached; has `status` and `code`
    └── PausedError                 the run is waiting for a person's approval; nothing is lost

A message says what happened, with the values, and what to do about it, in the words of the place where the user meets
it (`base.doors`). The command line prints the message without a traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from fabula.base.doors import door_here, said

_NEAR: Final = 0.7  # share of letters that two names have in common
_SHORTEST_BEGINNING: Final = 3
_MOST_NAMES: Final = 30


class FabulaError(Exception):
    """Base class of all errors raised on purpose; `exit_code` is the exit code of the command line.

    Attributes:
        door: where the user meets the error; the advice is worded for that place.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.door = door_here()

    def __str__(self) -> str:
        return said(super().__str__(), self.door)


def kind_of(error: FabulaError) -> str:
    """The name of an error's public class in the tree of errors."""
    return next(kind.__name__ for kind in type(error).__mro__ if not kind.__name__.startswith("_"))


class UsageError(FabulaError):
    """The caller asked for something that is not possible."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name is unknown; the message suggests the nearest known name, or lists the known names if they are `listed`.

    With `most`, only the nearest are listed: for names that a person has chosen, of which there may be many.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], advice: str = "", *, listed: bool = True, most: int = 0
    ) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        suggested = hint(name, self.known, most) if listed else ""
        super().__init__(" ".join(filter(None, (f"Unknown {kind} {name!r}.", suggested, advice))))


def hint(name: str, known: Iterable[str], most: int = 0) -> str:
    """A question that suggests the nearest known name, or a sentence that lists the known names.

    With `most`, the sentence lists that many names, those that are most like `name`; "part-9" stands before "part-10".
    """
    known = sorted(known)
    if near := nearest(name, known):
        return f"Did you mean {near!r}?"
    listed = get_close_matches(name, known, n=most, cutoff=0) if most else known[:_MOST_NAMES]
    listed.sort(key=lambda one: re.sub("[0-9]+", lambda digits: digits[0].zfill(9), one))
    more = f", and {len(known) - len(listed)} more" if len(known) > len(listed) else ""
    return f"Known: {', '.join(listed) or 'none'}{more}."


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that `name` probably means: one that it begins or nearly is; empty if none is near."""
    by_key, key = {known.casefold(): known for known in known}, name.casefold()
    begun = [known for known in by_key if len(key) >= _SHORTEST_BEGINNING and known.startswith(key)]
    close = begun if len(begun) == 1 else get_close_matches(key, by_key, n=1, cutoff=_NEAR)
    return by_key[close[0]] if close else ""


class BriefError(UsageError):
    """The brief is empty, too large or not text."""


class PlanError(UsageError):
    """A plan has problems; the message lists them, one per line, each with its location and a remedy.

    Attributes:
        problems: the lines of the message.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class PluginError(UsageError):
    """A system, an evaluator or a model that is not part of fabula failed or cannot be used."""


class OtherLengthError(UsageError):
    """A new passage is much longer or shorter than the one that it would replace.

    The new passage is kept but was not accepted.
    """


class WrittenBeforeError(UsageError):
    """The new settings differ from those of an existing story and would cause it to be rewritten.

    No model was called.
    """


class ConfigError(UsageError):
    """A setting is wrong; the message names the field and its file or flag."""


class ConflictError(UsageError):
    """A text has changed since the person who is saving it read it. Nothing is overwritten.

    Attributes:
        theirs: the present text.
        base: identifies the present text in the next attempt.
    """

    def __init__(self, message: str, *, theirs: str, base: str) -> None:
        super().__init__(message)
        self.theirs, self.base = theirs, base


class ProjectError(FabulaError):
    """The project folder cannot be used in its present state."""


class LockedError(ProjectError):
    """Another process is using the project."""


class GoneError(ProjectError):
    """The project no longer exists."""


class DiskFullError(ProjectError):
    """The disk or quota is full. No earlier data is lost."""


class JournalError(FabulaError):
    """The journal cannot be used in its present state."""


class JournalDamagedError(JournalError):
    """The journal file is not a valid database."""


class JournalVersionError(JournalError):
    """Another version of fabula wrote this journal in a format that this version does not read."""


class JournalMissError(JournalError):
    """A frozen replay found a call that is not in the journal."""


class ModelError(FabulaError):
    """A model did not answer.

    Attributes:
        model: the name of the model.
        retry_after: the seconds to wait that the server asked for, if any.
        retryable: whether the same call may succeed later.
        tokens: the prompt and reply tokens that the server counted and may charge for, although it sent no reply.
        may_cost: whether the server may charge for the call, although it reported no tokens.
        most_tries: the maximum number of attempts for a call that fails in this way; `None` means as many as the limits
            allow.
    """

    retryable = False
    most_tries: int | None = None
    may_cost = False
    tokens: tuple[int, int] = (0, 0)

    def __init__(self, message: str, *, model: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.model, self.retry_after = model, retry_after


class ModelUnavailableError(ModelError):
    """The model cannot be used: it is not installed, it has no key, or there is no connection."""


class UnreachableError(ModelUnavailableError):
    """No server answers at the model's address. A server that has answered before may become available again."""


class ModelTimeoutError(ModelError):
    """No answer in time."""

    retryable = True
    may_cost = True


class OverloadedError(ModelError):
    """The server is busy or has failed (429, 5xx, interrupted stream)."""

    retryable = True


class UnreadableReplyError(OverloadedError):
    """The server's response is not a valid reply. The server may charge for it, so fabula tries the call only twice."""

    most_tries = 2
    may_cost = True


class EndlessReplyError(ModelError):
    """A reply did not end and was cut off."""

    may_cost = True


class ContextLengthError(ModelError):
    """The prompt does not fit the model's context."""


class RefusalError(ModelError):
    """The model declined to answer."""


class ReplyError(FabulaError):
    """A reply could not be read in the requested form, even after the allowed repairs.

    Attributes:
        reply: the complete last reply.
        at: the path at which the tries failed; if the error ends a run, the next run repeats them.
    """

    def __init__(self, message: str, *, reply: str, at: str = "") -> None:
        super().__init__(message)
        self.reply, self.at = reply, at


class BudgetError(FabulaError):
    """The next call might exceed the cap, or the last call has exceeded it.

    All finished calls are kept; to continue, raise the cap.
    """


class NoRoomError(BudgetError):
    """An optional call would use budget that the rest of the run needs."""


class MoreThanAnnouncedError(FabulaError):
    """A run would make more calls than announced, and nobody has agreed to that. All finished calls are kept."""


class ServerError(FabulaError):
    """A fabula server refused a request or cannot be reached.

    Attributes:
        status: the HTTP status of the response; 0 if there was no response.
        code: a code that identifies the problem.
    """

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class PausedError(FabulaError):
    """The run waits for approval. All finished calls are kept; the run exits with code 0.

    Attributes:
        path: the path of the artefact that needs approval.
    """

    exit_code = 0

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path
