"""llama.cpp through `xllamacpp`, in its own process: translates a `Request` for it, and its chunks into a `Reply`.

Only this module and `engine_process` know the engine's format. Starting and streaming block; `embedded` runs them in
threads. The engine has its own process because the spin of idle threads is fixed when the library is loaded, and
because a crash of the engine then ends only one call, not the run.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Literal

from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelUnavailableError,
    OverloadedError,
    UnknownNameError,
    UsageError,
)
from fabula.base.extras import installing
from fabula.models.base import Json, Reply, Request, Sampling, Usage
from fabula.models.budget import estimate_tokens
from fabula.models.child import ChildEndedError, EngineChild
from fabula.models.gguf import read_metadata
from fabula.models.known import KNOWN
from fabula.models.memory import free_memory, needed_memory, parts_of
from fabula.models.reasoning import Apart, apart, room_for_reasoning
from fabula.models.tuning import EngineSetting, ReplySpeed, Tuner

_MAGIC = b"GGUF"
# The engine reads seeds as 32 bits, and the highest one as "draw a seed".
_SEEDS = 2**32 - 1
# With `choices`, the engine reports this many candidates of the first token, so that each choice is among them.
_CANDIDATES = 1000
_SERVER_FAULT = 500
# Only streams can be cancelled; with progress reports also while the prompt is read.
_STREAM = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
_STATES = 2 << 30  # bytes for the states of prompts, where each adapter has its own
_HALF = 2  # bytes of a number in them
_GLANCE = 0.05  # seconds between two looks whether a call is to stop
_CONSTRAINED = ("response_format", "grammar", "logprobs")


# the engine -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The start settings of the engine: `context` tokens for each of `slots`, and `adapters` in the order of their ids.

    With adapters there may be more slots than calls at once; see `slots_of`.
    """

    path: Path
    slots: int
    context: int
    adapters: tuple[Path, ...]


class Engine:
    """An engine in its own process, started by `open` or by a call, and restarted by the next call after a crash.

    It is also restarted if its `tuner` finds a better number of threads. A reply that is too slow because other
    programs now use the cores then continues after its last word.
    """

    def __init__(self, settings: EngineSettings, tuner: Tuner, model: str) -> None:
        self._settings, self._tuner, self._model = settings, tuner, model
        self._starting = threading.Lock()
        self._process: _Process | None = None

    @property
    def setting(self) -> EngineSetting | None:
        """The threads with which the engine was last started."""
        return None if self._process is None else self._process.setting

    @property
    def pid(self) -> int | None:
        """The id of the engine's process while it runs."""
        process = self._process
        return None if process is None or process.ended else process.child.pid

    def open(self) -> None:
        """Start the engine in 0.5 s (100 MB) to some seconds, plus half a second if threads are measured first.

        Raises:
            ModelUnavailableError: xllamacpp is not installed, or a file is missing, not a GGUF file, or refused by the
                engine.
        """
        with self._starting:
            self._running()

    def stream(self, body: Json, on_chunk: Callable[[Json], None], stop: threading.Event) -> None:
        """Answer one body, blocking; each chunk goes to `on_chunk` until `stop` is set.

        Errors of the engine arrive as a chunk `{"error": {...}}`, except for bodies it cannot parse.

        Raises:
            ValueError: the body cannot be parsed, most often because of a bad schema.
            ModelUnavailableError: see `open`.
            OverloadedError: the engine crashed, and the next call starts it again.
        """
        given = _Given(on_chunk)
        while not self._whole(given.rest(body), given, stop):
            pass

    def close(self) -> None:
        """End the process."""
        with self._starting:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.child.close()

    def _running(self) -> _Process:
        """The process, started where there is none that lives, or where other threads have become better."""
        process = self._process
        if process is None or process.ended:
            setting = None
        elif process.calls or not self._tuner.due() or (setting := self._tuner.choose()) == process.setting:
            return process
        self._end()
        for path in (self._settings.path, *self._settings.adapters):
            check_gguf(path, self._model)
        check_memory(self._settings, self._model)
        self._process = _Process(self._settings, setting or self._tuner.choose(), self._model)
        return self._process

    def _whole(self, body: Json, given: _Given, stop: threading.Event) -> bool:
        """Whether the reply has come to its end; false where it was stopped because the engine had become too slow."""
        with self._starting:
            call = self._running().ask(body)
        plain = not any(name in body for name in _CONSTRAINED)
        resumes = plain and self._settings.slots == 1 and "seed" in body
        pace = ReplySpeed(monotonic)
        slow = stopped = False
        while (line := call.said()) is None or "chunk" in line:
            if line is not None and not stopped and given.take(line["chunk"]):
                pace.piece()
                slow = resumes and self._tuner.collapsed(pace)
            if not stopped and (slow or stop.is_set()):
                call.stop()
                stopped = True
        if "ended" in line:
            raise OverloadedError(
                f"The embedded engine crashed while it was answering ({line['ended']}). Try again: fabula restarts "
                "the engine.",
                model=self._model,
            )
        if line["refused"]:
            raise ValueError(line["refused"])
        if slow and not (given.finished or stop.is_set()):
            return False
        if plain and not call.beside:
            self._tuner.heard(pace.pieces, pace.seconds)
        return True


class _Process:
    """A process that serves, and the calls that it answers.

    Raises:
        ModelUnavailableError: it could not start.
    """

    def __init__(self, settings: EngineSettings, setting: EngineSetting, model: str) -> None:
        self.setting, self.child = setting, EngineChild(setting.spin)
        self.calls: dict[int, _Call] = {}
        self.ended = ""
        self._lock, self._numbers = threading.Lock(), count()
        self._slots = slots_of(settings)
        served = {"path": str(settings.path), "slots": self._slots, "context": settings.context}
        adapters = [str(path) for path in settings.adapters]
        self.child.send({"serve": {**served, **asdict(setting), "adapters": adapters}})
        try:
            said = self.child.answer()
        except ChildEndedError as error:
            said = {"failed": str(error), "engine": True}
        if "failed" in said:
            self.child.close()
            raise _not_started(said, settings, model)
        threading.Thread(target=self._listen, name=f"fabula {model} listens", daemon=True).start()

    def ask(self, body: Json) -> _Call:
        """Begin a call."""
        with self._lock:
            call = _Call(next(self._numbers), self)
            self.calls[call.number] = call
            for running in self.calls.values():
                running.beside = running.beside or len(self.calls) > 1
            if self.ended:
                call.lines.put({"ended": self.ended})
        self.child.send({"id": call.number, "body": body | _slot_for(body, self._slots)})
        return call

    def _listen(self) -> None:
        """Hand each line to the call that it belongs to; the thread ends with the process."""
        for line in self.child.lines():
            if call := self.calls.get(line["id"]):
                call.lines.put(line)
        how = self.child.ended()
        with self._lock:
            self.ended = how
            for call in self.calls.values():
                call.lines.put({"ended": how})


def slots_of(settings: EngineSettings) -> int:
    """The number of prompts whose states the engine keeps: one for each simultaneous call.

    The states of one adapter are useless to another. With adapters, each of them and the base model therefore has its
    own slot if memory allows. The others share slots, whose prompts are read again at each change.
    """
    if not settings.adapters:
        return settings.slots
    try:
        said = read_metadata(settings.path, before="tokenizer.")
        architecture = said["general.architecture"]
        layers, width, heads, keys = (
            int(said[f"{architecture}.{name}"])
            for name in ("block_count", "embedding_length", "attention.head_count", "attention.head_count_kv")
        )
        each = settings.context * 2 * _HALF * layers * width * keys // heads
        most = _STATES // max(1, each)
    except (KeyError, ValueError, ZeroDivisionError, UsageError):  # the engine says what is wrong with the file
        most = 1
    return max(settings.slots, min(len(settings.adapters) + 1, most))


def _slot_for(body: Json, slots: int) -> Json:
    """The slot that a body's adapter has, where it names adapters."""
    if "lora" not in body:
        return {}
    return {"id_slot": next((one["id"] + 1 for one in body["lora"] if one["scale"]), 0) % slots}


class _Call:
    """One call of a process; `beside` says whether it ever ran beside others."""

    def __init__(self, number: int, process: _Process) -> None:
        self.number, self._process = number, process
        self.lines: SimpleQueue[Json] = SimpleQueue()
        self.beside = False

    def said(self) -> Json | None:
        """The next line: a chunk, `done` or `ended`; `None` where it does not come soon."""
        try:
            line = self.lines.get(timeout=_GLANCE)
        except Empty:
            return None
        if "chunk" not in line:
            self._process.calls.pop(self.number, None)
        return line

    def stop(self) -> None:
        """Have it end after the token (or the batch of prompt tokens) that it is at; `done` comes then."""
        self._process.child.send({"stop": self.number})


class _Given:
    """Passes chunks on, and knows what a reply that was broken off has to continue from.

    To write it again with the same seed would not do: an engine that starts has no states of earlier prompts, and what
    it computes without them differs in a late digit, hence soon in a word.
    """

    def __init__(self, on_chunk: Callable[[Json], None]) -> None:
        self._on_chunk = on_chunk
        self._text, self._pieces = "", 0
        self._before = 0  # pieces that came before the reply was broken off last
        self.finished = False

    def rest(self, body: Json) -> Json:
        """The body that asks for what is missing of the reply."""
        self._before = self._pieces
        if not self._text:
            return body
        *said, last = body["messages"]
        begun = last["content"] if last["role"] == "assistant" else ""
        said = said if begun else body["messages"]
        going_on: Json = {"messages": [*said, {"role": "assistant", "content": begun + self._text}]}
        if "max_tokens" in body:
            going_on["max_tokens"] = max(1, body["max_tokens"] - self._pieces)
        # The engine refuses to go on from a text where a model might still think before it.
        going_on["chat_template_kwargs"] = body.get("chat_template_kwargs", {}) | {"enable_thinking": False}
        return body | going_on

    def take(self, chunk: Json) -> bool:
        """Pass a chunk on; whether it has text."""
        for choice in chunk.get("choices") or ():
            self.finished = self.finished or bool(choice.get("finish_reason"))
        delta = next((choice.get("delta") or {} for choice in chunk.get("choices") or ()), {})
        piece = delta.get("content") or ""
        self._text, self._pieces = self._text + piece, self._pieces + bool(piece)
        if self._before and (usage := chunk.get("usage")):
            usage["completion_tokens"] = usage.get("completion_tokens", 0) + self._before
            usage["prompt_tokens"] = usage.get("prompt_tokens", 0) - self._before
        self._on_chunk(chunk)
        return bool(piece)


def _not_started(said: Json, settings: EngineSettings, model: str) -> ModelUnavailableError:
    """Why there is no engine, in words for a person."""
    if not said["engine"]:
        return ModelUnavailableError(
            f"The embedded engine is not installed ({said['failed']}). Run `{installing('engine')}`, or use a server "
            "(`fabula models` lists the servers that run here).",
            model=model,
        )
    with_adapters = " or an adapter does not belong to this model" if settings.adapters else ""
    return ModelUnavailableError(
        f"The engine could not load {settings.path} ({said['failed']}). The file is damaged, its architecture is "
        f"unknown,{with_adapters} or memory is short. Download the file again (`fabula models pull smollm2` downloads "
        "a working model), or use a smaller context.",
        model=model,
    )


def no_file(path: Path, error: OSError, model: str) -> ModelUnavailableError:
    """The error for a missing GGUF file, with how to get one, and the engine too if it is missing."""
    engine = "" if find_spec("xllamacpp") else f"`{installing('engine')}` installs the required engine, and "
    known = next((one.name for one in KNOWN.values() if one.file == path.name), "")
    pulled = f"{engine}`fabula models pull {known or 'smollm2'}` downloads {'it' if known else 'a small model'}"
    return ModelUnavailableError(
        f"There is no model file at {path} ({error.strerror}). {pulled}, and `fabula models` lists the other models on "
        "this machine. --model also accepts the path of any GGUF file.",
        model=model,
    )


def check_gguf(path: Path, model: str) -> None:
    """Refuse a file that is missing or does not begin like a GGUF file, before the engine reads it.

    Raises:
        ModelUnavailableError: the file is refused; the message says what to do.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise no_file(path, error, model) from error
    if magic != _MAGIC:
        raise ModelUnavailableError(
            f"{path} is not a GGUF file (it begins with {magic!r}). Specify the path of a .gguf file, or download a "
            "small model with `fabula models pull smollm2`.",
            model=model,
        )


def check_memory(settings: EngineSettings, model: str) -> None:
    """Refuse a model that does not fit into the free memory, because loading it would bring the machine to a halt.

    Raises:
        ModelUnavailableError: the model is refused; the message says what to do.
    """
    size = sum(path.stat().st_size for path in parts_of(settings.path))
    needed, free = needed_memory(settings.path, settings.context, slots_of(settings), size), free_memory()
    if needed is not None and free is not None and needed > free:
        raise ModelUnavailableError(
            f"{model} needs about {needed / 1e9:,.1f} GB of memory with a context of {settings.context:,} tokens, but "
            f"only {free / 1e9:,.1f} GB are free. Close other programs, or use a smaller model, a smaller "
            "quantisation or a "
            f'shorter context (`context = 2048` below [models."{model}"] in fabula.toml).',
            model=model,
        )


# a request, and its reply ---------------------------------------------------------------------------------------------


def sent_values(sampling: Sampling) -> Json:
    """The sampling values in the engine's form.

    The reasoning effort goes to the model's chat template if that supports it. `repeat_last_n` is also the window of
    DRY (the engine's default is 64 tokens, less than a looping paragraph), and a seed is mapped to the engine's range.
    """
    values = sampling.set_values()
    if effort := values.pop("reasoning", ""):
        values["chat_template_kwargs"] = {"enable_thinking": effort != "none", "reasoning_effort": effort}
    if "max_tokens" in values:
        values["max_tokens"] += room_for_reasoning(sampling, thinks=False)
    if "stop" in values:
        values["stop"] = list(values["stop"])
    if "seed" in values:
        values["seed"] %= _SEEDS
    if "repeat_last_n" in values and "dry_multiplier" in values:
        values.setdefault("dry_penalty_last_n", values["repeat_last_n"])
    return values


def body_of(request: Request, sent: Json, adapters: Sequence[str]) -> Json:
    """The engine's body for a request; `adapters` are the loaded ones in the order of their ids.

    A request without a system prompt gets an empty one, because some chat templates (SmolLM2's, Qwen2.5's) otherwise
    insert their own words. If any adapter is loaded, the scale of every adapter is sent, even if it is 0. Otherwise the
    engine would answer from the key-value cache that another adapter filled.

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
        raise UsageError("A request can specify a JSON schema or several choices, but not both.")
    shape: Json = {}
    if request.schema is not None:
        shape["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema}}
    if request.choices:
        # The engine's grammars know JSON's escapes for what is not allowed in a string literal of one line.
        literals = (json.dumps(choice, ensure_ascii=False) for choice in request.choices)
        shape["grammar"] = f"root ::= {' | '.join(literals)}"
    if request.logprobs > 0:
        wanted = max(request.logprobs, _CANDIDATES) if request.choices else request.logprobs
        shape |= {"logprobs": True, "top_logprobs": wanted, "timings_per_token": True}
    return shape


class ReplyReader:
    """Takes the chunks of one call as they arrive and makes a `Reply` from them; `clock` gives seconds.

    The engine holds a token back until its characters are complete, so pieces never split a character.
    """

    def __init__(self, clock: Callable[[], float], forward: Callable[[str], None]) -> None:
        self._clock, self._forward = clock, forward
        self._begun = clock()
        self._first: float | None = None
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._apart = Apart()
        self._finish: str | None = None
        self._usage: Json = {}
        self._first_token: Json | None = None
        self.error: Json | None = None

    def take(self, chunk: Json) -> None:
        """Read a chunk, and forward its text at once. The caller is the engine's thread, so this must not raise."""
        if "error" in chunk:
            self.error = chunk["error"] if isinstance(chunk["error"], dict) else {"message": str(chunk["error"])}
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            self._take_probabilities(choice, chunk.get("timings") or {})
            if thought := choice.get("delta", {}).get("reasoning_content"):
                self._thoughts.append(thought)
            if piece := choice.get("delta", {}).get("content"):
                if self._first is None:
                    self._first = self._clock() - self._begun
                self._pieces.append(piece)
                if shown := self._apart.take(piece):
                    self._forward(shown)

    def _take_probabilities(self, choice: Json, timings: Json) -> None:
        """Keep those of the first token; the engine does not send them when it holds that token back."""
        tokens = (choice.get("logprobs") or {}).get("content")
        if tokens and timings.get("predicted_n") == 1:
            self._first_token = tokens[0]

    def reply(self, request: Request, sent: Json, model: str) -> Reply:
        """The complete reply; `logprobs` is also `None` if the first token was not a whole character.

        Raises:
            OverloadedError: the stream ended without a reason, so another try is worthwhile.
            ModelError: the reply is only reasoning.
        """
        if self._finish is None:
            raise OverloadedError("The embedded engine ended a reply early. Try again.", model=model)
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
        said, inside = apart("".join(self._pieces))
        thought = "\n\n".join(filter(None, ("".join(self._thoughts).strip(), inside)))
        if thought and not said.strip():
            advice = "Allow a longer reply (--sampling max_tokens=4096), or use a model that does not think."
            raise ModelError(f"{model} used up its reply on reasoning and gave no answer. {advice}", model=model)
        if rest := self._apart.rest():
            self._forward(rest)
        said = said.lstrip() if thought else said
        usage = replace(usage, reasoning=min(usage.reply, estimate_tokens(thought))) if thought else usage
        return Reply(said, usage, finish, model, sent, (), logprobs, thought)


def first_token_logprobs(token: Json, top: int, choices: Sequence[str]) -> dict[str, float]:
    """The texts of the `top` likeliest first tokens with natural logs of their probabilities, before any constraint.

    With `choices`, a candidate that begins a choice is also kept if it is among the likeliest 1,000 or was drawn. Of
    tokens with the same text (pieces of a character), the likeliest counts.
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
            f"The prompt has {tokens} tokens, but the context of {model} has only {room}. Shorten the texts in the "
            "prompt, or open the model with a larger context.",
            model=model,
        )
    said = f"The embedded engine refused the request: {error.get('message', error)}"
    if int(error.get("code") or 0) >= _SERVER_FAULT:
        return OverloadedError(f"{said}. Ask again.", model=model)
    return ModelError(f"{said}. Check the schema, choices and sampling values of the request.", model=model)
