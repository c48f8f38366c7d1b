"""Projects on a fabula server (`fabula studio` or `fabula serve`), from Python.

    import fabula

    client = fabula.Client("http://127.0.0.1:8731", token)
    ferry = client.project("ferry")
    text = ferry.text("exposition")
    ferry.edit(text.name, text.text.replace("grey", "blue"), text.base)
    written = ferry.update(on_event=print)

Long-running work is a run on the server, which a verb follows to its end. `start` only begins a run, and `follow` gives
its events. Results are objects of the server's classes, and refusals are fabula's errors. A verb waits for its result;
in an event loop, write `await ferry.update_async()`. You need to install only fabula itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from fabula.app.bills import Estimate
from fabula.app.conversations import ChatMade, ChatView
from fabula.base import errors
from fabula.base.errors import (
    ConflictError,
    DiskFullError,
    FabulaError,
    GoneError,
    LockedError,
    PausedError,
    ServerError,
    UsageError,
)
from fabula.engine.event_log import event_of
from fabula.server.api.wire import Messages, Prompts, RunEvents, RunList
from fabula.server.runs.record import RunRecord
from fabula.verbs.base import File, OnEvent, Verb, adapter, long_verb
from fabula.verbs.doors import ShelfVerbs, Verbs

if TYPE_CHECKING:
    from fabula.craft.conversation import MoveKind


T = TypeVar("T")
F = TypeVar("F", bound=File)

PATIENCE: Final = 60.0  # seconds for an answer
_SILENCE: Final = 30.0  # seconds without a sign of life after which a stream is reopened
_PAUSES: Final = (0.0, 0.5, 1.0, 2.0, 5.0)  # seconds before each attempt to reopen a stream
_LARGEST: Final = 200_000_000  # bytes of an answer
_LONGEST_LINE: Final = 20_000_000  # bytes of an event
_REFUSED: Final = 400
_KINDS: Final[Mapping[str, type[FabulaError]]] = {
    "locked": LockedError,
    "gone": GoneError,
    "disk_full": DiskFullError,
    "not_found": UsageError,
    "invalid_request": UsageError,
    "invalid_field": UsageError,
}


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """Something that happened in a project.

    Attributes:
        n: its number; the events of all projects of a server are numbered consecutively. 0 if the event is repeated.
        project: the name of the project in addresses.
        run: the run in which it happened; empty for none.
        type: "text_arrived", "kept", "run_ended", ...
        data: all its fields.
    """

    n: int
    project: str
    run: str
    type: str
    data: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ServerEvent:
        """An event from the server's JSON."""
        n, project, run, type_ = (data.get(one) for one in ("n", "project", "run", "type"))
        return cls(int(n or 0), str(project or ""), str(run or ""), str(type_ or ""), data)


class ServerConnection:
    """Makes requests to a server, each on its own connection."""

    def __init__(self, address: str, token: str, patience: float) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{address!r} is not the address of a server. Use an address such as http://127.0.0.1:8731."
            )
        self._parts, self._token, self._patience = parts, token, patience

    def get(self, kind: type[T], path: str, **asked: object) -> T:
        """The server's answer to a GET request, as an object of a class."""
        given = {name: value for name, value in asked.items() if value not in (None, "")}
        return self.send(kind, "GET", f"{path}?{urlencode(given)}" if given else path)

    def send(self, kind: type[T], method: str, path: str, body: Mapping[str, Any] | None = None) -> T:
        """The server's answer to a request, as an object of a class."""
        return read_as(kind, self.whole(method, path, body))

    def whole(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        """The bytes of the server's answer."""
        return self._read(method, path, body)[1]

    def file(self, kind: type[F], path: str) -> F:
        """A file from the server, with its description."""
        headers, content = self._read("GET", path)
        return kind(**json.loads(headers["fabula-file"]), content=content)

    def _read(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[HTTPMessage, bytes]:
        """The headers and the body of the server's answer; the request is repeated once if the connection breaks.

        Raises:
            FabulaError: the server refuses the request or cannot be reached.
        """
        key, tries = uuid4().hex if method == "POST" else "", 2
        while True:
            tries -= 1
            try:
                connection, response = self.open(method, path, body, key=key)
                try:
                    return response.headers, response.read(_LARGEST)
                finally:
                    connection.close()
            except (OSError, HTTPException) as error:
                if not tries or not isinstance(error, ConnectionResetError | HTTPException):
                    raise self.unreachable(error) from error

    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        patience: float | None = None,
        key: str = "",
        kind: str = "application/json",
    ) -> tuple[HTTPConnection, HTTPResponse]:
        """An answer that has begun, and its connection; a request repeated with the same `key` is carried out once."""
        opened = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        connection = opened(self._parts.hostname or "", self._parts.port, timeout=patience or self._patience)
        headers = {"authorization": f"Bearer {self._token}", "accept": kind}
        content = None if body is None else json.dumps(dict(body)).encode()
        if content is not None:
            headers["content-type"] = "application/json"
        if key:
            headers["idempotency-key"] = key
        try:
            connection.request(method, f"{self._parts.path.rstrip('/')}/api/v1{path}", content, headers)
            response = connection.getresponse()
            refused = _error_of(response.status, response.read(_LARGEST)) if response.status >= _REFUSED else None
        except BaseException:
            connection.close()
            raise
        if refused is not None:
            connection.close()
            raise refused
        return connection, response

    def do(self, verb: Verb, arguments: Mapping[str, Any], kind: Any = None, below: str = "") -> Any:  # noqa: ANN401 - what the verb gives
        """The result of a verb with named arguments; the project is one of them if the verb belongs to a project.

        An address `below` that of the verb gives a result of another `kind`.

        Raises:
            FabulaError: the server refuses the request or cannot be reached.
        """
        named = set(re.findall(r"{(\w+)}", address := verb.address.replace(":path}", "}")))
        path = address.format(**{name: _quoted(str(arguments[name])) for name in named}) + below
        sent = {name: value for name, value in arguments.items() if name not in named}
        kind = kind or verb.result
        if verb.body is not None:
            return self.send(kind, verb.method, path, sent)
        given = urlencode({name: value for name, value in sent.items() if value is not None})
        path = f"{path}?{given}" if given else path
        return self.file(kind, path) if issubclass(kind, File) else self.send(kind, verb.method, path)

    def events(self, after: int | None, *, follow: bool) -> Iterator[ServerEvent]:
        """The events of the server; an interrupted stream is reopened where it ended."""
        failed = 0
        while True:
            try:
                for event in self._events_once(after, follow=follow):
                    after, failed = event.n, 0
                    yield event
                if not follow:
                    return
            except (OSError, HTTPException) as error:
                if not follow:
                    raise self.unreachable(error) from error
            time.sleep(_PAUSES[min(failed, len(_PAUSES) - 1)])
            failed += 1

    def _events_once(self, after: int | None, *, follow: bool) -> Iterator[ServerEvent]:
        asked: dict[str, Any] = {"follow": "true" if follow else "false"}
        if after is not None:
            asked["after"] = after
        connection, response = self.open("GET", f"/events?{urlencode(asked)}", patience=_SILENCE)
        try:
            for _, data in _stream(response):
                yield ServerEvent.of(data)
        finally:
            connection.close()

    def unreachable(self, error: Exception) -> ServerError:
        """The error for a server that does not answer."""
        where = f"{self._parts.scheme}://{self._parts.netloc}"
        return ServerError(
            f"The server at {where} cannot be reached ({str(error) or type(error).__name__}). Check that the "
            "server is running and that it printed this address.",
            status=0,
            code="unreachable",
        )


class Client(ShelfVerbs):
    """A fabula server.

    Args:
        address: the address that the server prints when it starts, such as `http://127.0.0.1:8731`.
        token: the server's token.
        patience: the number of seconds to wait for an answer.
    """

    def __init__(self, address: str, token: str, patience: float = PATIENCE) -> None:
        self._wire = ServerConnection(address, token, patience)

    def project(self, name: str) -> RemoteProject:
        """A project, by its name in `projects`; no request is made yet."""
        return RemoteProject(self._wire, name)

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401, ARG002 - what the verb gives
        """The result of a verb with named arguments.

        Raises:
            FabulaError: the server refuses the request or cannot be reached.
        """
        return self._wire.do(verb, arguments)

    def events(self, after: int | None = None, *, follow: bool = True) -> Iterator[ServerEvent]:
        """The events in all projects after number `after`, or from now on.

        An interrupted stream is reopened where it ended, however long that takes: no event is lost or repeated.
        `RemoteProject.follow` gives the events of one run.

        Args:
            after: the number of the last event that you have seen.
            follow: whether to wait for future events; otherwise, the iteration ends with the last existing event.
        """
        return self._wire.events(after, follow=follow)

    def events_async(self, after: int | None = None, *, follow: bool = True) -> AsyncIterator[ServerEvent]:
        """The events as an asynchronous iterator; see the method without `_async`."""
        return _in_threads(self.events(after, follow=follow))


@dataclass(frozen=True)
class RemoteProject(Verbs):
    """A project on a server, with the verbs of `fabula.Project`; `name` is its name in addresses."""

    wire: ServerConnection
    name: str

    @property
    def _at(self) -> str:
        return f"/projects/{_quoted(self.name)}"

    # looking --------------------------------------------------------------------------------------------------------

    # running --------------------------------------------------------------------------------------------------------

    def start(self, verb: str, **arguments: Any) -> RunRecord:  # noqa: ANN401 - as the verb has them
        """Start a run of a long-running verb and do not wait for it, as in `start("check", budget_tokens=100_000)`.

        Raises:
            UnknownNameError: there is no such verb.
        """
        found = long_verb(verb)
        run: RunRecord = self._do(found, found.bound((), arguments))
        return run

    def run(self, run: str) -> RunRecord:
        """The current record of a run."""
        return self._get(RunRecord, f"/runs/{_quoted(run)}")

    def result(self, run: str) -> Any:  # noqa: ANN401 - what the verb of the run gives
        """The result of a run.

        Raises:
            UsageError: the run is not finished.
        """
        return self._get(long_verb(self.run(run).verb).result, f"/runs/{_quoted(run)}/result")

    def stop(self, run: str) -> RunRecord:
        """Stop a run; finished work is kept."""
        return self._send(RunRecord, "POST", f"/runs/{_quoted(run)}/stop")

    def again(self, run: str) -> RunRecord:
        """Repeat a run as a new run; calls that are in the journal are not made again."""
        return self._send(RunRecord, "POST", f"/runs/{_quoted(run)}/again")

    def runs(self) -> RunList:
        """The runs of the project, newest first."""
        return self._get(RunList, "/runs")

    def messages(self, run: str) -> Messages:
        """The last lines that a run's command printed, apart from its result."""
        return self._get(Messages, f"/runs/{_quoted(run)}/messages")

    def follow(self, run: str) -> Iterator[ServerEvent]:
        """The events of a run, from its beginning to its end.

        Past events come without numbers, with the text of each call in one piece. Later events come as they happen.
        """
        told = self._get(RunEvents, f"/runs/{_quoted(run)}/events")
        for event in map(ServerEvent.of, told.events):
            yield replace(event, project=self.name, run=run)
        yield from self._rest(run, told.after, follow=self.run(run).is_open)

    def _rest(self, run: str, after: int, *, follow: bool) -> Iterator[ServerEvent]:
        """The events of a run after number `after`, to the end of the run or to the last existing event."""
        more = True
        while more:
            more = False
            for event in self.wire.events(after, follow=follow):
                after, more = event.n, not follow  # without following, only so many are given at a time
                if (event.project, event.run) == (self.name, run):
                    yield event
                    if event.type == "run_ended":
                        return

    def follow_async(self, run: str) -> AsyncIterator[ServerEvent]:
        """The events as an asynchronous iterator; see the method without `_async`."""
        return _in_threads(self.follow(run))

    def prompts(self, run: str) -> Prompts:
        """The prompts that a run waits for, if its model is a person who answers in a folder (`files:FOLDER`)."""
        return self._get(Prompts, f"/runs/{_quoted(run)}/prompts")

    def answer(self, run: str, prompt: str, text: str) -> None:
        """Answer a prompt that a run waits for."""
        self.wire.whole("POST", f"{self._at}/runs/{_quoted(run)}/answers", {"name": prompt, "text": text})

    # talking --------------------------------------------------------------------------------------------------------

    def listen(self, conversation: str, on_text: Callable[[str], object] = lambda _: None) -> ChatMade | None:
        """The turn in progress, from its beginning, whoever asked for it; `None` if there is none.

        Raises:
            FabulaError: the answer failed or was cut off.
        """
        return self._heard("GET", f"/chats/{_quoted(conversation)}/turns/live", None, on_text)

    def say(
        self,
        conversation: str,
        line: str | None,
        on_text: Callable[[str], object] = lambda _: None,
        *,
        move: MoveKind = "say",
        model: str = "",
    ) -> ChatMade:
        """Make a turn in an existing conversation, as `chat` does; `on_text` receives the answer piece by piece.

        Raises:
            FabulaError: the answer failed or was cut off.
        """
        return self._answered({"line": line, "conversation": conversation, "move": move, "model": model}, on_text)

    def _answered(self, wanted: Mapping[str, Any], on_text: Callable[[str], object] = lambda _: None) -> ChatMade:
        turn = self._heard("POST", "/turns", wanted, on_text)
        if turn is None:
            raise _broken_off()
        return turn

    def _heard(
        self, method: str, path: str, body: Mapping[str, Any] | None, on_text: Callable[[str], object]
    ) -> ChatMade | None:
        connection, response = self.wire.open(
            method, self._at + path, body, patience=_SILENCE, kind="text/event-stream"
        )
        try:
            for name, data in _stream(response):
                if name == "piece":
                    on_text(str(data.get("text", "")))
                elif name == "done":
                    return read_as(ChatMade, json.dumps(data).encode())
                elif name == "idle":
                    return None
                elif name == "failed":
                    raise _error_of(502, json.dumps(data).encode())
        finally:
            connection.close()
        raise _broken_off()

    def stop_answer(self, conversation: str) -> ChatView:
        """Stop the turn in progress; the conversation does not change."""
        return self._send(ChatView, "POST", f"/chats/{_quoted(conversation)}/stop")

    def do(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - what the verb gives
        """The result of a verb with named arguments; a long-running verb becomes a run, which is followed to its end.

        Raises:
            FabulaError: the server refuses the request or cannot be reached, or the verb itself failed.
        """
        if verb.result is ChatMade:
            return self._answered(arguments)
        if not verb.long:
            return self._do(verb, arguments)
        run = self._do(verb, arguments).id
        try:
            return self._come_to(verb, run, on_event)
        except BaseException:
            with suppress(FabulaError):  # it is over
                self.stop(run)
            raise

    async def do_async(self, verb: Verb, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:  # noqa: ANN401 - as above
        """The result of a verb; `on_event` is called in a thread, and cancelling the call stops the run."""
        if not verb.long:
            return await super().do_async(verb, arguments)
        run = (await asyncio.to_thread(self._do, verb, arguments)).id
        try:
            return await asyncio.to_thread(self._come_to, verb, run, on_event)
        except BaseException:
            with suppress(FabulaError):
                await asyncio.to_thread(self.stop, run)
            raise

    def estimated(self, verb: Verb, arguments: dict[str, Any]) -> Estimate:
        """The calls, tokens and cost of a long-running verb with these arguments, before it runs.

        Raises:
            FabulaError: the verb cannot run.
        """
        found: Estimate = self.wire.do(verb, {"project": self.name, **arguments}, Estimate, "/estimate")
        return found

    def _do(self, verb: Verb, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - a result, or a run
        return self.wire.do(verb, {"project": self.name, **arguments}, RunRecord if verb.long else None)

    def _come_to(self, verb: Verb, run: str, on_event: OnEvent | None) -> Any:  # noqa: ANN401 - as above
        """The result of a run, which is followed to its end."""
        for event in self.follow(run):
            if on_event is not None and (happened := event_of(event.data)) is not None:
                on_event(happened)
        ended = self.run(run)
        if ended.state == "finished":
            return self._get(verb.result, f"/runs/{_quoted(run)}/result")
        raise _error_of_run(ended)

    def _get(self, kind: type[T], path: str, **asked: object) -> T:
        return self.wire.get(kind, self._at + path, **asked)

    def _send(self, kind: type[T], method: str, path: str, body: Mapping[str, Any] | None = None) -> T:
        return self.wire.send(kind, method, self._at + path, body)


async def _in_threads(events: Iterator[ServerEvent]) -> AsyncIterator[ServerEvent]:
    while (event := await asyncio.to_thread(next, events, None)) is not None:
        yield event


def read_as(kind: type[T], data: bytes) -> T:
    """JSON as an object of a class."""
    made: T = adapter(kind).validate_json(data)
    return made


def _broken_off() -> ServerError:
    said = "The answer was cut off, but the server completes the turn. Look at the conversation."
    return ServerError(said, status=0, code="cut_off")


def _quoted(name: str) -> str:
    return quote(name, safe="/")


def _stream(response: HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the data of each server-sent event."""
    name, data = "", list[str]()
    while line := response.readline(_LONGEST_LINE):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                found = json.loads("\n".join(data))
                yield name, found if isinstance(found, dict) else {}
            name, data = "", []
        elif text.startswith("data:"):
            data.append(text.removeprefix("data:").removeprefix(" "))
        elif text.startswith("event:"):
            name = text.removeprefix("event:").strip()


def _error_of(status: int, body: bytes) -> FabulaError:
    """The server's refusal, as one of fabula's errors."""
    try:
        data = json.loads(body)
        said = data["error"]
        message, code = str(said["message"]), str(said["code"] or "")
    except (ValueError, KeyError, TypeError):
        return ServerError(
            f"The server answered with status {status}, but it does not seem to be a fabula server.",
            status=status,
            code="",
        )
    if code == "conflict" and isinstance(data.get("conflict"), dict):
        both = data["conflict"]
        return ConflictError(message, theirs=str(both.get("theirs", "")), base=str(both.get("base", "")))
    if code in _KINDS:
        return _KINDS[code](message)
    return ServerError(message, status=status, code=code)


def _error_of_run(run: RunRecord) -> FabulaError:
    """The error that explains why a run has no result, as the verb itself would have raised it."""
    if run.state == "waits":
        return PausedError(run.message, path=run.waits_for)
    made: type[FabulaError]
    for made in getattr(errors, run.kind_of_error, FabulaError).__mro__:  # the nearest class that takes only a message
        if made is FabulaError or made.__init__ is FabulaError.__init__:
            break
    if made is not FabulaError:
        return made(run.message)
    return ServerError(run.message or f"The run was {run.state}.", status=0, code=run.kind_of_error or run.state)
