"""Errors as an HTTP status and a body in OpenAI's format; they reveal nothing about the inside of the server."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from fabula.app.live_turns import BusyError, StaleError
from fabula.app.writing import first_error
from fabula.base.errors import (
    BriefError,
    BudgetError,
    ConfigError,
    ConflictError,
    ContextLengthError,
    DiskFullError,
    FabulaError,
    GoneError,
    JournalError,
    LockedError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
    PlanError,
    ProjectError,
    RefusalError,
    ReplyError,
    UnknownNameError,
    UsageError,
)
from fabula.base.invalid import fault, sentence
from fabula.server.chat.clients import NoTurnError
from fabula.server.chat.projects import PLAYER, TooLongError
from fabula.server.chat.scenes import SceneError
from fabula.server.chat.wire import UnableError

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError


INVALID: Final = "invalid_request_error"
SERVER: Final = "server_error"
_LISTED: Final = 50  # names that a message lists


class Fault(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class NewerText(BaseModel):
    """A text that was saved in the meantime: merge yours with it, and save the result with this `base`."""

    theirs: str
    base: str


class FaultBody(BaseModel):
    """The body of every error, with `conflict` if the text has changed since it was read."""

    error: Fault
    conflict: NewerText | None = None


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error as the client gets it.

    Attributes:
        status: the HTTP status of the response.
        message: what happened and what to do.
        type: OpenAI's word for the kind.
        code: a name for programs.
        param: the invalid field.
        retry_after: seconds after which a retry may succeed.
        conflict: the current text, if it has changed since it was read.
    """

    status: int
    message: str
    type: str = INVALID
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    conflict: Mapping[str, str] | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The JSON body."""
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": error} | ({} if self.conflict is None else {"conflict": dict(self.conflict)})

    @property
    def bytes(self) -> bytes:
        """The JSON body as it is sent."""
        return json.dumps(self.body).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the error, in addition to those of every response."""
        headers = {"content-type": "application/json"}
        if self.status == 401:  # noqa: PLR2004 - Unauthorized
            headers["www-authenticate"] = "Bearer"
        if self.retry_after is not None:
            headers["retry-after"] = str(max(math.ceil(self.retry_after), 1))
        return headers


UNAUTHORISED: Final = ErrorBody(
    401,
    "There is no valid token. Send the header `Authorization: Bearer TOKEN` with this server's token.",
    "authentication_error",
    "invalid_api_key",
)
SURPRISE: Final = ErrorBody(
    500, "An unexpected error occurred in the server. The conversation is unchanged.", SERVER, "internal_error"
)
UNEXPECTED: Final = ErrorBody(
    500,
    (
        "An unexpected error occurred in the server. Saved texts are kept. For details, look at the terminal in "
        "which the server was started."
    ),
    SERVER,
    "internal_error",
)
NOT_JSON: Final = ErrorBody(400, "The body is not a valid JSON object.", code="invalid_json")

# The errors' own messages name addresses, files and variables of this machine; they go to the server's log.
_STANDS: Final = "The conversation is unchanged."
_MODELS: Final[tuple[tuple[type[FabulaError], ErrorBody], ...]] = (
    (
        ContextLengthError,
        ErrorBody(
            400, f"The conversation is too long for the language model. {_STANDS}", code="context_length_exceeded"
        ),
    ),
    (
        BudgetError,
        ErrorBody(429, f"The budget is spent. {_STANDS}", "insufficient_quota", "insufficient_quota"),
    ),
    (
        OverloadedError,
        ErrorBody(503, f"The language model is busy. {_STANDS} Try again.", SERVER, "overloaded", retry_after=5),
    ),
    (ModelTimeoutError, ErrorBody(504, f"The language model took too long. {_STANDS} Try again.", SERVER, "timeout")),
    (RefusalError, ErrorBody(502, f"The language model declined to answer. {_STANDS}", SERVER, "refusal")),
    (
        ModelUnavailableError,
        ErrorBody(
            503, f"The language model cannot be reached. {_STANDS} Try again later.", SERVER, "model_unavailable"
        ),
    ),
    (
        ReplyError,
        ErrorBody(502, f"The language model's answer cannot be used. {_STANDS} Try again.", SERVER, "unreadable_reply"),
    ),
    (
        ModelError,
        ErrorBody(502, f"The language model did not answer. {_STANDS} Try again.", SERVER, "model_error"),
    ),
)
_OF_THIS_MACHINE: Final = (BriefError, ConfigError, PlanError)  # errors in files that no client knows


def _asked_wrong(error: UsageError) -> ErrorBody:
    """The error for a request that cannot be answered as it is."""
    if isinstance(error, UnknownNameError):
        known = f" Known: {', '.join(error.known[:_LISTED])}." if "Known:" not in str(error) else ""
        param = "metadata.player" if error.kind == PLAYER else "model"
        return ErrorBody(404, str(error) + known, code="model_not_found", param=param)
    if isinstance(error, TooLongError):
        return ErrorBody(413, str(error), code="message_too_long", param="messages")
    codes = {NoTurnError: "no_turn", UnableError: "unsupported_value", SceneError: "invalid_metadata"}
    return ErrorBody(400, str(error), code=codes.get(type(error)), param=getattr(error, "param", "messages"))


def problem_of(error: BaseException | None) -> ErrorBody:
    """The body for an error that ended a turn; for several concurrent errors, that of fabula's first one."""
    if isinstance(error, BaseExceptionGroup):
        return problem_of(first_error(error))
    if isinstance(error, UsageError):
        return SURPRISE if isinstance(error, _OF_THIS_MACHINE) else _asked_wrong(error)
    if isinstance(error, TimeoutError):
        return ErrorBody(504, "The answer took too long. The conversation is unchanged.", SERVER, "timeout")
    for kind, problem in _MODELS:
        if isinstance(error, kind):
            after = getattr(error, "retry_after", None) or problem.retry_after
            return replace(problem, retry_after=after)
    return SURPRISE  # also if a project or its journal cannot be used: the message names folders of this machine


# On the pages and at `/api/v1`, the author, who owns the machine, gets the errors' own messages.
_OF_AUTHOR: Final[tuple[tuple[type[FabulaError], int, str], ...]] = (
    (GoneError, 410, "gone"),
    (ConflictError, 409, "conflict"),
    (StaleError, 409, "stale"),
    (BusyError, 409, "busy"),
    (LockedError, 409, "locked"),
    (DiskFullError, 507, "disk_full"),
    (UnknownNameError, 404, "not_found"),
    (UsageError, 400, "invalid_request"),
    (ProjectError, 409, "project_unusable"),
    (JournalError, 500, "journal_unusable"),
    (BudgetError, 402, "budget_spent"),
    (ModelTimeoutError, 504, "timeout"),
    (OverloadedError, 503, "overloaded"),
    (ModelUnavailableError, 503, "model_unavailable"),
    (ModelError, 502, "model_error"),
    (ReplyError, 502, "unreadable_reply"),
    (FabulaError, 409, "refused"),
)
# SQLite's codes if there is no space for a page or for the file that readers share.
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
_FULL_JOURNAL: Final = ErrorBody(
    507,
    (
        "The disk or quota is full. Free some space. Until then, fabula cannot save anything, and often it cannot "
        "even read the project. Saved texts are kept."
    ),
    SERVER,
    "disk_full",
)
_LEAST_OF_SERVER: Final = 500


def _is_full(cause: BaseException | None) -> bool:
    """Whether the journal could not be written because the disk is full."""
    return isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", 0) in _FULL


def problem_for_author(error: BaseException) -> ErrorBody:
    """The body of an error for the studio and `/api/v1`; for several concurrent errors, that of fabula's first one."""
    if isinstance(error, BaseExceptionGroup):
        return problem_for_author(first_error(error))
    found = next((row for row in _OF_AUTHOR if isinstance(error, row[0])), None)
    if found is None:
        return UNEXPECTED
    if _is_full(error.__cause__):
        return _FULL_JOURNAL
    _, status, code = found
    kind = SERVER if status >= _LEAST_OF_SERVER else INVALID
    stands = {"theirs": error.theirs, "base": error.base} if isinstance(error, ConflictError) else None
    return ErrorBody(status, str(error), kind, code, retry_after=getattr(error, "retry_after", None), conflict=stands)


_NOTHING: Final = "There is nothing at this address."
_TALK: Final = "Conversations are at POST /v1/chat/completions."
_API: Final = "GET /openapi.json lists the addresses."
_ELSEWHERE: Final = {
    "/v1/completions": "Characters answer in conversations. They do not complete texts.",
    "/v1/responses": "The Responses API is not supported here. Set your program to use chat completions.",
    "/v1/embeddings": "Embeddings are not supported here.",
    "/chat/completions": "The base URL ends in /v1.",
    "/models": "The base URL ends in /v1.",
}


def of_status(status: int, detail: str, path: str = "") -> ErrorBody:
    """The body for an error of the web framework at a path."""
    codes = {404: "unknown_url", 405: "method_not_allowed", 400: "invalid_json"}
    messages = {
        400: NOT_JSON.message,
        404: f"{_ELSEWHERE.get(path, _NOTHING)} {_API if path.startswith('/api/') else _TALK}",
    }
    return ErrorBody(status, messages.get(status, f"{detail}."), code=codes.get(status))


def problem_of_fields(error: RequestValidationError) -> ErrorBody:
    """The body for invalid fields of a request."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ErrorBody(400, "The body is not valid JSON.", code="invalid_json")
    if len(first["loc"]) == 1 and isinstance(first.get("input"), (str, bytes)):
        said = "The body was not read as JSON. Send it with the header Content-Type: application/json."
        return ErrorBody(422, said, code="invalid_field", param="body")
    loc = [part if isinstance(part, int) else part[:60] for part in first["loc"][1:8]]
    others = f" {count} other fields are also invalid." if (count := len(error.errors()) - 1) else ""
    where = ".".join(map(str, loc)) or "body"
    message = f"{sentence(fault(first, loc=loc or ('body',)))}{others}"
    return ErrorBody(422, message, code="invalid_field", param=where)
