"""An encoder-decoder in this process, as BART fine-tuned on dialogues and their summaries (SNAP, section 4.6).

Such a model does the one thing it was trained for to any text: it follows no instructions
(`Capabilities.instructed`). It reads the messages of a request one after the other, and where its encoder has too few
places, the last lines of them. It runs on the processor, one call at a time, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ModelUnavailableError, UnknownNameError
from fabula.models.base import Capabilities, Reply, Request, Usage
from fabula.models.fingerprint import DIGITS, fingerprint
from fabula.models.seq2seq_network import TAKES, open_network, require_packages, rooms_of, sent_values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.models.base import OnText
    from fabula.models.seq2seq_network import Network, Rooms, Written

# What the library reads in a model's folder.
_PARTS: Final = (".json", ".txt", ".model", ".safetensors", ".bin")
_SAMPLES: Final = 256  # 16 MiB; a merged adapter changes matrices of some MiB in every layer


@dataclass(eq=False)
class Seq2SeqModel:
    """A folder with an encoder-decoder as a `Model`; it is opened with the first call, not before.

    Attributes:
        folder: as the package transformers saves models, with the tokeniser.
        name: what a user types.
        clock: gives seconds; for the usage of a call.
    """

    folder: Path
    _: KW_ONLY
    name: str
    clock: Callable[[], float] = time.perf_counter
    _session: _Session | None = field(default=None, init=False, repr=False)

    @cached_property
    def identity(self) -> str:
        """The folder's own name with a digest of its files: settings, tokeniser, weights.

        It may lie anywhere. Of a large file only size, both ends and samples of its middle are read.

        Raises:
            ModelUnavailableError: a file cannot be read.
        """
        try:
            files = sorted(path for path in self.folder.iterdir() if path.suffix in _PARTS)
            told = "\n".join(f"{path.name} {fingerprint(path, _SAMPLES)}" for path in files)
        except OSError as error:
            raise ModelUnavailableError(
                f"The model in {self.folder} cannot be read ({error.strerror}). Give a folder that can.",
                model=self.name,
            ) from error
        return f"seq2seq:{self.folder.resolve().name}@{sha256(told.encode()).hexdigest()[:DIGITS]}"

    @cached_property
    def rooms(self) -> Rooms:
        """How many tokens it reads and writes.

        Raises:
            ModelUnavailableError: there is no encoder-decoder in the folder.
        """
        return rooms_of(self.folder, self.name)

    @property
    def capabilities(self) -> Capabilities:
        """Text alone, without instructions; `context` is what the encoder reads."""
        return Capabilities(sampling=frozenset(TAKES), context=self.rooms.text, parallel=1, instructed=False)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What the model makes of the request's messages; `on_text` gets it as one piece.

        Without a temperature it is the text that the model's own settings search for (its beams), else a draw.
        `Usage.seconds` leaves out the wait for other calls and the opening. Cancelling stops the model after the token
        it is at.

        Raises:
            ModelUnavailableError: the folder holds no such model; or the model was closed meanwhile.
            UsageError: torch or transformers is not installed.
            UnknownNameError: the request names an adapter; there are none.
        """
        if request.adapter is not None:
            raise UnknownNameError("adapter", request.adapter, ())
        text = "\n\n".join(message.content for message in request.messages)
        sent = sent_values(request.sampling, self.rooms)
        session = self._session = self._session or _Session(self.folder, self.name)
        stop = threading.Event()

        def answer() -> tuple[Written, float]:
            network = session.network(stop)
            started = self.clock()
            written = network.write(text, sent, stop.is_set)
            if stop.is_set():
                raise _closed(self.name)
            return written, self.clock() - started

        written, seconds = await session.run(answer, stop)
        if on_text is not None:
            on_text(written.text)
        return Reply(
            text=written.text,
            usage=Usage(prompt=written.read, reply=written.tokens, seconds=seconds, cost=0.0),
            finish="length" if written.cut else "stop",
            model=self.name,
            sent=sent | ({"unread": written.unread} if written.unread else {}),
            dropped=_dropped(request),
        )

    async def close(self) -> None:
        """Stop what runs and free the weights; safe to call twice. A later call starts anew."""
        session, self._session = self._session, None
        if session is not None:
            await asyncio.to_thread(session.close)


class _Session:
    """From the first call to `close`: the network, opened by its thread when it is needed, and that thread."""

    def __init__(self, folder: Path, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"fabula {name}")
        self._folder, self._name = folder, name
        self._network: Network | None = None
        self._stops: set[threading.Event] = set()

    def network(self, stop: threading.Event) -> Network:
        """The network; called in the one thread."""
        if stop.is_set():
            raise _closed(self._name)
        if self._network is None:
            self._network = open_network(self._folder, self._name)
        return self._network

    async def run(self, answer: Callable[[], tuple[Written, float]], stop: threading.Event) -> tuple[Written, float]:
        """What `answer` gives in the thread; `stop` is set where nobody waits for it any more."""
        self._stops.add(stop)
        try:
            return await asyncio.wrap_future(self._pool.submit(answer))
        except asyncio.CancelledError:
            task: asyncio.Task[Any] | None = asyncio.current_task()
            if stop.is_set() and (task is None or not task.cancelling()):
                raise _closed(self._name) from None
            raise
        finally:
            stop.set()
            self._stops.discard(stop)

    def close(self) -> None:
        """Stop all calls, and wait until the thread has ended."""
        for stop in tuple(self._stops):
            stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._network = None


def seq2seq_model(folder: Path, name: str) -> Seq2SeqModel:
    """The model in a folder, ready to be asked; its settings are looked at, and nothing is imported or opened.

    It is looked at now because a summary model is asked for the first time long after a run has begun.

    Raises:
        ModelUnavailableError: there is no such folder, or no encoder-decoder in it.
        UsageError: torch or transformers is not installed; says which extra to install.
    """
    rooms_of(folder, name)
    require_packages(name)
    return Seq2SeqModel(folder, name=name)


def _dropped(request: Request) -> tuple[str, ...]:
    """What was asked for and such a model cannot be given."""
    missing = {"schema": request.schema is not None, "choices": request.choices, "logprobs": request.logprobs}
    values = [name for name in request.sampling.set_values() if name not in TAKES]
    return (*values, *(name for name, asked in missing.items() if asked))


def _closed(name: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"{name} was closed while it was asked.", model=name)
