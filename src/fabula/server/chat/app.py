"""The application: `POST /v1/chat/completions` and `GET /v1/models`, as OpenAI has them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from fabula.app.live_turns import LiveTurn
from fabula.base.errors import FabulaError
from fabula.base.version import __version__
from fabula.models.base import NOTHING_USED
from fabula.server.chat.clients import chore_in
from fabula.server.chat.projects import OVER, ServedProjects, TurnRequest
from fabula.server.chat.turns import ChatOutcome, Meter, measured
from fabula.server.chat.wire import ChatRequest, Envelope, model_body, requested_turn
from fabula.server.faults import SURPRISE, ErrorBody, FaultBody, of_status, problem_of, problem_of_fields
from fabula.server.gate import SILENT, AccessTokens, App, Bounds, Gate, Rates

_LOG: Final = logging.getLogger("fabula.server")
_FAULTS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": FaultBody, "description": description}
    for status, description in {
        400: "The request is not valid.",
        401: "There is no valid token.",
        404: "There is no such model.",
        408: "The body did not arrive in time.",
        413: "The body or the message is too long.",
        422: "A field is missing or has the wrong type.",
        429: "Too many requests.",
        500: "An unexpected error occurred.",
        502: "The language model's answer could not be used.",
        503: "The language model cannot be reached or is busy.",
        504: "The answer took too long.",
    }.items()
}
_ANSWERED: Final[dict[str, Any]] = {
    "description": "The answer. If `stream` is true, it is sent in pieces as server-sent events.",
    "content": {
        "application/json": {"schema": {"type": "object", "required": ["id", "object", "choices", "usage"]}},
        "text/event-stream": {
            "itemSchema": {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
        },
    },
}
_CONVERSATION: Final = Header(alias="X-Fabula-Session", description="The conversation, if the client specifies one.")


@dataclass(frozen=True)
class Dependencies:
    """The dependencies of the server: projects, tokens, limits and clocks.

    Attributes:
        catalogue: the projects.
        tokens: the tokens that the gate accepts.
        bounds: the limits of requests.
        clock: a monotonic clock, in seconds.
        now: seconds since 1970.
        name: gives each reply its own identifier.
    """

    catalogue: ServedProjects
    tokens: AccessTokens
    bounds: Bounds
    clock: Callable[[], float]
    now: Callable[[], float]
    name: Callable[[], str]


@dataclass
class _Chat:
    """Answers requests for turns, up to a number at a time."""

    means: Dependencies
    active: int = field(default=0)

    async def answer(self, request: Request, body: ChatRequest, conversation: str) -> Response:
        """The turn that a request asks for, in one piece or as a stream."""
        bounds = self.means.bounds
        envelope = Envelope(f"chatcmpl-{self.means.name()}", int(self.means.now()), body.model, tuple(body.not_used))
        try:
            body.check_able()
            served, characters = self.means.catalogue.find(body.model)
            chore = chore_in(body.messages)
            if chore is not None:
                return _chore_done(chore.answer(characters), envelope, body)
            wanted = _wanted(characters, body, conversation)
        except FabulaError as error:
            return _response(problem_of(error))
        if self.active >= bounds.turns:
            message = f"The server is already making {bounds.turns} answers, its maximum. Try again."
            return _response(ErrorBody(429, message, "rate_limit_error", "too_many_turns", retry_after=1))
        pending, meter = LiveTurn[ChatOutcome](), Meter()
        self.active += 1
        turn = served.turn(wanted, pending.hear if body.stream else None)
        pending.start(measured(meter, bounds.answer, turn)).add_done_callback(self._done)
        if body.stream:
            return await _streamed(pending, meter, envelope, bounds.patience, with_usage=body.with_usage)
        return await _whole(pending, meter, envelope, request)

    def _done(self, _: object) -> None:
        self.active -= 1


def _wanted(characters: tuple[str, ...], body: ChatRequest, conversation: str) -> TurnRequest:
    """The characters who answer, the message, and the conversation."""
    about = body.metadata or {}
    return TurnRequest(
        characters,
        about.get("player", ""),
        conversation or about.get("session_id", ""),
        body.user or "",
        requested_turn(body.messages, (OVER,)),
        about.get("present", ""),
        about.get("freedom", ""),
    )


def _chore_done(text: str, envelope: Envelope, body: ChatRequest) -> Response:
    """The answer to a chat program's own request; no conversation changes."""
    if not body.stream:
        return JSONResponse(envelope.whole(text, NOTHING_USED, {}))
    pieces = [envelope.piece({"role": "assistant", "content": text}), envelope.piece({}, "stop")]
    if body.with_usage:
        pieces.append(envelope.usage(NOTHING_USED))
    return Response("".join(map(_event, pieces)) + "data: [DONE]\n\n", media_type="text/event-stream")


def application(means: Dependencies, more: Callable[[FastAPI], None] = lambda _: None) -> App:
    """The complete application, with its gate; `more` adds other addresses to it."""
    app = FastAPI(
        title="fabula",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        responses=_FAULTS,
        redirect_slashes=False,
        telemetry=SILENT,
    )
    _handle(app)
    chat, began = _Chat(means), int(means.now())

    @app.post("/v1/chat/completions", summary="The next turn of a character", responses={200: _ANSWERED})
    async def complete(
        request: Request, body: ChatRequest, conversation: Annotated[str | None, _CONVERSATION] = None
    ) -> Response:
        return await chat.answer(request, body, conversation or "")

    @app.get("/v1/models", summary="The characters with whom you can talk")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [model_body(name, began) for name in means.catalogue.models]}

    @app.get("/v1/models/{model:path}", summary="One character, or several")
    async def model(model: str) -> Response:
        if not means.catalogue.knows(model):
            return _response(
                ErrorBody(404, f"There is no model {model[:200]!r}.", code="model_not_found", param="model")
            )
        return JSONResponse(model_body(model, began))

    more(app)
    return Gate(app, means.tokens, means.bounds, Rates(means.bounds.rate, means.clock))


def _handle(app: FastAPI) -> None:
    """Give every error OpenAI's format."""

    @app.exception_handler(RequestValidationError)
    async def misshapen(_: Request, error: RequestValidationError) -> Response:
        found = problem_of_fields(error)
        return _response(of_status(400, "") if found.code == "invalid_json" else found)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        problem = of_status(error.status_code, error.detail, request.url.path)
        return _response(problem, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def surprised(_: Request, error: Exception) -> Response:
        del error  # the web server logs it
        return _response(SURPRISE)


def _response(problem: ErrorBody, headers: dict[str, str] | None = None) -> Response:
    return Response(problem.bytes, problem.status, {**(headers or {}), **problem.headers})


def _problem(pending: LiveTurn[ChatOutcome]) -> ErrorBody:
    """The error for a turn that failed; an unexpected error is also logged."""
    error, stopped = pending.problem, pending.task is not None and pending.task.cancelled()
    problem = problem_of(error)
    if problem.status >= 500 and not stopped:  # noqa: PLR2004 - who went away gets nothing
        _LOG.error("A turn failed: %s: %s", type(error).__name__, error)
    return problem


async def _whole(pending: LiveTurn[ChatOutcome], meter: Meter, envelope: Envelope, request: Request) -> Response:
    """The answer in one piece; if the client disconnects, the turn is not made."""
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({gone, *filter(None, [pending.task])}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        await pending.stop()
    if pending.result is None:
        return _response(_problem(pending))
    return JSONResponse(envelope.whole(pending.result.text, meter.usage, pending.result.about))


async def _gone(request: Request) -> None:
    """Wait until the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(
    pending: LiveTurn[ChatOutcome], meter: Meter, envelope: Envelope, patience: float, *, with_usage: bool
) -> Response:
    """The answer as a stream; a failure before its first piece is an error of the response itself."""
    async for _ in pending.follow(patience):
        break
    if pending.problem is not None and not pending.pieces:
        return _response(_problem(pending))
    events = _events(pending, meter, envelope, patience, with_usage=with_usage)
    return StreamingResponse(events, media_type="text/event-stream")


async def _pieces(pending: LiveTurn[ChatOutcome], patience: float) -> AsyncIterator[str]:
    """Pieces of the answer as they arrive; the last piece is the rest of the answer."""
    async for piece in pending.follow(patience):
        yield piece
    if pending.result is not None and pending.result.text != pending.text:
        yield pending.result.text.removeprefix(pending.text)


async def _events(
    pending: LiveTurn[ChatOutcome], meter: Meter, envelope: Envelope, patience: float, *, with_usage: bool
) -> AsyncIterator[str]:
    """The server-sent events of a reply."""
    usage: dict[str, Any] = {"usage": None} if with_usage else {}
    try:
        yield _event(envelope.piece({"role": "assistant", "content": ""}, **usage))
        async for piece in _pieces(pending, patience):
            # A comment keeps the connection open while the next cell is prepared.
            yield _event(envelope.piece({"content": piece}, **usage)) if piece else ": in the making\n\n"
        if pending.result is None:
            yield _event(_problem(pending).body)
            return
        yield _event(envelope.piece({}, "stop", fabula=envelope.about(pending.result.about), **usage))
        if with_usage:
            yield _event(envelope.usage(meter.usage))
        yield "data: [DONE]\n\n"
    finally:
        await pending.stop()


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"
