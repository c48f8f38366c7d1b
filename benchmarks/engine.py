"""Tokens a second through fabula, beside the same engine called bare, and with other threads than it chose.

The threads are tried on the machine as it is, which should be idle, and with two busy loops beside the engine.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.overhead import PROMPTS
from benchmarks.table import Row, Table
from fabula.engine.events import CallFinished, TextArrived
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Sampling
from fabula.models.child import SPIN
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import DEFAULT_MODEL, models_home
from fabula.models.limits import Limited
from fabula.models.llamacpp import Engine, EngineSettings
from fabula.models.tuning import LONG, SHORT, EngineSetting, ReplySpeed, Tuner, others_running, usable_cores
from fabula.project.casting import base_sampling
from fabula.story import Brief, readable
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.engine.events import Event
    from fabula.models.base import Message

TITLE: Final = "decoding through fabula and bare"
_LEAST: Final = 95.0
_HALF: Final = 50.0
_CHOOSING: Final = 0.5  # seconds
_LOOPS: Final = 2
_ENOUGH: Final = 3.0  # seconds of a reply
_ONE: Final = EngineSetting(1, None, 1)
_PERCENT: Final = 100.0
_BRIEF: Final = Path(__file__).parents[1] / "examples" / "briefs" / "lighthouse.md"
_PROMPT: Final = "section"


@dataclass(frozen=True)
class Sizes:
    """How much is decoded: `pairs` of calls of `tokens` each; the rest as in the benchmark `prefix`.

    Each setting of threads writes `rounds` replies of `short` tokens, up to `most` threads.
    """

    pairs: int = 12
    tokens: int = 160
    rounds: int = 5
    short: int = 64
    most: int = 8
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

    def __init__(self, weights: Path, context: int, setting: EngineSetting) -> None:
        before = os.environ.get(SPIN)
        try:
            if setting.spin is not None:
                os.environ[SPIN] = str(setting.spin)  # read by the import
            xllamacpp: Any = importlib.import_module("xllamacpp")
        finally:
            os.environ.pop(SPIN, None)
            if before is not None:
                os.environ[SPIN] = before
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_parallel, params.n_ctx, params.n_gpu_layers = 1, context, 0
        params.n_batch, params.kv_unified = 256, False
        params.cpuparams.n_threads, params.cpuparams_batch.n_threads = setting.threads, setting.reading
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
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
    pairs, setting = asyncio.run(_pairs(sizes))
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
            f"{_weights(sizes).name}, {_told(setting)}, one slot; the prompt is in both caches. A pair has "
            f"the same prompt, sampling and seed; the texts of {same} of {len(pairs)} pairs are the same."
        ),
        (
            "Through fabula is Run.ask with a journal and a listener that hears the pieces; bare is one blocking "
            "call of xllamacpp with a callback. Decoding is from the first piece to the return of the call, record "
            "included."
        ),
    )
    tried, more = _threads_tried(sizes)
    return Table("engine", TITLE, (*rows, *tried), (*notes, *more))


def _weights(sizes: Sizes) -> Path:
    return sizes.weights or find_weights(DEFAULT_MODEL, models_home(os.environ))


def _told(setting: EngineSetting) -> str:
    """A setting in words."""
    return f"{setting.threads} thread{'s' * (setting.threads > 1)}, spin {setting.spin or 'by the environment'}"


def _cpu(engine: Engine | None) -> float:
    """CPU seconds of this process and the engine's, whose own are known in hundredths only."""
    own = time.process_time()
    try:
        words = Path(f"/proc/{engine.pid if engine else 0}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return own
    return own + (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def _pairs(sizes: Sizes) -> tuple[list[tuple[Decoded, Decoded]], EngineSetting]:
    heard = Heard()
    model = EmbeddedModel(
        _weights(sizes), name=f"embedded:{DEFAULT_MODEL}", context=sizes.context, threads=sizes.threads
    )
    fields: dict[str, Any] = {"scratchpad": Scratchpad.of(Brief.read(_BRIEF)), "section": "Exposition", "last": False}
    prompts = SystemPrompts(PROMPTS)
    messages = prompts.render(_PROMPT, fields)
    pairs: list[tuple[Decoded, Decoded]] = []
    with Journal() as journal:
        run = Run(RunContext(journal, prompts, Cast(Assignment(Limited(model), base=sizes.base)), listeners=(heard,)))

        async def ours(number: int, sampling: Sampling) -> Decoded:
            heard.first = None
            begun, cpu = time.perf_counter(), _cpu(model.engine)
            text = await run.scope(number).ask("exposition", _PROMPT, sampling=sampling, **fields)
            end = time.perf_counter()
            cpu = _cpu(model.engine) - cpu
            return Decoded(text, heard.tokens, end - heard.begun(end), end - begun, cpu)

        try:
            await ours(-1, Sampling(max_tokens=2, seed=1))  # loads the weights, before the bare engine does
            setting = (model.engine.setting if model.engine else None) or _ONE
            bare = Bare(_weights(sizes), sizes.context, setting)
            for number in range(-1, sizes.pairs):
                asked = replace(sizes.base, max_tokens=sizes.tokens, seed=100 + number)
                if number % 2:
                    theirs, mine = bare.ask(messages, asked), await ours(number + 1, asked)
                else:
                    mine, theirs = await ours(number + 1, asked), bare.ask(messages, asked)
                pairs.append((mine, theirs))
        finally:
            await model.close()
    return pairs[1:], setting  # the first one fills the prompt caches


# threads --------------------------------------------------------------------------------------------------------------


class Fixed(Tuner):
    """A tuner that has its mind made up."""

    def __init__(self, weights: Path, setting: EngineSetting) -> None:
        super().__init__(weights)
        self._fixed = setting

    def choose(self) -> EngineSetting:
        """That setting."""
        return self._fixed

    def due(self) -> bool:
        """Never."""
        return False

    def collapsed(self, pace: ReplySpeed) -> bool:  # noqa: ARG002 - a slow reply is what is measured here
        """Never."""
        return False


class Writer:
    """An engine that writes short replies, of three seconds at most, to prompts it has not read before."""

    def __init__(self, sizes: Sizes, tuner: Tuner) -> None:
        self._engine = Engine(EngineSettings(_weights(sizes), 1, 1024, ()), tuner, "engine")
        self._tokens, self._numbers = sizes.short, count()
        self.close = self._engine.close
        self.write()

    @property
    def setting(self) -> EngineSetting:
        """What it was last started with."""
        return self._engine.setting or _ONE

    def write(self) -> tuple[float, float]:
        """Tokens a second written after the first, and seconds until the first."""
        pace, firsts, stop = ReplySpeed(time.perf_counter), list[float](), threading.Event()
        prompt = f"Day {next(self._numbers)}. " + "The keeper wrote that the sea was calm. " * 12 + "Tell more of it."

        def take(chunk: dict[str, Any]) -> None:
            if any(choice.get("delta", {}).get("content") for choice in chunk.get("choices") or ()):
                pace.piece()
                firsts.append(time.perf_counter())
                if firsts[-1] - firsts[0] > _ENOUGH and pace.pieces:
                    stop.set()

        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": self._tokens, "temperature": 0.7}
        begun = time.perf_counter()
        self._engine.stream({**body, "seed": 1, "stream": True}, take, stop)
        return pace.pieces / pace.seconds if pace.seconds else 0.0, (firsts or [begun])[0] - begun


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    """So many busy loops in processes of their own."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        time.sleep(0.3 * bool(loops))
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True, slots=True)
class Tried:
    """What was measured beside so many busy loops: replies by setting, the choice, and how long choosing took."""

    beside: str
    replies: dict[EngineSetting, list[tuple[float, float]]]
    chosen: EngineSetting
    chose: tuple[float, ...]

    def speeds(self, setting: EngineSetting) -> tuple[float, ...]:
        """Tokens a second of a setting's replies."""
        return tuple(speed for speed, _ in self.replies[setting])

    @property
    def best(self) -> EngineSetting:
        """The setting with the highest median."""
        return max(self.replies, key=lambda setting: median(self.speeds(setting)))

    def rows(self, each: str) -> Iterator[Row]:
        """A row for each setting, the choice beside the best, and the time that choosing took."""
        for setting in self.replies:
            mark = " (chosen)" * (setting == self.chosen)
            yield Row(f"{self.beside}: {_told(setting)}{mark}", self.speeds(setting), "tokens/s", each)
        pairs = zip(self.speeds(self.chosen), self.speeds(self.best), strict=True)
        of_best = tuple(_PERCENT * ours / best for ours, best in pairs)
        yield Row(f"{self.beside}: chosen, of the best that was tried", of_best, "%", each, least=_LEAST)
        reads_best = max(self.replies, key=lambda setting: -median(first for _, first in self.replies[setting]))
        read = zip(self.replies[self.chosen], self.replies[reads_best], strict=True)
        first = tuple(_PERCENT * best[1] / ours[1] for ours, best in read)
        yield Row(f"{self.beside}: speed of reading a prompt, chosen of the best", first, "%", each)
        yield Row(f"{self.beside}: time that choosing took", self.chose, "s", "choice", most=_CHOOSING)


def _threads_tried(sizes: Sizes) -> tuple[list[Row], tuple[str, ...]]:
    """Rows for all settings, beside no and beside two busy loops, and what a reader has to know."""
    weights, each = _weights(sizes), f"{sizes.short} tokens"
    cores = min(sizes.most, usable_cores())
    before = others_running()
    settings = [EngineSetting(n, spin, cores) for spin in (SHORT, LONG) for n in range(1, cores + 1)]
    with ExitStack() as stack:
        writers: dict[EngineSetting, Writer] = {}
        for setting in settings:
            writers[setting] = Writer(sizes, Fixed(weights, setting))
            stack.callback(writers[setting].close)
        own = Writer(sizes, Tuner(weights))
        stack.callback(own.close)
        idle = _tried("idle", sizes, writers, stack)
        alone = [own.write()[0] for _ in range(2 * sizes.rounds)]
        with _busy(_LOOPS):
            busy = _tried(f"{_LOOPS} busy loops beside", sizes, writers, stack)
            beside = [own.write()[0] for _ in range(2 * sizes.rounds)][sizes.rounds :]
            in_the_end = _told(own.setting)
    kept = tuple(_PERCENT * speed / median(alone) for speed in beside)
    rows = [*idle.rows(each), *busy.rows(each)]
    rows.append(Row("two busy loops begin beside an engine: its speed, of idle", kept, "%", each, least=_HALF))
    notes = (
        (
            f"Threads: {usable_cores()} cores; {before:.1f} threads of others wanted one before it began (0 on an idle "
            "machine; figures of a busy one say little). Rounds are interleaved; each reply has a new prompt."
        ),
        f"The engine beside which the loops begin chose {in_the_end} in the end.",
    )
    return rows, notes


def _tried(beside: str, sizes: Sizes, writers: dict[EngineSetting, Writer], stack: ExitStack) -> Tried:
    """All settings in turn, `rounds` times, and among them what is chosen now, if it is none of them."""
    chose = []
    for _ in range(sizes.rounds):
        begun = time.perf_counter()
        chosen = Tuner(_weights(sizes), asked=sizes.threads).choose()
        chose.append(time.perf_counter() - begun)
    running = dict(writers)
    if chosen not in running:
        running[chosen] = Writer(sizes, Fixed(_weights(sizes), chosen))
        stack.callback(running[chosen].close)
    replies: dict[EngineSetting, list[tuple[float, float]]] = {setting: [] for setting in running}
    for _ in range(sizes.rounds):
        for setting, writer in running.items():
            replies[setting].append(writer.write())
    return Tried(beside, replies, chosen, tuple(chose))
