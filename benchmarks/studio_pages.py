"""The studio on a book of 100,000 words: what its server takes for each page, how large it is, and what an edit takes.

Times are of the server alone, in this process, without a socket or a browser. *Cold* is the first request of a server
that was just started, at that very moment; *started* the first one after `fabula studio` has made itself ready, which
it does while the browser opens; *warm* any later one. `fabula studio` itself is started too: until it says its address,
and until a page that is asked for at that moment is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import httpx

from benchmarks.books import ENVIRON, Book
from benchmarks.table import Row, Table
from fabula.app.writing import Options
from fabula.server.state import StudioState
from fabula.server.studio.application import pages_and_api
from fabula.server.studio.running import warm_up
from fabula.verbs.home import Home

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fabula.verbs.home import Project

TITLE: Final = "the studio's pages on a book of 100,000 words, and what an edit of it would ask"
_PAGE, _SCENE, _EDIT, _ADDRESS = 300.0, 100.0, 500.0, 1000.0  # milliseconds
_LARGEST: Final = 200.0  # kilobytes
_MS: Final = 1000.0
_BOOK: Final = "/projects/book"
_PAGES: Final = {
    "shelf": "/",
    "write": f"{_BOOK}/write",
    "edit": f"{_BOOK}/edit",
    "plan": f"{_BOOK}/plan",
    "world": f"{_BOOK}/world",
    "talk": f"{_BOOK}/talk",
    "prompts": f"{_BOOK}/calls",
    "measure": f"{_BOOK}/measure",
}
_SCENES: Final = {
    "a scene to edit": f"{_BOOK}/edit/{{scene}}",
    "a scene to read": f"{_BOOK}/write-parts/text?name={{scene}}",
    "a scene over the API": f"/api/v1{_BOOK}/artefacts/{{scene}}",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Scenes of the book, how often each thing is timed, by which systems books are written that are edited.

    `pages` are those that are looked at; all where none is named.
    """

    scenes: int = 300
    rounds: int = 5
    cold: int = 3
    edited: tuple[str, ...] = ("end-to-end", "agents-room", "character-simulation", "magnet")
    edits: int = 5
    pages: tuple[str, ...] = ()
    folder: str = ""  # where books are kept from one time to the next


def bench(sizes: Sizes | None = None) -> Table:
    """Every page cold and warm, then edits of each system's book."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as temporary, patch.dict(os.environ, ENVIRON):
        home = Path(sizes.folder or temporary)
        book = home / "agents-room" / "book"
        Book("agents-room", sizes.scenes).replay(Book("agents-room", sizes.scenes).write(book))
        rows = [*_starts(book, sizes), *asyncio.run(_pages(book, sizes))]
        for system in sizes.edited:
            folder = home / system / "book"
            Book(system, sizes.scenes).replay(Book(system, sizes.scenes).write(folder))
            rows += _edits(system, folder, sizes)
    notes = (
        f"A book of {sizes.scenes} scenes by Agents' Room for the pages. Milliseconds of the server alone.",
        "An edit: one word of a scene that was opened before is changed; from saving it to the marks and the estimate.",
        "Where working out an estimate takes long, the first one is marked as such; the share that agrees is of edits.",
    )
    return Table("studio_pages", TITLE, tuple(rows), notes)


@asynccontextmanager
async def _served(folder: Path, *, warmed: bool = False) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a studio that was just started."""
    state = StudioState(Home.of([folder]), Options(environ=ENVIRON))
    app = pages_and_api(state)
    if warmed:
        await warm_up(state, app)
    transport = httpx.ASGITransport(app)
    async with state.at_work(), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


def _starts(book: Path, sizes: Sizes) -> list[Row]:
    """What a person waits for who starts the studio."""
    _start(book)  # compiles, and fills the page cache
    address, page = zip(*(_start(book) for _ in range(sizes.cold)), strict=True)
    return [
        Row("fabula studio: its address", address, "ms", "start", most=_ADDRESS),
        Row("fabula studio: a page asked for at once", page, "ms", "start", most=_PAGE),
    ]


def _start(book: Path) -> tuple[float, float]:
    """Milliseconds until `fabula studio` says its address, and then until the Write page is there."""
    command = [sys.executable, "-m", "fabula", "studio", str(book), "--no-browser", "--port", "0", "--json"]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:  # noqa: S603 - ours
        said = ""
        while process.stdout is not None and (line := process.stdout.readline()):
            said += line
            if line == "}\n":
                break
        address = _MS * (time.perf_counter() - begun)
        link = httpx.URL(json.loads(said)["link"])
        begun = time.perf_counter()
        headers = {"authorization": f"Bearer {link.params['token']}"}
        httpx.get(link.copy_with(path=_PAGES["write"], query=None), headers=headers).raise_for_status()
        took = _MS * (time.perf_counter() - begun)
        process.send_signal(signal.SIGINT)
    return address, took


async def _pages(book: Path, sizes: Sizes) -> list[Row]:
    places = _PAGES | {what: place.format(scene=scene_of(book)) for what, place in _SCENES.items()}
    rows: list[Row] = []
    for what, place in places.items():
        if sizes.pages and what not in sizes.pages:
            continue
        most = _PAGE if what in _PAGES else _SCENE
        async with _served(book) as client:
            _, size = await timed(client, place)
            if not size:  # there is no such page
                continue
            warm = [(await timed(client, place))[0] for _ in range(sizes.rounds)]
        cold, started = zip(*(in_a_new_process(book, place) for _ in range(sizes.cold)), strict=True)
        rows += [
            Row(f"{what}: cold", cold, "ms", "start"),
            Row(f"{what}: started", started, "ms", "start", most=most),
            Row(f"{what}: warm", tuple(warm), "ms", "request", most=most),
            Row(f"{what}: size", (size,), "kB", "page", most=_LARGEST),
        ]
    return rows


def scene_of(book: Path) -> str:
    """A scene in the middle of a book."""
    files = sorted((book / "story").glob("*.md"))
    return files[len(files) // 2].stem.partition("-")[2]


async def timed(client: httpx.AsyncClient, place: str) -> tuple[float, float]:
    """Milliseconds of a request, and the kilobytes of its answer; 0 of them where there is no such page."""
    begun = time.perf_counter()
    answer = await client.get(place)
    took = _MS * (time.perf_counter() - begun)
    return took, len(answer.content) / 1000 if answer.status_code == httpx.codes.OK else 0.0


def in_a_new_process(book: Path, place: str) -> tuple[float, float]:
    """Milliseconds of the first request of a new server, at once and after it has made itself ready.

    Each has a process of its own: a server whose editor was opened works out what a change would ask, and takes time
    from another one beside it.
    """
    took = []
    for warmed in (False, True):
        words = f"from benchmarks.studio_pages import first; first({str(book)!r}, {place!r}, warmed={warmed})"
        done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)  # noqa: S603 - ours
        took.append(float(done.stdout.split()[-1]))
    return took[0], took[1]


def first(book: str, place: str, *, warmed: bool) -> None:
    """Print the milliseconds of a server's first request, at once or after it has made itself ready."""

    async def request() -> float:
        async with _served(Path(book), warmed=warmed) as client:
            return (await timed(client, place))[0]

    print(asyncio.run(request()))


def _edits(system: str, folder: Path, sizes: Sizes) -> list[Row]:
    """What edits of a book's scenes take."""
    workspace = Home.of([folder], ENVIRON)["book"]
    workspace.tree()
    draw = random.Random(1)  # noqa: S311 - edits, not secrets
    names = [one.name for one in workspace.rows(marks=False) if one.folder == "story"]
    found = [_edited(workspace, name, draw) for name in draw.sample(names, sizes.edits)]
    return [Row(f"{system}: edit, marks and estimate", tuple(found), "ms", f"edit of {len(names)} parts", most=_EDIT)]


def _edited(workspace: Project, name: str, draw: random.Random) -> float:
    """Milliseconds from the saving of a changed text to the marks and the estimate."""
    text = workspace.text(name)
    changed = with_a_change(text.text, draw)
    begun = time.perf_counter()
    workspace.edit(name, changed, text.base)
    workspace.tree()
    workspace.expected()
    took = _MS * (time.perf_counter() - begun)
    workspace.undo()
    workspace.tree()
    return took


def with_a_change(text: str, draw: random.Random) -> str:
    """A text with one of its words changed."""
    words: Sequence[str] = text.split(" ")
    at = draw.randrange(len(words))
    return " ".join([*words[:at], f"{words[at]}zz", *words[at + 1 :]])
