"""Calls model servers over HTTP: sends a request, passes on the reply, and raises fabula's errors.

Only the client, which `providers` keeps open, leaves this module as a type of the HTTP library.
"""

from __future__ import annotations

import json
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx2

from fabula.base.addresses import is_loopback, is_near
from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
    UnreachableError,
    UnreadableReplyError,
)
from fabula.base.extras import extra

if TYPE_CHECKING:
    from fabula.models.base import Json
    from fabula.models.dialects import Dialect, Received


_CONNECT: Final = 10.0
LARGEST: Final = 64_000_000
"""The maximum number of bytes in a reply, which is many times the size of the longest streamed reply."""
_LARGEST_ERROR: Final = 1_000_000
_LONGEST: Final = 300  # characters of a server's words in a message
_EVENT_END: Final = re.compile(rb"\r?\n\r?\n|\r\r")
_LONGEST_END: Final = 3  # of its bytes that may have come with the piece before
_NO_WORD: Final = 3  # tokens that a model may have written where it said nothing: marks of a reply's end
_NO_TEXT: Final = "the reply holds no text"
_ENDED_BADLY: Final = ("error", "response.failed")
_AMAZONS: Final = "amazon.eventstream"


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a server: address with path, query, headers and body."""

    url: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes


def written(body: Json) -> bytes:
    """A body as it is sent.

    Raises:
        UnicodeEncodeError: the body contains half a character.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(eq=False)
class RefusedError(Exception):
    """A server answered with an error status, or with an error in its reply (status 0)."""

    status: int
    said: Any
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class NoReplyError(Exception):
    """The server's answer is not a reply; the message, if any, says why."""


class CutError(NoReplyError):
    """A stream ended before the reply did."""


class TooLongError(Exception):
    """The server sent more than any reply can hold."""


def http_client(address: str, timeout: float, parallel: int) -> httpx2.AsyncClient:
    """A client for a server; loopback is never reached through a proxy."""
    local = is_loopback(address)
    # Reading the certificates takes 40 ms. A context without any trusts nobody, and plain http needs none.
    plain = local and urlsplit(address).scheme == "http"
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # below that it logs addresses with what is appended to them
    return httpx2.AsyncClient(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
        timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT), pool=None),
        limits=httpx2.Limits(max_connections=max(parallel, 100), max_keepalive_connections=max(parallel, 20)),
        trust_env=not local,
    )


async def exchange(
    http: httpx2.AsyncClient, call: Call, dialect: Dialect, got: Received, on_text: Callable[[str], None] | None
) -> None:
    """Send a call, collect the reply in `got`, and pass text to `on_text`. Leaving early closes the connection.

    Raises:
        RefusedError, NoReplyError, TooLongError: there is no reply.
        httpx2.HTTPError: the connection failed.
    """
    sent = http.stream("POST", call.url, params=call.query or None, headers=call.headers, content=call.content)
    async with sent as response:
        if not response.is_success:
            said = await _whole(response, _LARGEST_ERROR)
            raise RefusedError(response.status_code, _json(said) or said.decode("utf-8", "replace"), response.headers)
        kind = response.headers.get("content-type", "")
        streamed = "event-stream" in kind or _AMAZONS in kind
        events = (_amazons(response) if _AMAZONS in kind else _events(response)) if streamed else _single(response)
        async with aclosing(events):
            async for event in events:
                if not isinstance(event, dict) or not (event or streamed):  # `{}` keeps some streams alive
                    raise NoReplyError("the answer is not a JSON object")
                piece = dialect.read(event, got)
                if event.get("error") or event.get("type") in _ENDED_BADLY:
                    raise RefusedError(_UNKNOWN_STATUS, event)
                if piece and on_text is not None:
                    on_text(piece)
    _check(got, streamed=streamed)


def _check(got: Received, *, streamed: bool) -> None:
    """Refuse a reply that is none.

    A text of no words is a reply where the server says that the model ended so and wrote hardly a token.
    """
    if got.refused or got.cut:
        return
    silent = not any(got.text)
    if streamed and not got.finish:
        raise CutError("the stream ended before the reply did")
    if silent and not any(got.thought) and (got.null or not got.finish or got.tokens[3] > _NO_WORD):
        raise NoReplyError(_NO_TEXT)


async def _single(response: httpx2.Response) -> AsyncGenerator[Any, None]:
    """The JSON value of a whole reply."""
    yield _json(await _whole(response, LARGEST))


async def _whole(response: httpx2.Response, most: int) -> bytes:
    came = bytearray()
    async for piece in response.aiter_bytes():
        came += piece
        if len(came) > most:
            raise TooLongError
    return bytes(came)


async def _events(response: httpx2.Response) -> AsyncGenerator[Any, None]:
    """The JSON values of a stream's events, as they come; what is not JSON is `None`."""
    came, length = bytearray(), 0
    async for piece in response.aiter_bytes():
        length += len(piece)
        if length > LARGEST:
            raise TooLongError
        start = max(0, len(came) - _LONGEST_END)
        came += piece
        while (end := _EVENT_END.search(came, start)) is not None:
            data = _data(bytes(came[: end.start()]))
            del came[: end.end()]
            start = 0
            if data is not None:
                yield _json(data)
    if (data := _data(bytes(came))) is not None:
        yield _json(data)


def _data(event: bytes) -> bytes | None:
    """What stands in the data of an event; `None` where it has none, or says only that it was the last."""
    if event.startswith(b"data: ") and b"\n" not in event:  # as nearly all
        data = event[6:].strip()
    else:
        lines = event.splitlines()
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    return None if data in {b"", b"[DONE]"} else data


async def _amazons(response: httpx2.Response) -> AsyncGenerator[Any, None]:
    """The events of Amazon's streams, each under the name of its type."""
    stream = extra("botocore.eventstream", "bedrock", "A model at Amazon Bedrock")
    buffer, length = stream.EventStreamBuffer(), 0
    async for piece in response.aiter_bytes():
        length += len(piece)
        if length > LARGEST:
            raise TooLongError
        buffer.add_data(piece)
        try:
            events = list(buffer)
        except stream.ParserError:
            events = [None]
        for event in events:
            if event is None:
                yield None
                continue
            said = _json(event.payload)
            name = event.headers.get(":exception-type") or event.headers.get(":event-type", "")
            failed = ":exception-type" in event.headers
            yield {"error": {"code": name, **(said or {})}} if failed else {name: said}


def _json(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- failing ----------------------------------------------------------------------------------------------------------

_LOADS: Final = 15.0  # seconds after which a server that loads a model is asked again
_UNKNOWN_STATUS: Final = 0
_TRY_AGAIN: Final = frozenset({408, 409, 425, 429})
_GAVE_UP: Final = frozenset({408, 504, 524})  # statuses of servers that waited in vain for what may have been working
_SERVER_FAILED: Final = 500
_SAYS_ENOUGH: Final = frozenset({401, 402, 403, 404, 429})
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation"})
_MEMORY, _CONTEXT, _LOADING = 1, 2, 3  # where other errors have their status
# What servers say of a prompt that is too long, of too little memory, of a model that they are loading, and of a key,
# where neither a code nor a status of theirs does. These are a server's words, never a model's.
_WORDS: Final = (
    (_MEMORY, r"(?:more system|out of|not enough) memory|insufficient system resources|(?:unable|failed) to allocate"),
    (_MEMORY, r"not enough resources to load"),
    (
        _CONTEXT,
        r"context (?:length|size|window)|when context (?:the )?overflows|maximum prompt length|input token count",
    ),
    (_CONTEXT, r"(?:prompt|input) is too long|input tokens exceeded|reduce the length of the messages"),
    (_LOADING, r"loading model|model is loading|(?:currently|still) loading"),
    (401, r"incorrect api key|invalid api key|api key not valid"),
    (404, r"model identifier is invalid"),
)
# What servers say in a code or a type, as the status that it should have had.
_CODES: Final = {
    code: status
    for status, codes in (
        (_CONTEXT, "exceed_context_size_error context_length_exceeded"),
        (402, "insufficient_quota billing_hard_limit_reached credit_balance_exhausted servicequotaexceededexception"),
        (402, "organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_exceeded"),
        (402, "exceeded_current_quota_error perday"),
        (401, "invalid_api_key authentication_error api_key_invalid unauthenticated permission_denied"),
        (401, "unrecognizedclientexception accessdeniedexception expiredtokenexception invalidsignatureexception"),
        (404, "model_not_found not_found_error resourcenotfoundexception not_found"),
        (429, "rate_limit_exceeded rate_limit_error throttlingexception resource_exhausted too_many_requests"),
        (503, "overloaded_error overloaded server_is_overloaded service_unavailable unavailable"),
        (503, "serviceunavailableexception modelnotreadyexception"),
        (500, "server_error internalserverexception modelstreamerrorexception internal"),
    )
    for code in codes.split()
}
_BY_STATUS: Final[Mapping[int, tuple[type[ModelError], str]]] = {
    _MEMORY: (
        ModelUnavailableError,
        "does not fit into the memory of its server. Take a smaller model, give it a shorter context, or free memory.",
    ),
    _CONTEXT: (
        ContextLengthError,
        "cannot take this prompt: it is longer than its context. Use a model with a longer one, or shorten the plan.",
    ),
    _LOADING: (OverloadedError, "is still being loaded by its server."),
    401: (ModelUnavailableError, "refused the key at {address}. Check {keys}."),
    403: (ModelUnavailableError, "refused the key at {address}. Check {keys}."),
    404: (
        ModelUnavailableError,
        "was not found at {address} (404). Check the model's name and the address, which often has to end in /v1.",
    ),
    402: (ModelUnavailableError, "has no credit or quota left on this account."),
    429: (OverloadedError, "asks for fewer calls (429)."),
    503: (OverloadedError, "is overloaded or down for now."),
    529: (OverloadedError, "is overloaded or down for now."),
}
_NO_REPLY: Final = "at {address} sent something that is not a reply."
_NEAR: Final = "Start the server, or correct the address (--base-url), or check the network."
_FAR: Final = "Check the network, a proxy or the address (--base-url), and run the same command again."
_NOT_FOUND: Final = 404
_CONNECTING: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
_OTHERS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[ModelError], str], ...]] = (
    (CutError, OverloadedError, _NO_REPLY),
    (NoReplyError, UnreadableReplyError, _NO_REPLY),
    (
        _CONNECTING,
        UnreachableError,
        "cannot be reached at {address}. {reach}",
    ),
    (httpx2.TimeoutException, ModelTimeoutError, "at {address} did not answer in time."),
    (httpx2.DecodingError, UnreadableReplyError, _NO_REPLY),
    (httpx2.TransportError, OverloadedError, "at {address} closed the connection before the reply was complete."),
)


@dataclass(frozen=True)
class Wording:
    """Details of a model for its error messages.

    Attributes:
        name: the name of the model.
        address: the address of its server, without secrets.
        keys: the variables that may hold its key.
        scrub: removes keys from any text.
        start, fetch: the commands for a server on the user's own machine; empty for others.
    """

    name: str
    address: str
    keys: str
    scrub: Callable[[str], str]
    start: str = ""
    fetch: str = ""


def failure_of(error: Exception, wording: Wording, got: Received) -> ModelError:
    """Fabula's error for an error during a call, with the server's words but without keys.

    Raise it outside the `except` block, so that the library's error, which may contain the key, is not attached.
    """
    kind, happened, said, after = _meaning(error, wording)
    reach = _NEAR if is_near(wording.address) else _FAR
    happened = happened.replace("{reach}", reach).replace("{address}", wording.address).replace("{keys}", wording.keys)
    said = _shortened(wording.scrub(said))
    failure = kind(
        f"{wording.name} {happened}" + (f" It said: {said}" if said else ""), model=wording.name, retry_after=after
    )
    prompt, _, _, reply = got.tokens
    failure.tokens = prompt, reply
    failure.may_cost = failure.may_cost or _may_cost(error)
    return failure


def _meaning(error: Exception, wording: Wording) -> tuple[type[ModelError], str, str, float | None]:
    """Our class, what happened, the server's words, and how long it asks to wait."""
    if isinstance(error, RefusedError):
        status, after = _status_of(error), _retry_after(error)
        kind, happened = _by_status(status, in_reply=error.status == _UNKNOWN_STATUS)
        if status == _NOT_FOUND and wording.name.startswith("azure:"):
            happened += " On Azure, this is the name of your deployment."
        elif status == _NOT_FOUND and wording.fetch:
            happened += f" Run `{wording.fetch}`. `fabula models` lists the models that are served here."
        return kind, happened, words_of(error.said), _LOADS if after is None and status == _LOADING else after
    kind, happened = next(
        ((kind, happened) for errors, kind, happened in _OTHERS if isinstance(error, errors)),
        (ModelError, "could not be asked."),
    )
    if kind is UnreachableError and wording.start:
        happened += f" `{wording.start}` starts it, and `fabula models` lists the models on this machine."
    if isinstance(error, TooLongError):
        happened = f"at {{address}} sent more than {LARGEST // 10**6} MB as one reply."
    said = str(error) if isinstance(error, NoReplyError) else "" if isinstance(error, httpx2.HTTPError) else repr(error)
    return kind, happened, "" if isinstance(error, TooLongError) else said, None


def _may_cost(error: Exception) -> bool:
    """Whether a server may have worked on a reply that did not come: it broke off, gave up, or sent too much."""
    if isinstance(error, RefusedError):
        return error.status in _GAVE_UP
    broke_off = isinstance(error, httpx2.TransportError) and not isinstance(error, _CONNECTING)
    return broke_off or isinstance(error, TooLongError | CutError)


def _by_status(status: int, *, in_reply: bool) -> tuple[type[ModelError], str]:
    """Our class and what happened; an error within a reply has no status of its own."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status == _UNKNOWN_STATUS:
        return OverloadedError, _NO_REPLY
    if status in _TRY_AGAIN:
        return OverloadedError, f"is busy or failed ({status})."
    if status >= _SERVER_FAILED:
        return OverloadedError, "failed on the server's side."
    return ModelError, "rejected the request." if in_reply else f"rejected the request ({status})."


def _status_of(error: RefusedError) -> int:
    """The status that an error has, or should have had; 0 where nothing says it."""
    signs = _signs(error.said)
    if _CONTEXT in (meant := [_CODES[sign] for sign in signs if sign in _CODES]):
        return _CONTEXT
    if error.status not in _SAYS_ENOUGH:
        said = words_of(error.said).lower()
        for status, words in _WORDS:
            if re.search(words, said):
                return status
    if meant and (error.status in {0, 400, 403, 404, 429} or error.status >= _SERVER_FAILED):
        return meant[0] if error.status not in {403, 404} else error.status
    numbers = (int(sign) for sign in signs if sign.isascii() and sign.isdigit() and len(sign) == len("400"))
    return error.status or next(numbers, _UNKNOWN_STATUS)


def _signs(said: object) -> list[str]:
    """What an error's body calls its code, type and reason, in small letters."""
    inner = _inner(said)
    named = [inner.get(name) for name in ("code", "type", "status", "__type", "Code")]
    for detail in inner.get("details") or () if isinstance(inner.get("details"), list) else ():
        if isinstance(detail, dict):
            named.append(detail.get("reason"))
            violations = detail.get("violations")
            quotas = (
                [str(v.get("quotaId")) for v in violations if isinstance(v, dict)]
                if isinstance(violations, list)
                else []
            )
            named += ["perday" for quota in quotas if "PerDay" in quota]
    return [str(sign).rpartition("#")[2].lower() for sign in named if isinstance(sign, str | int)]


def is_filtered(error: RefusedError) -> bool:
    """Whether the provider withheld the reply because of its content, which is a refusal and not a failure."""
    metadata = _inner(error.said).get("metadata")
    if isinstance(metadata, dict) and metadata.get("reasons"):  # OpenRouter's moderation
        return True
    return not _FILTERED.isdisjoint(_signs(error.said))


def words_of(said: object) -> str:
    """A server's own words in an error."""
    inner = _inner(said)
    words = [text for name in ("message", "Message", "error", "detail") if isinstance(text := inner.get(name), str)]
    metadata = inner.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):  # what OpenRouter's provider said
        words.append(str(metadata["raw"]))
    named = inner.get("param")
    if isinstance(named, str) and named not in " ".join(words):
        words.append(f"({named})")
    if not words and said:
        words = [said if isinstance(said, str) else json.dumps(inner or said, ensure_ascii=False)]
    return " ".join(words)


def _inner(said: object) -> Json:
    """The object of an error's body that says what happened; empty where there is none."""
    if not isinstance(said, dict):
        return {}
    response = said.get("response")
    inner = said.get("error") or said.get("Error") or (response.get("error") if isinstance(response, dict) else None)
    return inner if isinstance(inner, dict) else said


def _retry_after(error: RefusedError) -> float | None:
    """Seconds that the server asks to wait, as a number, a date, or Google's detail of an error."""
    seconds: float | None = None
    header, thousandths = error.headers.get("retry-after", ""), error.headers.get("retry-after-ms", "")
    with suppress(ValueError, TypeError):
        seconds = float(thousandths) / 1000 if thousandths else float(header)
    if seconds is None and header:
        with suppress(ValueError, TypeError, OverflowError):
            at = parsedate_to_datetime(header)
            seconds = max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    details = _inner(error.said).get("details")
    for detail in details if seconds is None and isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            with suppress(ValueError):
                seconds = float(delay[:-1])
    return seconds if seconds is not None and isfinite(seconds) and seconds >= 0 else None


def _shortened(text: str) -> str:
    """A text on one line, cut to a readable length."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


# Amazon Bedrock: requests signed with the user's AWS configuration ---------------------------------------------------

_REGION: Final = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_HELP: Final = "Set AWS_BEARER_TOKEN_BEDROCK and AWS_REGION in the environment, or run `aws configure`."


def _aws(module: str) -> Any:  # noqa: ANN401 - a module has no better type
    return extra(f"botocore.{module}", "bedrock", "A model at Amazon Bedrock")


def signed(call: Call, name: str) -> Call:
    """The call with its signature or key, and with the address of the configured region if it has none.

    Call this in a thread: on Amazon's own machines, it may wait for their credentials.

    Raises:
        ModelUnavailableError: there are no credentials, or no region.
        UsageError: the extra `bedrock` is not installed.
    """
    session, problem, headers, url = _aws("session").Session(), "", dict(call.headers), call.url
    try:
        keyed = "authorization" in call.headers
        credentials = None if keyed else session.get_credentials()
        named = _REGION.match(urlsplit(url).hostname or "")
        # an address of one's own needs no region
        region = named[1] if named else session.get_config_variable("region") or ("us-east-1" if "://" in url else "")
        url = url if "://" in url else f"https://bedrock-runtime.{region}.amazonaws.com{url}"
        if not region:
            problem = "no region is configured"
        elif credentials is None:
            problem = "" if keyed else "no credentials are configured"
        else:
            request = _aws("awsrequest").AWSRequest("POST", url, data=call.content, headers=headers)
            _aws("auth").SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(request)
            headers = dict(request.headers.items())
    except _aws("exceptions").BotoCoreError as error:
        problem = str(error).rstrip(".")
    if problem:
        raise ModelUnavailableError(f"{name} cannot be asked: {problem}. {_HELP}", model=name)
    return replace(call, url=url, headers=headers)
