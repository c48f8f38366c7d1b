"""A language model on this machine: `EmbeddedModel` answers `Request`s with llama.cpp and any GGUF file.

Slots. By default, one slot answers one call at a time. The engine keeps the states of earlier prompts in host memory,
so agents that take turns find their own long prefixes again. More slots serve independent calls at once (four slots on
two cores give about 1.2 times the tokens per second), but each slot has to read a shared prefix itself.

Determinism. With one slot, the same weights, request, seed and earlier prompts give the same text. The states kept from
an earlier prompt were computed next to other tokens and differ in a late digit, which sometimes changes a word.
Parallel calls have the same effect, even with temperature 0. The number of threads (`tuning` measures the best one)
changes no digit. If it changes during a reply, the reply continues from its last word.

Chat template. The template of the GGUF file is used. A file without one gets ChatML, which base models answer as plain
text. A request without a system prompt gets an empty one, so that no template adds words that are not the author's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fabula.base.errors import FabulaError, ModelError
from fabula.models.base import Capabilities, Json, OnText, Reply, Request, Sampling
from fabula.models.known import digest, find_weights, is_small_file
from fabula.models.llamacpp import Engine, EngineSettings, ReplyReader, body_of, no_file, raised, sent_values
from fabula.models.threads import EngineSession, beside
from fabula.models.tuning import Tuner

if TYPE_CHECKING:
    import threading


__all__ = ["EmbeddedModel", "find_weights"]


@dataclass(eq=False)
class EmbeddedModel:
    """A GGUF file as a `Model`; the engine starts with the first call, not before.

    Attributes:
        path: the GGUF file.
        name: the name that a user types.
        slots: the number of calls that run at once; further calls wait for their turn.
        context: the tokens that prompt and reply of a call may have together.
        threads: the threads of the engine; `None` takes the fastest number on this machine.
        cache: the folder that stores this number; with `None`, each engine measures it again.
        adapters: LoRA adapters (GGUF files) by name; a request chooses at most one. `lora.peft_to_gguf` makes them, and
            `adapters.Adapted` is the model with one of them.
        sampling: the values that a request leaves open.
        clock: a function that gives seconds, for the usage of a call.
    """

    path: Path
    _: KW_ONLY
    name: str
    slots: int = 1
    context: int = 8192
    threads: int | None = None
    cache: Path | None = None
    adapters: Mapping[str, Path] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    clock: Callable[[], float] = time.perf_counter
    _session: EngineSession[Engine] | None = field(default=None, init=False, repr=False)

    @cached_property
    def identity(self) -> str:
        """The name with the first digits of the weights' SHA-256; see `known.digest`.

        A known model has its identity even before it is fetched, so that a journal replays without the weights.
        Adapters are not part of it: `adapters.Adapted` is a separate model.

        Raises:
            ModelUnavailableError: the file is missing.
        """
        try:
            return f"{self.name}@{digest(self.path)}"
        except OSError as error:
            raise no_file(self.path, error, self.path.name) from error

    @property
    def capabilities(self) -> Capabilities:
        """Everything that the interface has: schema, choices, log-probabilities, all sampling values."""
        return Capabilities(
            schema=True,
            continues=True,
            choices=True,
            logprobs=True,
            adapters=tuple(self.adapters),
            context=self.context,
            parallel=self.slots,
            small=is_small_file(self.path),
        )

    @property
    def engine(self) -> Engine | None:
        """The engine, from the end of its start to `close`, with its threads and its process."""
        return None if self._session is None else self._session.engine

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Answer `request`; pieces go to `on_text` in the caller's loop and together are the reply's text.

        Cancelling stops the engine after the present token (or 256 prompt tokens), and returns when the slot is free.
        `Usage.seconds` does not include the wait for a slot.

        Raises:
            ContextLengthError: the prompt does not fit.
            ModelUnavailableError: there is no such file, GGUF or engine, or the model was closed meanwhile.
            OverloadedError: the engine crashed. The next call starts it again.
            ModelError: the engine refused the request.
            UnknownNameError: the request names an adapter that is not loaded.
        """
        sent = sent_values(request.sampling.over(self.sampling))
        body = body_of(request, sent, tuple(self.adapters))
        session = self._session = self._session or self._new_session()
        loop, refused = asyncio.get_running_loop(), list[FabulaError]()

        def answer(engine: Engine, stop: threading.Event) -> Reply:
            reader = ReplyReader(self.clock, _forwarder(on_text, loop, stop, refused))
            self._run(engine, body, reader, stop)
            return reader.reply(request, sent, self.name)

        try:
            return await session.run(answer)
        finally:
            if refused:  # what the listener raised, such as a budget that leaves no room, ends the call
                raise refused[0]

    async def close(self) -> None:
        """Stop running calls, and free the weights and threads; safe to call twice. A later call starts it again."""
        session, self._session = self._session, None
        engine = await beside(session.close) if session is not None else None
        if engine is not None:
            await beside(engine.close)

    def _new_session(self) -> EngineSession[Engine]:
        settings = EngineSettings(self.path, self.slots, self.context, tuple(self.adapters.values()))
        tuner = Tuner(self.path, asked=self.threads, cache=self.cache)

        def opened() -> Engine:
            engine = Engine(settings, tuner, self.name)
            engine.open()
            return engine

        return EngineSession(opened, self.slots, self.name)

    def _run(self, engine: Engine, body: Json, reader: ReplyReader, stop: threading.Event) -> None:
        try:
            engine.stream(body, reader.take, stop)
        except ValueError as error:
            raise ModelError(f"The embedded engine cannot process this request: {error}.", model=self.name) from error
        if reader.error is not None and not stop.is_set():
            raise raised(reader.error, self.context, self.name)


def _forwarder(
    on_text: OnText | None, loop: asyncio.AbstractEventLoop, stop: threading.Event, refused: list[FabulaError]
) -> Callable[[str], None]:
    """What the engine's thread calls with each piece, to have `on_text` called in the loop that asks.

    The engine stops if `on_text` raises an error, which is added to `refused`.
    """
    if on_text is None:
        return lambda _piece: None
    listener = on_text

    def deliver(piece: str) -> None:
        if stop.is_set():
            return
        try:
            listener(piece)
        except FabulaError as error:
            refused.append(error)
            stop.set()

    def forward(piece: str) -> None:
        try:
            loop.call_soon_threadsafe(deliver, piece)
        except RuntimeError:  # the loop has been closed: nobody listens any more
            stop.set()

    return forward
