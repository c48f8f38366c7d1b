"""What the studio's server holds while every page of odd projects is asked for, again and again.

`fabula studio` serves the projects of `odd_projects` as a process of its own. A few clients ask for every address that
its pages name, project after project, for as long as is wanted; between two walks every report and text looks changed,
as by a program that writes them again. What the process holds (its resident memory) is read once a second. Walks are
compared with each other, since each asks for the same pages: at the end of a walk, when nobody has asked for a moment,
the process should hold as much as at the end of the second one. The first fills what is kept.

    python -m benchmarks.studio_memory --minutes 20 --samples rss.csv
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from benchmarks.odd_projects import make_all
from benchmarks.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

TITLE: Final = "what the studio's server holds while odd projects are walked"
_MOST: Final = 400.0  # megabytes at the end
_FLAT: Final = 20.0  # megabytes by which the end of the last walk may lie above that of the second
_FROM: Final = 2  # walks after which all is kept that will be
_QUIET: Final = 6  # seconds after a walk, of which the least is taken: the server gives back what is free every two
_LIST: Final = "/"
_ADDRESS: Final = re.compile(r'(?:href|hx-get|src)="(/[^"]*)"')
_PAGES: Final = ("write", "edit", "plan", "world", "talk", "calls", "measure", "measure-run", "measure/learning")
_PARTS: Final = ("write-parts/tree", "write-parts/expected", "world/facts", "world/graph", "world/findings")
_API: Final = ("", "/artefacts", "/reports", "/plan", "/world", "/findings", "/calls", "/chats", "/runs", "/story")
_TOUCHED: Final = ("evaluation", "reports", "plan", "drafts", "story", "chat")
_NEVER_ENDS: Final = ("/events", "/login", "/static/")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How long is walked, by how many clients; addresses of a project in a walk; seed and scale of the projects."""

    minutes: float = 20.0
    clients: int = 3
    addresses: int = 60
    seed: int = 25
    scale: float = 1.0
    samples: str = ""


@dataclass
class Walked:
    """What was seen: seconds since the beginning with megabytes, also after each walk; answers, what the list took."""

    held: list[tuple[float, float]] = field(default_factory=list)
    ends: list[tuple[float, float]] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    listed: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def bench(sizes: Sizes | None = None) -> Table:
    """The table: megabytes at the end and over time, errors, and how long the list of projects took meanwhile."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        home = Path(folder) / "home"
        names = make_all(home, sizes.seed, sizes.scale)
        walked = asyncio.run(_walk(home, names, sizes))
    if sizes.samples:
        lines = ["seconds,megabytes", *(f"{at:.0f},{held:.1f}" for at, held in walked.held)]
        Path(sizes.samples).write_text("\n".join(lines) + "\n", encoding="utf-8")
    held, ends = [one for _, one in walked.held], [one for _, one in walked.ends]
    each = f"{walked.held[-1][0] / 60:.1f} minutes"
    grown = (ends[-1] - ends[_FROM - 1],) if len(ends) > _FROM else ()
    rows = (
        Row("at the end", (held[-1],), "MB", each, most=_MOST),
        *(
            Row("after the last walk, above what it was after the second", (one,), "MB", each, most=_FLAT)
            for one in grown
        ),
        Row("at most", (max(held),), "MB", each),
        Row("answers with an error of the server's own", (float(len(walked.failed)),), "", each, most=0),
        Row("the list of projects", tuple(walked.listed), "ms", "request"),
    )
    answers = ", ".join(f"{count:,} with {status}" for status, count in sorted(walked.statuses.items()))
    notes = (
        f"{len(names)} projects, {len(ends)} whole walks by {sizes.clients} clients; answers: {answers}.",
        "MB after each whole walk: " + (", ".join(f"{one:.0f}" for one in ends) or "none was whole") + ".",
        *(f"Failed: {one}" for one in walked.failed[:20]),
    )
    return Table("studio_memory", TITLE, rows, notes)


async def _walk(home: Path, names: Sequence[str], sizes: Sizes) -> Walked:
    walked, draw = Walked(), random.Random(sizes.seed)  # noqa: S311 - an order, not secrets
    async with _served(home) as (process, client):
        begun = time.monotonic()
        until = begun + 60 * sizes.minutes
        watching = asyncio.create_task(_watch(process, walked, begun))
        while time.monotonic() < until:
            await asyncio.to_thread(_touch, home)
            left = draw.sample(names, len(names))
            async with asyncio.TaskGroup() as clients:
                for _ in range(sizes.clients):
                    clients.create_task(_client(client, left, sizes, walked, until))
            if left or time.monotonic() >= until:
                break  # not a whole walk
            at = len(walked.held)
            await asyncio.sleep(_QUIET)
            walked.ends.append((time.monotonic() - begun, min(one for _, one in walked.held[at:])))
        watching.cancel()
        await asyncio.wait({watching})
        walked.held.append((time.monotonic() - begun, _megabytes(process.pid)))
    return walked


async def _client(client: httpx.AsyncClient, left: list[str], sizes: Sizes, walked: Walked, until: float) -> None:
    """Take one project after the other, until none is left."""
    while left and time.monotonic() < until:
        name = left.pop()
        asked_at = time.monotonic()
        await _get(client, _LIST, walked)
        walked.listed.append(1000 * (time.monotonic() - asked_at))
        addresses = [f"/projects/{name}/{part}" for part in (*_PAGES, *_PARTS)]
        addresses += [f"/api/v1/projects/{name}{part}" for part in _API]
        known = set(addresses)
        while addresses and time.monotonic() < until:
            for found in await _get(client, addresses.pop(0), walked):
                if found not in known and len(known) < sizes.addresses and found.startswith(f"/projects/{name}/"):
                    known.add(found)
                    addresses.append(found)


async def _get(client: httpx.AsyncClient, address: str, walked: Walked) -> list[str]:
    """Ask for an address; the addresses that its page names."""
    if any(part in address for part in _NEVER_ENDS):
        return []
    try:
        answer = await client.get(address)
    except httpx.HTTPError as error:
        walked.failed.append(f"{address}: {type(error).__name__}")
        return []
    walked.statuses[answer.status_code] = walked.statuses.get(answer.status_code, 0) + 1
    if answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR and "did not expect" in answer.text:
        walked.failed.append(address)
    if "html" not in answer.headers.get("content-type", ""):
        return []
    return [html.unescape(one).partition("#")[0] for one in _ADDRESS.findall(answer.text)]


async def _watch(process: subprocess.Popen[str], walked: Walked, begun: float) -> None:
    while True:
        walked.held.append((time.monotonic() - begun, _megabytes(process.pid)))
        await asyncio.sleep(1)


def _megabytes(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return 0.0


def _touch(home: Path) -> None:
    """Have every file look as if it was written just now."""
    for folder in home.iterdir():
        for name in _TOUCHED:
            if not os.access(folder / name, os.R_OK | os.X_OK) or not (folder / name).is_dir():
                continue
            with os.scandir(folder / name) as entries:
                for entry in [one for one in entries if one.is_file(follow_symlinks=False)][:100]:
                    os.utime(entry.path)


@asynccontextmanager
async def _served(home: Path) -> AsyncIterator[tuple[subprocess.Popen[str], httpx.AsyncClient]]:
    """The studio as a process of its own, and a client that is signed in."""
    state = home.parent / "state"
    environ = dict(os.environ) | {"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state / "config")}
    command = [sys.executable, "-m", "fabula", "studio", str(home), "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:  # noqa: ASYNC220, S603 - ours
        said = ""
        while process.stdout is not None and (line := await asyncio.to_thread(process.stdout.readline)):
            said += line
            if line == "}\n":
                break
        link = httpx.URL(json.loads(said)["link"])
        headers = {"authorization": f"Bearer {link.params['token']}", "accept": "text/html"}
        base = f"{link.scheme}://{link.netloc.decode()}"
        try:
            async with httpx.AsyncClient(base_url=base, headers=headers, timeout=300) as client:
                yield process, client
        finally:
            process.send_signal(signal.SIGINT)


def main(words: Sequence[str] | None = None) -> int:
    """Walk for as long as is asked, and print the table."""
    usual = Sizes()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio_memory", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="for which the projects are walked")
    parser.add_argument("--clients", type=int, default=usual.clients, help="that ask at once")
    parser.add_argument("--seed", type=int, default=usual.seed, help="of the projects and of the order of walking")
    parser.add_argument(
        "--scale", type=float, default=usual.scale, help="of the projects: .25 makes four times the walks"
    )
    parser.add_argument("--samples", default="", metavar="FILE", help="write the memory of each second as CSV")
    asked = parser.parse_args(words)
    sizes = Sizes(asked.minutes, asked.clients, seed=asked.seed, scale=asked.scale, samples=asked.samples)
    print(bench(sizes).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
