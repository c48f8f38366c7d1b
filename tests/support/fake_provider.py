"""A model server on loopback that speaks five dialects and fails on command.

Dialects, by path: OpenAI chat completions, OpenAI responses, Anthropic messages, Google generateContent and Amazon
Bedrock's converse, each plain and streamed. What it answers is a script of `Answer`s; what it was sent stands in
`requests`. It is HTTP/1.1 with keep-alive over asyncio streams and nothing else, so that a benchmark can use it too::

    async with FakeProvider([overloaded(), Answer("Once.")]) as server:
        model = provider_model("openai-chat", "tale-1", base_url=server.openai_url)

`python fake_provider.py LATENCY PAUSE TIMES` serves from a process of its own and writes its address on standard
output.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Json: TypeAlias = dict[str, Any]
TEXT = "The lamp went out, and nobody spoke."
LINE_LIMIT = 2**20


@dataclass(frozen=True)
class Answer:
    """What the server says to one request.

    `latency` is seconds before the first byte, `pause` between two pieces of text. `hang` never answers: "start" before
    any byte, "middle" after the first piece of text. `cut` breaks the connection after that many pieces; where
    `instead` is given, it is sent at that point and the stream then ends as if nothing were wrong. `body` is sent as it
    is, whatever the dialect. `reasoning` is what the model thinks before it answers, in the chat dialect in a field
    that servers call differently; `reasoning_tokens` are among `reply_tokens`, unless they stand `beside` them.
    `finish` is "stop", "length", "refusal" (the model declines) or "filter" (the provider withholds the text).
    """

    text: str = TEXT
    finish: str = "stop"
    prompt_tokens: int = 21
    cached_tokens: int = 0
    reply_tokens: int = 9
    latency: float = 0.0
    pause: float = 0.0
    hang: str = ""
    cut: int | None = None
    instead: str | None = None
    status: int = 200
    error: Json | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    logprobs: Sequence[tuple[str, float]] = ()
    usage: bool = True
    reasoning: str = ""
    reasoning_tokens: int = 0
    reasoning_field: str = "reasoning_content"
    reasoning_beside: bool = False

    def pieces(self) -> list[str]:
        """The text as it is streamed: word by word, nothing lost."""
        return [w if i == 0 else " " + w for i, w in enumerate(self.text.split(" "))] if self.text else []


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def dialect(self) -> str:
        """ "chat", "responses", "messages", "google" or "bedrock", by the path."""
        for ending, name in DIALECTS.items():
            if ending in self.path:
                return name
        return "unknown"

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.body.get("stream")) or any(
            name in self.path for name in ("streamGenerateContent", "converse-stream")
        )


Script: TypeAlias = "Answer | Sequence[Answer] | Callable[[Recorded], Answer]"
Page: TypeAlias = "Answer | Json | Callable[[Json], Answer | Json]"
Pages: TypeAlias = "Mapping[str, Page]"
DIALECTS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    "enerateContent": "google",
    "/converse": "bedrock",
}


def overloaded(status: int = 429, retry_after: str | None = None, message: str = "slow down") -> Answer:
    """A server that asks for patience: 429, 500, 503 or 529."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Answer(status=status, error={"message": message}, headers=headers)


def refused_key(message: str = "bad key", status: int = 401) -> Answer:
    """A server that does not take the key."""
    return Answer(status=status, error={"message": message})


def no_such_model(message: str = "no such model") -> Answer:
    """A server that does not have the model."""
    return Answer(status=404, error={"message": message})


CONTEXT_ERRORS: dict[str, Json] = {
    "chat": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"},
    "responses": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"},
    "messages": {"message": "prompt is too long: 210 tokens > 200 maximum", "type": "invalid_request_error"},
    "google": {
        "message": "The input token count (210) exceeds the maximum number of tokens allowed (200).",
        "status": "INVALID_ARGUMENT",
    },
    "bedrock": {"message": "Input is too long for requested model."},
}
LLAMA_CONTEXT_ERROR: Json = {
    "code": 400,
    "message": "the request exceeds the available context size",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 210,
    "n_ctx": 200,
}


def too_long(error: Json | None = None) -> Answer:
    """A prompt over the model's context; each dialect in its own words unless `error` is given."""
    return Answer(status=400, error=error or {})


def broken_json() -> Answer:
    """A 200 whose body is no JSON."""
    return Answer(body=b'{"choices": [{"mess')


class FakeProvider:
    """The server; `async with` starts and stops it.

    Attributes:
        requests: what arrived, in order.
        in_flight, most_in_flight: requests being answered now, and at most at once.
        asked: set when the first request has arrived.
        client_left: set when a client closed the connection while an answer was still owed.
        first_piece: set when the first piece of a hanging stream has been sent.
        pages: what the server says of itself, by path; a page may depend on what is sent.
    """

    def __init__(self, script: Script = Answer(), pages: Pages | None = None) -> None:
        self.script, self._next = script, 0
        self.pages: Pages = pages or {}
        self.requests: list[Recorded] = []
        self.in_flight = self.most_in_flight = 0
        self.asked, self.client_left, self.first_piece = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LINE_LIMIT, backlog=512)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """Root address, as Anthropic's and Google's clients want it."""
        if self._server is None:
            raise RuntimeError("enter the server with `async with` first")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def openai_url(self) -> str:
        """Address as OpenAI's clients want it, with the version."""
        return self.url + "/v1"

    def base_url(self, kind: str) -> str:
        """The address to give a provider of `kind`."""
        return self.url if kind in {"anthropic", "google", "bedrock"} else self.openai_url

    def _answer(self, request: Recorded) -> Answer:
        page = self.pages.get(request.path)
        if page is not None:
            said = page(request.body) if callable(page) else page
            return said if isinstance(said, Answer) else Answer(body=json.dumps(said).encode())
        if self.pages and request.dialect == "unknown":
            return Answer(status=404, body=b"404 page not found", content_type="text/plain")
        if callable(self.script):
            return self.script(request)
        if isinstance(self.script, Answer):
            return self.script
        self._next += 1
        return self.script[min(self._next, len(self.script)) - 1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while (request := await read_request(reader)) is not None and await self._serve(request, reader, writer):
                pass
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client left or the server stops: both end the connection
        finally:
            writer.close()

    async def _serve(self, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; false when the connection must close after it."""
        self.requests.append(request)
        self.asked.set()
        answer = self._answer(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if answer.latency:
                await asyncio.sleep(answer.latency)
            if answer.hang == "start":
                return await self._hang(reader)
            if request.method == "POST" and answer.body is None and answer.status == 200 and request.stream:
                return await self._stream(request, answer, reader, writer)
            await self._plain(request, answer, writer)
            return answer.cut is None
        finally:
            self.in_flight -= 1

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        with suppress(ConnectionError):  # a client that leaves what it was sent unread resets the connection
            await reader.read(1)  # returns only when the client closes: no request is pipelined
        self.client_left.set()
        return False

    async def _plain(self, request: Recorded, answer: Answer, writer: asyncio.StreamWriter) -> None:
        body = answer.body if answer.body is not None else json.dumps(plain_body(request, answer)).encode()
        sent = body if answer.cut is None else body[: len(body) // 2]
        writer.write(head(answer, {"content-type": answer.content_type, "content-length": str(len(body))}) + sent)
        await writer.drain()

    async def _stream(
        self, request: Recorded, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        kind = "application/vnd.amazon.eventstream" if request.dialect == "bedrock" else "text/event-stream"
        writer.write(head(answer, {"content-type": kind, "transfer-encoding": "chunked"}))
        text_events = 0
        for event, is_text in STREAMS[request.dialect](request, answer):
            text_events += is_text
            if answer.cut is not None and text_events > answer.cut:
                if answer.instead is None:
                    await writer.drain()
                    return False
                writer.write(chunk(answer.instead) if answer.instead else b"")
                break
            if answer.hang == "middle" and text_events > 1:
                await writer.drain()
                self.first_piece.set()
                return await self._hang(reader)
            writer.write(chunk(event))
            if is_text and answer.pause:
                await writer.drain()
                await asyncio.sleep(answer.pause)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def read_request(reader: asyncio.StreamReader) -> Recorded | None:
    """The next request of a connection; `None` at its end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
        lines = raw.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        data = await reader.readexactly(int(headers.get("content-length", "0")))
    except asyncio.IncompleteReadError:
        return None
    return Recorded(method, path, headers, json.loads(data) if data else {})


def chunk(event: str | bytes) -> bytes:
    """One chunk of a body of unknown length."""
    data = event.encode() if isinstance(event, str) else event
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def head(answer: Answer, headers: Mapping[str, str]) -> bytes:
    """Status line and headers."""
    lines = [f"HTTP/1.1 {answer.status} X"] + [f"{k}: {v}" for k, v in {**headers, **answer.headers}.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def plain_body(request: Recorded, answer: Answer) -> Json:
    """The body of an answer that is not streamed."""
    if request.method == "GET":
        return {"object": "list", "data": [{"id": "tale-1", "object": "model", "created": 1, "owned_by": "fake"}]}
    if answer.error is not None:
        return error_body(request.dialect, answer.status, answer.error)
    return PLAIN[request.dialect](request, answer)


BEDROCK_ERRORS = {
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
ANTHROPIC_ERRORS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}


def error_body(dialect: str, status: int, error: Json) -> Json:
    """An error in the words of the dialect."""
    if not error:
        error = CONTEXT_ERRORS[dialect]
    if dialect == "bedrock":
        return {"__type": BEDROCK_ERRORS.get(status, "ValidationException"), **error}
    if dialect == "messages":
        return {"type": "error", "error": {"type": ANTHROPIC_ERRORS.get(status, "api_error"), **error}}
    if dialect == "google":
        return {"error": {"code": status, "status": "FAILED", **error}}
    return {"error": {"type": "error", "code": None, "param": None, **error}}


# --- OpenAI chat completions ----------------------------------------------------------------------------------------


def chat_usage(answer: Answer) -> Json:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.reply_tokens,
        "total_tokens": answer.prompt_tokens
        + answer.reply_tokens
        + (answer.reasoning_tokens if answer.reasoning_beside else 0),
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
    }


def chat_logprobs(answer: Answer) -> Json | None:
    if not answer.logprobs:
        return None
    top = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in answer.logprobs]
    return {"content": [{**top[0], "top_logprobs": top}], "refusal": None}


def chat_finish(answer: Answer) -> str:
    return {"refusal": "stop", "filter": "content_filter"}.get(answer.finish, answer.finish)


def chat_plain(request: Recorded, answer: Answer) -> Json:
    refused = answer.finish == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    } | ({answer.reasoning_field: answer.reasoning} if answer.reasoning else {})
    choice = {"index": 0, "message": message, "finish_reason": chat_finish(answer), "logprobs": chat_logprobs(answer)}
    body: Json = {"id": "c1", "object": "chat.completion", "created": 1, "model": request.body.get("model", "")}
    return body | {"choices": [choice]} | ({"usage": chat_usage(answer)} if answer.usage else {})


def chat_stream(request: Recorded, answer: Answer) -> Iterator[tuple[str, bool]]:
    base: Json = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": request.body.get("model", "")}

    def event(delta: Json, finish: str | None = None, logprobs: Json | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        return f"data: {json.dumps(base | {'choices': [choice]})}\n\n"

    yield event({"role": "assistant", "content": ""}), False
    for word in answer.reasoning.split(" ") if answer.reasoning else ():
        yield event({answer.reasoning_field: f"{word} "}), False
    field_name = "refusal" if answer.finish == "refusal" else "content"
    for i, piece in enumerate(answer.pieces()):
        yield event({field_name: piece}, None, chat_logprobs(answer) if i == 0 else None), True
    yield event({}, chat_finish(answer)), False
    if answer.usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield f"data: {json.dumps(base | {'choices': [], 'usage': chat_usage(answer)})}\n\n", False
    yield "data: [DONE]\n\n", False


# --- OpenAI responses -----------------------------------------------------------------------------------------------


def responses_part(answer: Answer, text: str) -> Json:
    if answer.finish == "refusal":
        return {"type": "refusal", "refusal": text}
    content = (chat_logprobs(answer) or {"content": []})["content"] if text else []
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": content}


def responses_item(answer: Answer, text: str, status: str) -> Json:
    content = [responses_part(answer, text)] if text else []
    return {"id": "m1", "type": "message", "role": "assistant", "status": status, "content": content}


def responses_plain(request: Recorded, answer: Answer, status: str = "") -> Json:
    reasons = {"length": "max_output_tokens", "filter": "content_filter"}
    reason = reasons.get(answer.finish)
    final = "incomplete" if reason else "completed"
    usage = {
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_tokens},
        "output_tokens": answer.reply_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": answer.prompt_tokens + answer.reply_tokens,
    }
    running = status == "in_progress"
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": request.body.get("model", ""),
        "status": status or final,
        "output": [] if running else [responses_item(answer, answer.text, final)],
        "incomplete_details": {"reason": reason} if reason and not running else None,
        "usage": None if running else usage,
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def responses_stream(request: Recorded, answer: Answer) -> Iterator[tuple[str, bool]]:
    count = iter(range(10**9))

    def event(kind: str, **values: object) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': next(count), **values})}\n\n"

    at: Json = {"item_id": "m1", "output_index": 0, "content_index": 0}
    yield event("response.created", response=responses_plain(request, answer, "in_progress")), False
    item = responses_item(answer, "", "in_progress")
    yield event("response.output_item.added", output_index=0, item=item), False
    yield event("response.content_part.added", **at, part=responses_part(answer, "")), False
    kind = "refusal" if answer.finish == "refusal" else "output_text"
    for piece in answer.pieces():
        yield event(f"response.{kind}.delta", **at, delta=piece, logprobs=[]), True
    logprobs = (chat_logprobs(answer) or {"content": []})["content"]
    yield event(f"response.{kind}.done", **at, text=answer.text, refusal=answer.text, logprobs=logprobs), False
    yield event("response.content_part.done", **at, part=responses_part(answer, answer.text)), False
    done = responses_plain(request, answer)
    yield event("response.output_item.done", output_index=0, item=done["output"][0]), False
    yield event(f"response.{done['status']}", response=done), False


# --- Anthropic messages ---------------------------------------------------------------------------------------------

ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "filter": "refusal"}


def messages_usage(answer: Answer) -> Json:
    return {
        "input_tokens": answer.prompt_tokens - answer.cached_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": answer.reply_tokens,
    }


def messages_plain(request: Recorded, answer: Answer) -> Json:
    return {
        "id": "a1",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", ""),
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": ANTHROPIC_STOPS[answer.finish],
        "stop_sequence": None,
        "usage": messages_usage(answer),
    }


def messages_stream(request: Recorded, answer: Answer) -> Iterator[tuple[str, bool]]:
    def event(kind: str, **values: object) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n"

    message = messages_plain(request, answer) | {"content": [], "stop_reason": None}
    message["usage"] = messages_usage(answer) | {"output_tokens": 1}
    yield event("message_start", message=message), False
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""}), False
    for piece in answer.pieces():
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece}), True
    yield event("content_block_stop", index=0), False
    stop = {"stop_reason": ANTHROPIC_STOPS[answer.finish], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage={"output_tokens": answer.reply_tokens}), False
    yield event("message_stop"), False


# --- Google generateContent -----------------------------------------------------------------------------------------

GOOGLE_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "PROHIBITED_CONTENT"}


def google_plain(request: Recorded, answer: Answer, text: str | None = None, *, last: bool = True) -> Json:
    parts = [{"text": answer.text if text is None else text}]
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    usage = {
        "promptTokenCount": answer.prompt_tokens,
        "cachedContentTokenCount": answer.cached_tokens,
        "candidatesTokenCount": answer.reply_tokens - answer.reasoning_tokens,
        "thoughtsTokenCount": answer.reasoning_tokens,
        "totalTokenCount": answer.prompt_tokens + answer.reply_tokens,
    }
    if last:
        candidate["finishReason"] = GOOGLE_STOPS[answer.finish]
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake", "responseId": "g1"}


def google_stream(request: Recorded, answer: Answer) -> Iterator[tuple[str, bool]]:
    for piece in answer.pieces():
        yield f"data: {json.dumps(google_plain(request, answer, piece, last=False))}\r\n\r\n", True
    yield f"data: {json.dumps(google_plain(request, answer, ''))}\r\n\r\n", False


# --- Amazon Bedrock converse ----------------------------------------------------------------------------------------

BEDROCK_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "guardrail_intervened",
    "filter": "content_filtered",
}


def bedrock_usage(answer: Answer) -> Json:
    total = answer.prompt_tokens + answer.reply_tokens
    read = answer.cached_tokens
    return {
        "inputTokens": answer.prompt_tokens - read,
        "cacheReadInputTokens": read,
        "outputTokens": answer.reply_tokens,
        "totalTokens": total,
    }


def bedrock_plain(_: Recorded, answer: Answer) -> Json:
    content: list[Json] = [{"text": answer.text}] if answer.text else []
    if answer.reasoning:
        content.insert(0, {"reasoningContent": {"reasoningText": {"text": answer.reasoning}}})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": BEDROCK_STOPS[answer.finish],
        "usage": bedrock_usage(answer),
        "metrics": {"latencyMs": 1},
    }


def bedrock_event(kind: str, value: Json) -> bytes:
    """A message of Amazon's event streams: lengths, their checksum, headers, the value, the checksum of all."""
    headers = b""
    for name, text in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
    data = json.dumps(value).encode()
    begin = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    whole = begin + struct.pack(">I", crc32(begin)) + headers + data
    return whole + struct.pack(">I", crc32(whole))


def bedrock_stream(_: Recorded, answer: Answer) -> Iterator[tuple[bytes, bool]]:
    yield bedrock_event("messageStart", {"role": "assistant"}), False
    for piece in answer.pieces():
        yield bedrock_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}), True
    yield bedrock_event("contentBlockStop", {"contentBlockIndex": 0}), False
    yield bedrock_event("messageStop", {"stopReason": BEDROCK_STOPS[answer.finish]}), False
    yield bedrock_event("metadata", {"usage": bedrock_usage(answer), "metrics": {"latencyMs": 1}}), False


PLAIN: dict[str, Callable[[Recorded, Answer], Json]] = {
    "chat": chat_plain,
    "responses": responses_plain,
    "messages": messages_plain,
    "google": google_plain,
    "bedrock": bedrock_plain,
}
STREAMS: dict[str, Callable[[Recorded, Answer], Iterator[tuple[Any, bool]]]] = {
    "chat": chat_stream,
    "responses": responses_stream,
    "messages": messages_stream,
    "google": google_stream,
    "bedrock": bedrock_stream,
}


async def main(latency: float = 0.0, pause: float = 0.0, *, times: int = 1) -> None:
    """Serve until standard input ends, so that a parent that dies takes the server with it."""
    async with FakeProvider(Answer(" ".join([TEXT] * times), latency=latency, pause=pause)) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*map(float, sys.argv[1:3]), times=int("".join(sys.argv[3:]) or 1)))
