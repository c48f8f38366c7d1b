"""A language model on this machine: `EmbeddedModel` answers `Request`s with llama.cpp and any GGUF file.

Slots. One slot answers one call at a time and is the default: the engine keeps the states of earlier prompts in host
memory, so agents that take turns find their own long prefix again. More slots serve independent calls at once (about
1.2 times the tokens a second with four, on two cores), but each has to read a shared prefix for itself.

Determinism. With one slot, the same weights, request, seed and earlier prompts give the same text. The states that the
engine keeps of an earlier prompt were computed with other tokens beside them, and differ in a late digit, hence now and
then in words; so do calls that run at the same time, even with temperature 0. How many threads there are (`tuning`
measures what suits this machine) changes no digit; a reply for which they are changed goes on from its last word.

Chat template. The GGUF's own is used; a file without one gets ChatML, which base models answer as plain text. A request
without a system prompt gets an empty one, so that no template adds words that are not the author's.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from fabula.base.errors import ModelError
from fabula.models.base import Capabilities, Reply, Request, Sampling
from fabula.models.known import digest, find_weights, is_small_file
from fabula.models.llamacpp import Engine, EngineSettings, ReplyReader, body_of, no_file, raised, sent_values
from fabula.models.threads import EngineSession, beside
from fabula.models.tuning import Tuner

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabula.models.base import Json, OnText

__all__ = ["EmbeddedModel", "find_weights"]


@dataclass(eq=False)
class EmbeddedModel:
    """A GGUF file as a `Model`; the engine starts with the first call, not before.

    Attributes:
        path: the GGUF file.
        name: what a user types.
        slots: how many calls run at once; more wait for their turn.
        context: tokens a call may take in all, prompt and reply.
        threads: of the engine; `None` takes as many as are fastest on this machine.
        cache: the folder where it is kept which are; `None` has them measured by each engine.
        adapters: LoRA adapters (GGUF files) by name; a request chooses one, or none. `lora.peft_to_gguf` makes them,
            and `adapters.Adapted` is the model with one of them.
        sampling: values for what a request leaves open.
        clock: gives seconds; for the usage of a call.
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
        """The name with the first digits of the weights' sha256; see `known.digest`.

        A known model that is not here yet has its identity all the same, so that a journal replays without the
        weights. Adapters are no part of it: `adapters.Adapted` is a model of its own.

        Raises:
            ModelUnavailableError: the file is missing.
        """
        try:
            return f"{self.name}@{digest(self.path)}"
        except OSError as error:
            raise no_file(self.path, error, self.path.name) from error

    @property
    def capabilities(self) -> Capabilities:
        """Everything the seam knows: schema, choices, log-probabilities, all sampling values."""
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
        """The engine, from the end of its start to `close`: which threads it has, and which process it is."""
        return None if self._session is None else self._session.engine

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Answer `request`; pieces go to `on_text` in the caller's loop and together are the reply's text.

        Cancelling stops the engine after the token (or the 256 prompt tokens) it is at, and returns when the slot is
        free. `Usage.seconds` leaves out the wait for a slot.

        Raises:
            ContextLengthError: the prompt does not fit.
            ModelUnavailableError: no such file, no GGUF, no engine; or the model was closed meanwhile.
            OverloadedError: the engine crashed. The next call starts it anew.
            ModelError: the engine refused the request.
            UnknownNameError: the request names an adapter that is not loaded.
        """
        sent = sent_values(request.sampling.over(self.sampling))
        body = body_of(request, sent, tuple(self.adapters))
        session = self._session = self._session or self._new_session()
        loop = asyncio.get_running_loop()

        def answer(engine: Engine, stop: threading.Event) -> Reply:
            reader = ReplyReader(self.clock, _forwarder(on_text, loop, stop))
            self._run(engine, body, reader, stop)
            return reader.reply(request, sent, self.name)

        return await session.run(answer)

    async def close(self) -> None:
        """Stop what runs, and free the weights and threads; safe to call twice. A later call starts anew."""
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
            raise ModelError(f"The embedded engine cannot take this request: {error}.", model=self.name) from error
        if reader.error is not None and not stop.is_set():
            raise raised(reader.error, self.context, self.name)


def _forwarder(on_text: OnText | None, loop: asyncio.AbstractEventLoop, stop: threading.Event) -> Callable[[str], None]:
    """What the engine's thread calls with each piece, to have `on_text` called in the loop that asks."""
    if on_text is None:
        return lambda _piece: None
    listener = on_text

    def deliver(piece: str) -> None:
        if not stop.is_set():
            listener(piece)

    def forward(piece: str) -> None:
        try:
            loop.call_soon_threadsafe(deliver, piece)
        except RuntimeError:  # the loop has been closed: nobody listens any more
            stop.set()

    return forward
