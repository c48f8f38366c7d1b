"""llama.cpp in this process, through `xllamacpp`: the engine, our `Request` in its words, its chunks as our `Reply`.

Only this module knows the engine's words. Starting and streaming block; `embedded` runs them in threads.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelUnavailableError,
    OverloadedError,
    UnknownNameError,
    UsageError,
)
from fabula.models.base import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fabula.models.base import Json, Request, Sampling

_MAGIC = b"GGUF"
_MOST_THREADS = 8
# Prefill is done in batches, and a call can only be cancelled between two: 256 tokens are 1-2 s on a slow machine,
# and cost 1 % of prefill speed against the engine's own 2,048.
_BATCH = 256
# Host memory for the states of prompts that lost their slot; the engine's own limit of 8 GiB would fill a laptop.
_PROMPT_CACHE_MIB = 2048
# The engine reads seeds as 32 bits, and the highest one as "draw a seed".
_SEEDS = 2**32 - 1
# With `choices`, the engine reports this many candidates of the first token, so that each choice is among them.
_CANDIDATES = 1000
_SERVER_FAULT = 500
# Only streams can be cancelled; with progress reports also while the prompt is read.
_STREAM = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}


# the engine -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the engine is started with: `context` tokens for each of `slots`; `adapters` in the order of their ids."""

    path: Path
    slots: int
    context: int
    threads: int | None
    adapters: tuple[Path, ...]


class Engine:
    """A running engine; made by `start_engine`, freed by `close`."""

    def __init__(self, server: Any) -> None:  # noqa: ANN401 - a compiled class without types
        self._server = server

    def stream(self, body: Json, on_chunk: Callable[[Json], bool]) -> None:
        """Answer one body, blocking; each chunk goes to `on_chunk`, which returns true to cancel.

        Errors of the engine arrive as a chunk `{"error": {...}}`, except for bodies it cannot parse.

        Raises:
            ValueError: the body cannot be parsed (a bad schema, most often).
        """
        self._server.handle_chat_completions(body, on_chunk)

    def close(self) -> None:
        """Free the engine's memory and threads."""
        self._server = None


def start_engine(settings: EngineSettings, model: str) -> Engine:
    """Load the weights and start the engine; takes 0.4 s (100 MB) to some seconds.

    Raises:
        ModelUnavailableError: xllamacpp is not installed, or a file is missing, no GGUF, or refused by the engine.
    """
    for path in (settings.path, *settings.adapters):
        check_gguf(path, model)
    xllamacpp = _import_xllamacpp(model)
    try:
        server = xllamacpp.Server(_params(xllamacpp, settings))
    except RuntimeError as error:
        with_adapters = " or an adapter does not belong to this model" if settings.adapters else ""
        raise ModelUnavailableError(
            f"The engine could not load {settings.path} ({error}). The file is damaged, of an architecture it does "
            f"not know,{with_adapters} or memory is short. Fetch the file again (`fabula models pull smollm2` gets a "
            "working one), or take a smaller context.",
            model=model,
        ) from error
    # Freeing a server whose loop has not begun to run hangs for ever; one answered call proves that it runs.
    server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})
    return Engine(server)


def check_gguf(path: Path, model: str) -> None:
    """Refuse a file that is not there or does not begin as a GGUF does, before the engine sees it.

    Raises:
        ModelUnavailableError: with what to do.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelUnavailableError(
            f"No model file at {path} ({error.strerror}). `fabula models pull smollm2` fetches a small one; any other "
            "GGUF file can be named by its path.",
            model=model,
        ) from error
    if magic != _MAGIC:
        raise ModelUnavailableError(
            f"{path} is not a GGUF file (it begins with {magic!r}). Give the path of a .gguf file, or fetch a small "
            "model with `fabula models pull smollm2`.",
            model=model,
        )


def usable_threads() -> int:
    """How many threads the engine takes when none are asked for: the cores this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def _import_xllamacpp(model: str) -> Any:  # noqa: ANN401 - a compiled module without types
    # Read by OpenMP when the library loads: with its default, threads that wait burn the cores that others need.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelUnavailableError(
            f"The embedded engine is not installed ({error}). `pip install xllamacpp`, or use a server "
            "(`openai-chat:MODEL --base-url URL`).",
            model=model,
        ) from error


def _params(xllamacpp: Any, settings: EngineSettings) -> Any:  # noqa: ANN401 - compiled classes without types
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots
    params.kv_unified = False  # each slot has its own share: as fast as one pool, and no call can starve another
    params.n_batch = _BATCH
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads or usable_threads()
    params.warmup = False
    params.verbosity = -1  # the engine's log lines would run through the user's progress display
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(path), 0.0) for path in settings.adapters]
    # The engine always listens on a loopback port. Nobody but us shall be able to use it.
    params.api_keys = [secrets.token_hex(32)]
    params.endpoint_slots = params.endpoint_props = params.ui = False
    return params


# a request, and its reply ---------------------------------------------------------------------------------------------


def sent_values(sampling: Sampling) -> Json:
    """The sampling values as the engine gets them.

    `repeat_last_n` is also the window of DRY (the engine's own is 64 tokens, shorter than a looping paragraph), and a
    seed is brought into the engine's range.
    """
    values = sampling.set_values()
    if "stop" in values:
        values["stop"] = list(values["stop"])
    if "seed" in values:
        values["seed"] %= _SEEDS
    if "repeat_last_n" in values and "dry_multiplier" in values:
        values.setdefault("dry_penalty_last_n", values["repeat_last_n"])
    return values


def body_of(request: Request, sent: Json, adapters: Sequence[str]) -> Json:
    """The engine's body for a request; `adapters` are the loaded ones in the order of their ids.

    A request without a system prompt gets an empty one, because some chat templates (SmolLM2's, Qwen2.5's) put words
    of their own there otherwise. Once any adapter is loaded each one's scale is sent, also 0: the engine would else
    answer from the key-value cache that another adapter filled.

    Raises:
        UnknownNameError: the request names an adapter that is not loaded.
        UsageError: the request asks for both a schema and choices.
    """
    if request.adapter is not None and request.adapter not in adapters:
        raise UnknownNameError("adapter", request.adapter, adapters)
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    if not any(m["role"] == "system" for m in messages):
        messages.insert(0, {"role": "system", "content": ""})
    body: Json = {"messages": messages, **_STREAM, **sent, **_shape_of(request)}
    if adapters:
        body["lora"] = [{"id": i, "scale": float(name == request.adapter)} for i, name in enumerate(adapters)]
    return body


def _shape_of(request: Request) -> Json:
    """The fields that bound what may be written, and those that ask for probabilities."""
    if request.schema is not None and request.choices:
        raise UsageError("A request asks for JSON of a schema or for one of several choices, not for both.")
    shape: Json = {}
    if request.schema is not None:
        shape["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema}}
    if request.choices:
        shape["grammar"] = "root ::= " + " | ".join(_literal(choice) for choice in request.choices)
    if request.logprobs > 0:
        wanted = max(request.logprobs, _CANDIDATES) if request.choices else request.logprobs
        shape |= {"logprobs": True, "top_logprobs": wanted, "timings_per_token": True}
    return shape


def _literal(text: str) -> str:
    """A string literal of the engine's grammars; it knows JSON's escapes for what cannot stand in one line."""
    return json.dumps(text, ensure_ascii=False)


class ReplyReader:
    """Takes the chunks of one call as they come and makes a `Reply` of them; `clock` gives seconds.

    The engine holds a token back until its characters are whole, so pieces never split one.
    """

    def __init__(self, clock: Callable[[], float], forward: Callable[[str], None]) -> None:
        self._clock, self._forward = clock, forward
        self._begun = clock()
        self._first: float | None = None
        self._pieces: list[str] = []
        self._finish: str | None = None
        self._usage: Json = {}
        self._first_token: Json | None = None
        self.error: Json | None = None

    def take(self, chunk: Json) -> None:
        """Read one chunk; its text goes on at once. The caller is the engine's thread, so this must not raise."""
        if "error" in chunk:
            self.error = chunk["error"] if isinstance(chunk["error"], dict) else {"message": str(chunk["error"])}
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            self._take_probabilities(choice, chunk.get("timings") or {})
            if piece := choice.get("delta", {}).get("content"):
                if self._first is None:
                    self._first = self._clock() - self._begun
                self._pieces.append(piece)
                self._forward(piece)

    def _take_probabilities(self, choice: Json, timings: Json) -> None:
        """Keep those of the first token; the engine does not send them when it holds that token back."""
        tokens = (choice.get("logprobs") or {}).get("content")
        if tokens and timings.get("predicted_n") == 1:
            self._first_token = tokens[0]

    def reply(self, request: Request, sent: Json, model: str) -> Reply:
        """The whole reply; `logprobs` is `None` also where the first token was no whole character.

        Raises:
            OverloadedError: the stream ended without saying why; worth another try.
        """
        if self._finish is None:
            raise OverloadedError("The embedded engine ended a reply early. Ask again.", model=model)
        finish: Literal["length", "stop"] = "length" if self._finish == "length" else "stop"
        usage = Usage(
            prompt=int(self._usage.get("prompt_tokens", 0)),
            cached=int((self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)),
            reply=int(self._usage.get("completion_tokens", 0)),
            seconds=self._clock() - self._begun,
            first=self._first,
            cost=0.0,
        )
        logprobs = None
        if request.logprobs > 0 and self._first_token is not None:
            logprobs = first_token_logprobs(self._first_token, request.logprobs, request.choices)
        return Reply("".join(self._pieces), usage, finish, model, sent, (), logprobs)


def first_token_logprobs(token: Json, top: int, choices: Sequence[str]) -> dict[str, float]:
    """Texts of the likeliest `top` first tokens with natural logs of their probabilities, before any constraint.

    With `choices`, a candidate that begins one of them is kept as well if it is among the likeliest 1,000 or was drawn.
    Of tokens with the same text (pieces of a character) the likeliest counts.
    """
    best: dict[str, float] = {}
    for candidate in sorted([*token.get("top_logprobs", ()), token], key=lambda c: -float(c["logprob"])):
        best.setdefault(str(candidate["token"]), float(candidate["logprob"]))
    return {
        text: value
        for rank, (text, value) in enumerate(best.items())
        if rank < top or (text and any(choice.startswith(text) for choice in choices))
    }


def raised(error: Json, context: int, model: str) -> ModelError:
    """The engine's `{"code", "type", "message", ...}` as one of our errors."""
    if error.get("type") == "exceed_context_size_error":
        tokens, room = error.get("n_prompt_tokens", "too many"), error.get("n_ctx", context)
        return ContextLengthError(
            f"The prompt has {tokens} tokens and the context of {model} is {room}. Shorten what goes into the prompt, "
            "or open the model with a larger context.",
            model=model,
        )
    said = f"The embedded engine refused the request: {error.get('message', error)}"
    if int(error.get("code") or 0) >= _SERVER_FAULT:
        return OverloadedError(f"{said}. Ask again.", model=model)
    return ModelError(f"{said}. Check the request's schema, choices and sampling values.", model=model)
