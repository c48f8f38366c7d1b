"""What fabula itself costs: a live call above the HTTP library, a replayed call, and opening a large project."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.engine.events import Kept
from fabula.engine.journal import Journal, call_key, spent_by_role
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Message, Reply, Request, Sampling, Usage
from fabula.models.limits import Limited
from fabula.models.providers import provider_model
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fabula.engine.events import Event
    from fabula.models.base import Model

TITLE: Final = "what fabula adds to a call"
PROMPTS: Final = Path(__file__).with_name("prompts")
_SERVER: Final = Path(__file__).parents[1] / "tests" / "support" / "fake_provider.py"
_SAMPLING: Final = Sampling(temperature=0.7, max_tokens=256, seed=7)
_VOCABULARY: Final = "lamp boat storm letter stairs bread reef glass wind rope harbour night"
_MS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured; `prompt` is in characters, `turn` is the calls after which the peer has its turn."""

    calls: int = 1000
    turn: int = 125
    parallel: int = 64
    rounds: int = 5
    prompt: int = 8000
    recorded: int = 10_000
    artefacts: int = 100


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took, in seconds."""

    cpu: float = 0.0
    wall: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu + other.cpu, self.wall + other.wall)

    def over(self, calls: int) -> Cost:
        """The share of one of `calls`."""
        return Cost(self.cpu / calls, self.wall / calls)


def bench(sizes: Sizes | None = None) -> Table:
    """The table of all three parts."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        rows = (
            *asyncio.run(live_rows(sizes, Path(folder))),
            *replay_rows(sizes, Path(folder)),
            *open_rows(sizes, Path(folder)),
        )
    notes = (
        (
            f"A call asks for a part of a story with a scratchpad of {sizes.prompt:,} characters (or 200): rendered "
            "from templates like those of Agents' Room, looked up, sent through Limited and ProviderModel(openai-chat) "
            "to a server on loopback in another process, and committed to a journal on disk."
        ),
        (
            f"The HTTP library alone is httpx2 with the same text, values and {sizes.parallel} "
            f"calls at once. CPU is this process's (time.process_time); both have their turn every {sizes.turn} calls."
        ),
        (
            "Calls a second and seconds to open are absolute, hence beside a bare SQLite that looks up the same. The "
            "replay's target is judged by CPU, because it never waits: on an idle machine wall time is the same. The "
            "page cache is warm."
        ),
    )
    return Table("overhead", TITLE, rows, notes)


# --- live calls -----------------------------------------------------------------------------------------------------


@contextmanager
def server(latency: float = 0.0) -> Iterator[str]:
    """The address of the tests' fake provider, in a process of its own so that its CPU is not ours."""
    command = [sys.executable, str(_SERVER), str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own file
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the fake provider has no pipes")
        try:
            yield process.stdout.readline().strip() + "/v1"
        finally:
            process.stdin.close()
            process.wait()


@lru_cache(maxsize=128)
def pages(characters: int, seed: int = 1) -> str:
    """Sentences of that many characters, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - filler, not secrets
    known = _VOCABULARY.split()
    words = (draw.choice(known) for _ in range(characters // 4 + 1))
    return " ".join(words)[:characters]


@dataclass(frozen=True)
class Calls:
    """One kind of call, asked through fabula or bare: `prompt` characters, heard by a listener or not."""

    sizes: Sizes
    prompt: int
    heard: bool = False
    prompts: SystemPrompts = field(default_factory=lambda: SystemPrompts(PROMPTS))

    def fields(self, number: int) -> dict[str, Any]:
        """What fills the prompt of the call of that number; no two calls are the same."""
        notes = Scratchpad().add("Creative Writing Task", f"Write a story, number {number}.", "task")
        pad = notes.add("Key Plot Points", pages(self.prompt), "planning")
        return {"scratchpad": pad, "section": "Exposition", "last": False}

    async def ask(self, run: Run, number: int) -> None:
        """One call through fabula."""
        asking = run.scope("call", number)
        await asking.ask("exposition", "section", sampling=_SAMPLING, **self.fields(number))

    async def pair(self, client: Bare, model: Model, file: Path) -> tuple[Cost, Cost]:
        """A round bare and one through fabula, in turns of some calls each, so that both see the same machine."""
        gate, bare, ours = asyncio.Semaphore(self.sizes.parallel), Cost(), Cost()
        numbers = range(self.sizes.calls)
        rendered = [self.prompts.render("section", self.fields(i)) for i in numbers]
        with Journal(file) as journal:
            journal.start_run("agents-room", {})
            listeners = (_listen,) if self.heard else ()
            run = Run(RunContext(journal, self.prompts, Cast.of(model), listeners=listeners))

            async def ask_bare(number: int) -> None:
                async with gate:
                    await client.ask(rendered[number], heard=self.heard)

            async def ask_ours(number: int) -> None:
                await self.ask(run, number)

            for start in range(0, self.sizes.calls, self.sizes.turn):
                turn = numbers[start : start + self.sizes.turn]
                bare += await side_by_side(ask_bare, turn)
                ours += await side_by_side(ask_ours, turn)
        return bare.over(self.sizes.calls), ours.over(self.sizes.calls)


async def side_by_side(ask: Callable[[int], Awaitable[None]], numbers: range) -> Cost:
    """What these calls took together, asked all at once."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(ask(number) for number in numbers))
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def _listen(event: Event) -> None:
    """A listener that does nothing: what is measured is the telling."""
    del event


class Bare:
    """The HTTP library called directly, as a program of a few lines would that reads no errors and counts nothing."""

    def __init__(self, address: str, parallel: int) -> None:
        import httpx2  # noqa: PLC0415 - 0.1 s of import

        limits = httpx2.Limits(max_connections=max(parallel, 100), max_keepalive_connections=max(parallel, 20))
        self._http = httpx2.AsyncClient(timeout=60, limits=limits, trust_env=False, base_url=address)

    async def ask(self, messages: tuple[Message, ...], *, heard: bool) -> str:
        """The text of a reply; streamed where it is heard."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        body = {"model": "tale-1", "messages": turns, "temperature": 0.7, "max_tokens": 256, "seed": 7}
        if not heard:
            reply = (await self._http.post("chat/completions", json=body)).json()
            return str(reply["choices"][0]["message"]["content"])
        text = ""
        async with self._http.stream("POST", "chat/completions", json=body | {"stream": True}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
        return text

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


async def live_rows(sizes: Sizes, folder: Path) -> list[Row]:
    """Our CPU above the HTTP library's, for three kinds of calls."""
    kinds = {
        f"live call, {sizes.prompt:,} characters": Calls(sizes, sizes.prompt),
        "live call, 200 characters": Calls(sizes, 200),
        f"live call, {sizes.prompt:,} characters, streamed to a listener": Calls(sizes, sizes.prompt, heard=True),
    }
    rows: list[Row] = []
    with server() as address:
        mine = provider_model("openai-chat", "tale-1", base_url=address, parallel=sizes.parallel)
        model, client = Limited(mine), Bare(address, sizes.parallel)
        for number, (what, calls) in enumerate(kinds.items()):
            pairs = [await calls.pair(client, model, folder / f"live-{number}-{i}.db") for i in range(sizes.rounds + 1)]
            rows += _compared(what, sizes, pairs[1:])  # the first round imports, connects and compiles
        await client.close()
        await model.close()
    return rows


def _compared(what: str, sizes: Sizes, pairs: list[tuple[Cost, Cost]]) -> Iterator[Row]:
    each = f"{sizes.calls:,} calls"
    yield Row(f"{what}: HTTP library alone", tuple(b.cpu * _MS for b, _ in pairs), "ms CPU", each)
    yield Row(f"{what}: fabula adds", tuple((f.cpu - b.cpu) * _MS for b, f in pairs), "ms CPU", each)
    yield Row(f"{what}: through fabula / alone", tuple(f.cpu / b.cpu for b, f in pairs), "x CPU", each, most=3.0)


# --- replayed calls -------------------------------------------------------------------------------------------------


def replay_rows(sizes: Sizes, folder: Path) -> list[Row]:
    """Calls a second that are answered from the journal, through `Run.ask`."""
    calls, file = Calls(sizes, sizes.prompt), folder / "replay.db"
    with Journal(file) as journal:
        journal.start_run("agents-room", {})
        asyncio.run(_replay(calls, journal, ScriptedModel({"exposition": "The lamp went out."}, name="fake")))
        rounds = []
        for _ in range(sizes.rounds):
            bare = _looked_up(file)
            rounds.append((bare, asyncio.run(_replay(calls, journal, ScriptedModel({}, name="fake")))))
    each = f"{sizes.calls:,} calls"
    return [
        Row("replayed calls in a second of CPU", tuple(1 / cost.cpu for _, cost in rounds), "/s", each, least=2000),
        Row("replayed calls in a second of wall time", tuple(1 / cost.wall for _, cost in rounds), "/s", each),
        Row("replayed call: CPU", tuple(cost.cpu * _MS for _, cost in rounds), "ms CPU", each),
        Row("replayed call: the look-up in bare SQLite", tuple(bare.cpu * _MS for bare, _ in rounds), "ms CPU", each),
    ]


async def _replay(calls: Calls, journal: Journal, model: Model) -> Cost:
    """A round; `ScriptedModel({})` fails if it is asked."""
    run = Run(RunContext(journal, calls.prompts, Cast.of(model)))
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range(calls.sizes.calls):
        await calls.ask(run, number)
    return Cost(time.process_time() - cpu, time.perf_counter() - wall).over(calls.sizes.calls)


def _looked_up(file: Path) -> Cost:
    """The same replies by their keys, with nothing around."""
    database = sqlite3.connect(file)
    keys = database.execute("SELECT key FROM call").fetchall()
    sql = "SELECT t.body, c.detail FROM call c JOIN text t ON t.hash = c.reply WHERE c.key = ?"
    wall, cpu = time.perf_counter(), time.process_time()
    for key in keys:
        database.execute(sql, key).fetchone()
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall).over(len(keys))
    database.close()
    return cost


# --- opening --------------------------------------------------------------------------------------------------------


def open_rows(sizes: Sizes, folder: Path) -> list[Row]:
    """Seconds to open a project of many calls and learn what `fabula status` asks of its journal."""
    project = large_project(sizes, folder / "large")
    last = call_key(_recorded(sizes, sizes.recorded - 1), "fake", 0)
    rounds = []
    for _ in range(sizes.rounds):
        bare = _counted(project)
        wall, cpu = time.perf_counter(), time.process_time()
        consult(project, last)
        rounds.append((bare, Cost(time.process_time() - cpu, time.perf_counter() - wall)))
    each = f"{sizes.recorded:,} calls"
    return [
        Row("project opens and tells its state", tuple(cost.wall for _, cost in rounds), "s", each, most=1.0),
        Row("the same: CPU", tuple(cost.cpu for _, cost in rounds), "s CPU", each),
        Row("bare SQLite reads the same calls", tuple(bare.cpu for bare, _ in rounds), "s CPU", each),
    ]


def large_project(sizes: Sizes, folder: Path) -> ProjectFolder:
    """A project with that many recorded calls and artefacts, made through the journal's own methods."""
    project = ProjectFolder.create(folder, Brief.parse("Write a story about a lamp."))
    with project.journal as journal:
        journal.start_run("agents-room", {})
        project.begin(journal)
        usage = Usage(prompt=2000, cached=1500, reply=40, seconds=1.5, first=0.2, cost=0.001)
        for number in range(sizes.recorded):
            request = _recorded(sizes, number)
            reply = Reply(f"Reply {number}. {pages(200, number)}", usage, model="fake", sent={"temperature": 0.7})
            journal.calls.record(call_key(request, "fake", 0), request, 0, reply)
        for number in range(sizes.artefacts):
            kept = Kept(f"part-{number}", "story", pages(2000, number), "made")
            journal.artefacts.keep(kept.path, kept.text, kept.source)
            project.write_kept(journal, kept)
    return project


def _recorded(sizes: Sizes, number: int) -> Request:
    text = f"Call {number}. {pages(sizes.prompt, number % 50)}"
    return Request((Message("user", text),), _SAMPLING, role=f"role-{number % 9}", path=f"scene/{number}/section")


def consult(project: ProjectFolder, key: str) -> int:
    """Open the project, find changed files, and read what its state is told from; the number of artefacts."""
    opened = ProjectFolder.open(project.folder)
    with opened.journal as journal:
        changes = opened.changes(journal)
        places = journal.artefacts.places()
        for path in places:
            journal.artefacts.versions(path)
            journal.decisions.override(path)
        found = (journal.runs(), journal.decisions.find(), spent_by_role(journal.calls), journal.calls.reply(key))
        if changes or not found[-1]:
            raise RuntimeError("the project is not as it was made")
    return len(places)


def _counted(project: ProjectFolder) -> Cost:
    database = sqlite3.connect(project.folder / ".fabula" / "journal.db")
    wall, cpu = time.perf_counter(), time.process_time()
    database.execute("SELECT role, detail FROM call").fetchall()
    cost = Cost(time.process_time() - cpu, time.perf_counter() - wall)
    database.close()
    return cost
