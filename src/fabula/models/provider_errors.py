"""Failures of the provider library as ours; imported only with the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import exceptions as theirs

from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARY_ERRORS = (theirs.AgentRunError, theirs.UserError)
_LONGEST = 300
# llama.cpp's own type; the library knows the words of the others
_CONTEXT_TYPES = frozenset({"exceed_context_size_error"})
_FILTERED_CODES = frozenset({"content_filter", "content_policy_violation"})
_TRY_AGAIN = frozenset({408, 409, 425, 429})
_SERVER_FAILED = 500


class Told:
    """Words about one model for the messages of its errors.

    `scrub` takes the key out of any text; `keys` names the variables that may hold it.
    """

    def __init__(self, name: str, address: str, keys: str, scrub: Callable[[str], str]) -> None:
        self.name, self.address, self.keys, self.scrub = name, address, keys, scrub


def ours(error: Exception, told: Told) -> ModelError:
    """Our error for one of the library's; its words are the server's, without the key.

    It is to be raised outside the `except` block: the library's error, and the key it may hold, must not travel along.
    """
    kind, happened = _kind(error, told)
    said = told.scrub(_said(error))
    retry_after = getattr(error, "retry_after", None)
    return kind(
        f"{told.name} {happened}" + (f" It said: {said}" if said else ""), model=told.name, retry_after=retry_after
    )


def is_filtered(error: Exception) -> bool:
    """Whether the provider withheld the reply for its content: a refusal, not a failure."""
    if isinstance(error, theirs.ContentFilterError):
        return True
    return isinstance(error, theirs.ModelAPIError) and error.provider_error_code in _FILTERED_CODES


def _kind(error: Exception, told: Told) -> tuple[type[ModelError], str]:
    """Our class and what happened; the first line of the table that fits counts."""
    if isinstance(error, theirs.ModelAPIError) and error.provider_error_type in _CONTEXT_TYPES:
        error_class: type[Exception] = theirs.ModelContextWindowExceededError
    else:
        error_class = type(error)
    if issubclass(error_class, theirs.ModelConnectionError) and getattr(error, "phase", None) == "connect":
        return ModelUnavailableError, (
            f"cannot be reached at {told.address}. Start the server, or correct the address (--base-url), "
            "or check the network."
        )
    for theirs_class, our_class, happened in _TABLE:
        if issubclass(error_class, theirs_class):
            return our_class, happened.format(address=told.address, keys=told.keys)
    return _by_status(error)


_TABLE: tuple[tuple[type[Exception], type[ModelError], str], ...] = (
    (theirs.ModelTimeoutError, ModelTimeoutError, "at {address} did not answer in time."),
    (theirs.ModelRequestTimeout, ModelTimeoutError, "at {address} did not answer in time."),
    (theirs.ModelConnectionError, OverloadedError, "at {address} broke off before the reply was whole."),
    (
        theirs.ModelContextWindowExceededError,
        ContextLengthError,
        "cannot take this prompt: it is longer than its context. Use a model with a longer one, or shorten the plan.",
    ),
    (theirs.ModelAuthenticationError, ModelUnavailableError, "refused the key at {address}. Check {keys}."),
    (
        theirs.ModelNotFoundError,
        ModelUnavailableError,
        "was not found at {address} (404). Check the model's name and the address, which often has to end in /v1.",
    ),
    (theirs.ModelQuotaExceededError, ModelUnavailableError, "has no credit or quota left on this account."),
    (theirs.ModelRateLimitError, OverloadedError, "asks for fewer calls (429)."),
    (theirs.ModelUnavailableError, OverloadedError, "is overloaded or down for now."),
    (theirs.ModelServerError, OverloadedError, "failed on the server's side."),
    (theirs.UserError, ModelError, "cannot be asked this way."),
    (theirs.UnexpectedModelBehavior, OverloadedError, "sent something that is no reply."),
)


def _by_status(error: Exception) -> tuple[type[ModelError], str]:
    """By the HTTP status, where the library has no class for it."""
    status = getattr(error, "status_code", None)
    if status is None:
        return OverloadedError, "sent something that is no reply."
    if status in _TRY_AGAIN or status >= _SERVER_FAILED:
        return OverloadedError, f"is busy or failed ({status})."
    return ModelError, f"rejected the request ({status})."


def _said(error: Exception) -> str:
    """The server's own words, cut to a readable length; nothing where no server spoke."""
    if isinstance(error, theirs.ModelConnectionError | theirs.ModelRequestTimeout):
        return ""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        text = inner.get("message") if isinstance(inner, dict) else inner
        text = text if isinstance(text, str) else str(body)
    else:
        text = body if isinstance(body, str) and body else str(error)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
