"""What the cells of an experiment cost: on an instant model, and beside a bare client and inspect_ai on a waiting one.

`FABULA_INSPECT=PYTHON` names a Python that has inspect_ai and openai, which fabula's own environment has not:
`uv venv v && uv pip install -p v/bin/python inspect_ai openai`. Without it, its rows are left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.overhead import server
from benchmarks.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE: Final = "cells of an experiment"
_ROOT: Final = Path(__file__).parents[1]
_PEER: Final = Path(__file__).with_name("inspect_peer.py")
_MS, _KB, _MB = 1000.0, 1000.0, 1_000_000.0
_ONE, _ROOM = "one-call cells", "rooms"
_SYSTEMS: Final = {_ONE: "end-to-end", _ROOM: "agents-room"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Cells on the instant model; one-call cells and rooms on the waiting one, its seconds, those at once; rounds."""

    instant: int = 10_000
    single: int = 300
    rooms: int = 50
    latency: float = 0.05
    at_once: int = 16
    rounds: int = 3


def bench(sizes: Sizes | None = None) -> Table:
    """The table of both parts."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        rows = (*_instant(sizes, Path(folder)), *_waiting(sizes, Path(folder)))
    return Table("experiment", TITLE, rows, _notes(sizes))


def _notes(sizes: Sizes) -> tuple[str, ...]:
    return (
        (
            f"Each of {sizes.instant:,} briefs is a file; a scripted model in the same process answers at once, and "
            "what asking it takes is in the figure. CPU is user and system time of the process, imports left out."
        ),
        "A report and a resume are commands of their own, with all that a user waits for.",
        (
            "The waiting model is a server on loopback in a process of its own that answers after "
            f"{sizes.latency:g} s. The bare client is httpx2 and asyncio, sends the same bodies and keeps nothing; "
            "inspect_ai logs as it does by default. Every one has a process of its own, in turns; for the other two a "
            "room is a sample of as many calls, one after the other."
        ),
    )


# an instant model -----------------------------------------------------------------------------------------------------


def _instant(sizes: Sizes, folder: Path) -> Iterator[Row]:
    """CPU of a cell, what is on the disk, and the second session."""
    home, cells = folder / "instant", sizes.instant
    _write_experiment(home, cells, _ONE, "scripted:script.toml", sizes.at_once)
    took = _child("fabula", str(home))
    each = f"{cells:,} cells"
    yield Row("a cell on an instant model", (took["written"] * _MS / cells,), "ms CPU", each, most=5.0)
    yield Row("the same, measured by `surface` too", (took["cpu"] * _MS / cells,), "ms CPU", each)
    files = [file for file in (home / "exp" / "runs").rglob("*") if file.is_file()]
    yield Row("files of a cell", (len(files) / cells,), "", each, most=3.0)
    yield Row("size of a cell", (sum(file.stat().st_size for file in files) / cells / _KB,), "kB", each, most=30.0)
    for what, most in (("report of an experiment that is over", 20.0), ("resume with nothing to do", 3.0)):
        begun = time.perf_counter()
        _run([sys.executable, "-m", "fabula", "lab", "experiment", "exp.toml", "--quiet"], home)
        yield Row(what, (time.perf_counter() - begun,), "s", each, most=most)
    page = (home / "exp" / "report.html").stat().st_size / _MB
    yield Row("size of report.html", (page,), "MB", each, most=5.0)


# a waiting model ------------------------------------------------------------------------------------------------------


def _waiting(sizes: Sizes, folder: Path) -> Iterator[Row]:
    """Wall time and CPU of the same calls, bare, through inspect_ai, and through fabula."""
    python = os.environ.get("FABULA_INSPECT", "")
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    with server(sizes.latency) as address:
        for number in range(sizes.rounds):
            for kind, cells in ((_ONE, sizes.single), (_ROOM, sizes.rooms)):
                home = folder / f"{_SYSTEMS[kind]}-{number}"
                _write_experiment(home, cells, kind, f"openai-chat:tale-1\n{address}", sizes.at_once)
                ours = _child("fabula", str(home))
                calls = int(ours["calls"]) // cells
                found.setdefault((kind, "fabula"), []).append(ours)
                size = (str(cells), str(calls), str(sizes.at_once))
                found.setdefault((kind, "a bare client"), []).append(_child("bare", address, *size))
                if python:
                    peer = _run([python, "-I", str(_PEER), address, str(home / "logs"), *size], _ROOT)
                    found.setdefault((kind, "inspect_ai"), []).append(json.loads(peer.splitlines()[-1]))
    for (kind, who), rounds in found.items():
        each = f"{int(rounds[0]['calls']):,} calls"
        yield Row(f"{kind} through {who}", tuple(one["wall"] for one in rounds), "s", each)
        yield Row(
            f"{kind} through {who}: a call", tuple(one["cpu"] * _MS / one["calls"] for one in rounds), "ms CPU", each
        )
    yield from _ratios(sizes, found)


def _ratios(sizes: Sizes, found: dict[tuple[str, str], list[dict[str, float]]]) -> Iterator[Row]:
    single, rooms = found[_ONE, "fabula"], found[_ROOM, "fabula"]
    one = tuple(took["cpu"] * _MS / sizes.single for took in single)
    yield Row("a one-call cell", one, "ms CPU", f"{sizes.single} cells", most=10.0)
    more = tuple(
        (took["cpu"] * _MS / sizes.rooms - first) / (took["calls"] / sizes.rooms - 1)
        for took, first in zip(rooms, one, strict=True)
    )
    yield Row("each further call of a room", more, "ms CPU", f"{sizes.rooms} rooms", most=3.0)
    for kind in (_ONE, _ROOM):
        if peers := found.get((kind, "inspect_ai")):
            pairs = zip(found[kind, "fabula"], peers, strict=True)
            yield Row(f"{kind}: fabula / inspect_ai", tuple(a["wall"] / b["wall"] for a, b in pairs), "x", most=1.0)


# processes ------------------------------------------------------------------------------------------------------------


def _write_experiment(home: Path, cells: int, kind: str, model: str, at_once: int) -> None:
    """An experiment of so many briefs; behind the name of a `model` may stand its address, on a line of its own."""
    name, _, address = model.partition("\n")
    (home / "briefs").mkdir(parents=True)
    for number in range(cells):
        (home / "briefs" / f"{number:05}.md").write_text(f"Write of lamp number {number}.\n", encoding="utf-8")
    (home / "script.toml").write_text('[replies]\nwriter = "The lamp went out, and nobody spoke."\n', encoding="utf-8")
    reached = f'[settings.models."{name}"]\nbase_url = "{address}"\nparallel = {at_once}\n' if address else ""
    (home / "exp.toml").write_text(
        f'briefs = ["briefs"]\nsystems = [{{ system = "{_SYSTEMS[kind]}", preset = "faithful" }}]\nbaseline = false\n'
        f'models = [{{ model = "{name}", label = "m" }}]\nworkers = {at_once}\n{reached}',
        encoding="utf-8",
    )


def _child(*words: str) -> dict[str, float]:
    """What a piece of work took that this module does in a process of its own."""
    found: dict[str, float] = json.loads(_run([sys.executable, "-m", "benchmarks.experiment", *words], _ROOT))
    return found


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _experiment(home: Path) -> dict[str, float]:
    """The experiment in a folder, from its file to its results."""
    from fabula.app.experiment.grid import read_experiment  # noqa: PLC0415 - imports are no part of what is measured
    from fabula.app.experiment.working import How, run_experiment  # noqa: PLC0415 - as above

    os.chdir(home)
    wall, cpu, written = time.perf_counter(), _cpu(), 0.0
    experiment = read_experiment(Path("exp.toml"), {})

    def ended(*_: Any) -> None:  # noqa: ANN401 - a run and its outcome
        nonlocal written
        written = _cpu() - cpu

    results = await run_experiment(experiment, How(ended=ended))
    if results.stopped or len(results.of_state("done")) != len(results.runs):
        raise RuntimeError(results.stopped or results.of_state("failed")[0].outcome.error)
    took = {"wall": time.perf_counter() - wall, "cpu": _cpu() - cpu, "written": written}
    return took | {"calls": sum(run.record.calls for run in results.runs)}


async def _bare(address: str, cells: int, calls: int, at_once: int) -> dict[str, float]:
    """The same number of calls by a client of a few lines."""
    import httpx2  # noqa: PLC0415 - imports are no part of what is measured

    gate = asyncio.Semaphore(at_once)
    async with httpx2.AsyncClient(timeout=60, trust_env=False, base_url=address) as http:

        async def cell(number: int) -> None:
            async with gate:
                for _ in range(calls):
                    turns = [{"role": "user", "content": f"Write of lamp number {number}."}]
                    reply = await http.post("chat/completions", json={"model": "tale-1", "messages": turns})
                    reply.json()["choices"][0]["message"]["content"]

        wall, cpu = time.perf_counter(), _cpu()
        await asyncio.gather(*(cell(number) for number in range(cells)))
        return {"wall": time.perf_counter() - wall, "cpu": _cpu() - cpu, "calls": cells * calls}


def _main(kind: str, place: str, *sizes: str) -> None:
    work = _experiment(Path(place)) if kind == "fabula" else _bare(place, *map(int, sizes))
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
