"""Tokens a second through fabula, beside the same engine called bare."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.overhead import PROMPTS
from benchmarks.table import Row, Table
from fabula.engine.events import CallFinished, TextArrived
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Sampling
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import DEFAULT_MODEL, models_home
from fabula.models.limits import Limited
from fabula.models.llamacpp import usable_threads
from fabula.project.casting import base_sampling
from fabula.story import Brief, readable
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from fabula.engine.events import Event
    from fabula.models.base import Message

TITLE: Final = "decoding through fabula and bare"
_LEAST: Final = 95.0
_PERCENT: Final = 100.0
_BRIEF: Final = Path(__file__).parents[1] / "examples" / "briefs" / "lighthouse.md"
_PROMPT: Final = "section"


@dataclass(frozen=True)
class Sizes:
    """How much is decoded: `pairs` of calls of `tokens` each; the rest as in the benchmark `prefix`."""

    pairs: int = 12
    tokens: int = 160
    weights: Path | None = None
    base: Sampling = field(default_factory=lambda: base_sampling(DEFAULT_MODEL))
    context: int = 8192
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """One call: its text and tokens, seconds after the first text, seconds in all, and CPU seconds in all."""

    text: str
    tokens: int
    seconds: float
    whole: float
    cpu: float

    @property
    def speed(self) -> float:
        """Tokens a second once the first has come."""
        return (self.tokens - 1) / self.seconds


class Bare:
    """The engine as a program without fabula would use it: one blocking call, a callback for its chunks.

    The parameters that decide its speed are those that fabula gives; all others are the engine's own.
    """

    def __init__(self, weights: Path, context: int, threads: int) -> None:
        xllamacpp: Any = importlib.import_module("xllamacpp")
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_parallel, params.n_ctx, params.n_gpu_layers = 1, context, 0
        params.n_batch, params.kv_unified = 256, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup, params.verbosity = False, -1
        self._server = xllamacpp.Server(params)
        self._server.handle_completions({"prompt": "a", "max_tokens": 1})  # it must run before it may be freed

    def ask(self, messages: tuple[Message, ...], sampling: Sampling) -> Decoded:
        """One reply, streamed."""
        values = sampling.set_values()
        told = [{"role": "system", "content": ""}, *({"role": m.role, "content": m.content} for m in messages)]
        body = {
            "messages": told,  # as fabula: an empty system message, else the chat template adds one of its own
            "stream": True,
            "stream_options": {"include_usage": True},
            **values,
            "dry_penalty_last_n": values.get("repeat_last_n", 64),  # fabula's window; see `llamacpp`
        }
        pieces: list[str] = []
        marks = {"begun": time.perf_counter(), "cpu": time.process_time()}
        tokens = 0

        def on_chunk(chunk: dict[str, Any]) -> bool:
            nonlocal tokens
            tokens = (chunk.get("usage") or {}).get("completion_tokens", tokens)
            for choice in chunk.get("choices") or ():
                if piece := choice.get("delta", {}).get("content"):
                    marks.setdefault("first", time.perf_counter())
                    pieces.append(piece)
            return False

        self._server.handle_chat_completions(body, on_chunk)
        end = time.perf_counter()
        cpu = time.process_time() - marks["cpu"]
        return Decoded("".join(pieces), tokens, end - marks.get("first", end), end - marks["begun"], cpu)


@dataclass
class Heard:
    """A listener that marks the first text of a call, and keeps how many tokens it had."""

    first: float | None = None
    tokens: int = 0

    def begun(self, otherwise: float) -> float:
        """When the first text came; `otherwise` if none did."""
        return otherwise if self.first is None else self.first

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TextArrived) and self.first is None:
            self.first = time.perf_counter()
        if isinstance(event, CallFinished):
            self.tokens = event.usage.reply


def bench(sizes: Sizes | None = None) -> Table:
    """Pairs of the same call, with the same seed; who goes first changes from pair to pair.

    Raises:
        ModelUnavailableError: the weights or the engine are not there.
    """
    sizes = sizes or Sizes()
    pairs = asyncio.run(_pairs(sizes))
    each = f"{sizes.tokens} tokens"
    rows = (
        Row("the engine bare: decoding", tuple(bare.speed for _, bare in pairs), "tokens/s", each),
        Row("through fabula: decoding", tuple(ours.speed for ours, _ in pairs), "tokens/s", each),
        Row(
            "decoding speed, fabula of bare",
            tuple(_PERCENT * ours.speed / bare.speed for ours, bare in pairs),
            "%",
            each,
            least=_LEAST,
        ),
        Row(
            "speed of the whole call, fabula of bare",
            tuple(_PERCENT * bare.whole / ours.whole for ours, bare in pairs),
            "%",
            each,
        ),
        Row(
            "CPU of the call, bare of fabula", tuple(_PERCENT * bare.cpu / ours.cpu for ours, bare in pairs), "%", each
        ),
    )
    same = sum(ours.text == readable(bare.text) for ours, bare in pairs)
    notes = (
        (
            f"{_weights(sizes).name}, {_threads(sizes)} threads, one slot; the prompt is in both caches. A pair has "
            f"the same prompt, sampling and seed; the texts of {same} of {len(pairs)} pairs are the same."
        ),
        (
            "Through fabula is Run.ask with a journal and a listener that hears the pieces; bare is one blocking "
            "call of xllamacpp with a callback. Decoding is from the first piece to the return of the call, record "
            "included."
        ),
    )
    return Table("engine", TITLE, rows, notes)


def _weights(sizes: Sizes) -> Path:
    return sizes.weights or find_weights(DEFAULT_MODEL, models_home(os.environ))


def _threads(sizes: Sizes) -> int:
    return sizes.threads or usable_threads()


async def _pairs(sizes: Sizes) -> list[tuple[Decoded, Decoded]]:
    heard = Heard()
    model = EmbeddedModel(
        _weights(sizes), name=f"embedded:{DEFAULT_MODEL}", context=sizes.context, threads=_threads(sizes)
    )
    fields: dict[str, Any] = {"scratchpad": Scratchpad.of(Brief.read(_BRIEF)), "section": "Exposition", "last": False}
    prompts = Prompts(PROMPTS)
    messages = prompts.render(_PROMPT, fields)
    pairs: list[tuple[Decoded, Decoded]] = []
    with Journal() as journal:
        run = Run(RunContext(journal, prompts, Cast(Assignment(Limited(model), base=sizes.base)), listeners=(heard,)))

        async def ours(number: int, sampling: Sampling) -> Decoded:
            heard.first = None
            begun, cpu = time.perf_counter(), time.process_time()
            text = await run.scope(number).ask("exposition", _PROMPT, sampling=sampling, **fields)
            end = time.perf_counter()
            cpu = time.process_time() - cpu
            return Decoded(text, heard.tokens, end - heard.begun(end), end - begun, cpu)

        try:
            await ours(-1, Sampling(max_tokens=2, seed=1))  # loads the weights, before the bare engine does
            bare = Bare(_weights(sizes), sizes.context, _threads(sizes))
            for number in range(-1, sizes.pairs):
                asked = replace(sizes.base, max_tokens=sizes.tokens, seed=100 + number)
                if number % 2:
                    theirs, mine = bare.ask(messages, asked), await ours(number + 1, asked)
                else:
                    mine, theirs = await ours(number + 1, asked), bare.ask(messages, asked)
                pairs.append((mine, theirs))
        finally:
            await model.close()
    return pairs[1:]  # the first one fills the prompt caches
