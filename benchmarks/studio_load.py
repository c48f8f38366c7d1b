"""50 people in a study, 200 conversations and a writing run at once: what each adds to the others' waiting.

The three are processes of their own on one machine, as they are for their users. Each kind of request is first timed
alone, then with all the rest going on; what is compared is from one run of the benchmark.
"""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from benchmarks.serving import Crowd, Heard, server_process
from benchmarks.serving import Sizes as Talkers
from benchmarks.table import Row, Table
from benchmarks.theatre import prose
from fabula.app.studies import assign, study_of_stories
from fabula.measure.items import Item
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import Study
from fabula.story import Brief, Scene, Story

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TITLE: Final = "a study, conversations and a writing run at once"
_ROOT: Final = Path(__file__).parents[1]
_ADDED: Final = 100.0  # milliseconds
_QUESTIONS: Final = ("plot", "creativity", "development", "language use", "overall")
_KEY: Final = re.compile(r'data-key="(\w+)"')
_SYSTEMS: Final = ("one", "another", "a third")
_WRITE: Final = "from pathlib import Path; from benchmarks.books import Book; Book({system!r}).write(Path({folder!r}))"


@dataclass(frozen=True, slots=True)
class Sizes(Talkers):
    """Beside the conversations: people who rate, tasks of each, words of a story, and the system that writes."""

    people: int = 50
    tasks: int = 5
    words: int = 1500
    writes: str = "magnet"


def bench(sizes: Sizes | None = None) -> Table:
    """The table: errors, and the slowest in a hundred of each kind, alone and with all the rest."""
    sizes = sizes or Sizes()
    alone: dict[str, list[Heard]] = {"study": [], "chat": []}
    together: dict[str, list[Heard]] = {"study": [], "chat": []}
    for number in range(sizes.rounds):
        with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
            for kind, heard in asyncio.run(_round(Path(folder), sizes, number)).items():
                alone[kind].append(heard[0])
                together[kind].append(heard[1])
    rows = [*_rows("study", "50 people in a study", alone, together), *_rows("chat", "conversations", alone, together)]
    notes = (
        (
            f"{sizes.people} raters load a page with two stories of {sizes.words:,} words, send two drafts and the "
            f"answers; {sizes.conversations} conversations have a turn every {sizes.pause:g} s; {sizes.writes} writes "
            "a book meanwhile."
        ),
        "Servers, the run and all clients share the machine's cores. p99 is over all requests of a kind in a round.",
    )
    return Table("studio_load", TITLE, tuple(rows), notes)


def _rows(kind: str, what: str, alone: dict[str, list[Heard]], together: dict[str, list[Heard]]) -> Iterator[Row]:
    pairs = list(zip(alone[kind], together[kind], strict=True))
    each = f"{len(pairs[0][1].seconds):,} requests"
    yield Row(f"{what}: errors", tuple(float(a.errors + b.errors) for a, b in pairs), "", each, most=0)
    for share, name in ((0.5, "median"), (0.99, "p99")):
        yield Row(f"{what}: {name} alone", tuple(a.at(share) for a, _ in pairs), "ms", each)
        most = _ADDED if name == "p99" else None
        yield Row(f"{what}: {name} added", tuple(b.at(share) - a.at(share) for a, b in pairs), "ms", each, most=most)


async def _round(folder: Path, sizes: Sizes, number: int) -> dict[str, tuple[Heard, Heard]]:
    """Each kind alone, then both beside a writing run."""
    token = secrets.token_hex(16)
    study = _study(folder / "study", sizes)
    half = len(study.raters) // 2
    (folder / "chat").mkdir()
    with server_process("fabula", str(folder / "chat"), token) as chat, _study_process(study) as rating:

        def talked(name: str) -> Crowd:
            return Crowd(chat, token, sizes, sizes.pause, f"{name}-{number}")

        await talked("warm").talk()
        rated_alone = await _rated(rating, study, study.raters[:half], sizes)
        talked_alone = await talked("alone").talk()
        with _writing(folder / "book", sizes) as run:
            rated, spoken = await asyncio.gather(
                _rated(rating, study, study.raters[half : 2 * half], sizes), talked("together").talk()
            )
            if run.poll() not in (None, 0):
                spoken.errors += 1
    return {"study": (rated_alone, rated), "chat": (talked_alone, spoken)}


def _study(folder: Path, sizes: Sizes) -> Study:
    """A study with tasks enough for so many people, twice."""
    draw = random.Random(1)  # noqa: S311 - stories, not secrets
    items = [
        Item(f"{system}/{prompt}", _told(prose(draw, sizes.words)), system, f"p-{prompt}", Brief(f"Story {prompt}."))
        for prompt in range(2 * sizes.people * sizes.tasks // len(_SYSTEMS) + 1)
        for system in _SYSTEMS
    ]
    made = study_of_stories(folder, "pairwise", "Lamps", items).study
    return assign(made, AssignmentOptions(raters=2 * sizes.people, most=sizes.tasks), datetime.now(UTC))[0]


def _told(text: str) -> Story:
    half = len(text) // 2
    return Story("", (Scene("", f"{text[:half]}\n\n{text[half:]}"),))


@contextmanager
def _study_process(study: Study) -> Iterator[int]:
    """The port of a study's server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.studio_load", str(study.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:  # noqa: S603 - our own file
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the server has no pipes")
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait()


@contextmanager
def _writing(folder: Path, sizes: Sizes) -> Iterator[subprocess.Popen[bytes]]:
    """A run that writes a book in a process of its own, as long as it is needed."""
    words = _WRITE.format(system=sizes.writes, folder=str(folder))
    with subprocess.Popen([sys.executable, "-c", words], cwd=_ROOT) as process:  # noqa: S603 - our own
        try:
            yield process
        finally:
            process.terminate()


@dataclass
class _Rater:
    """Somebody who rates, as the pages want it."""

    port: int
    token: str
    sizes: Sizes
    heard: Heard

    async def rate(self, wait: float) -> None:
        """All tasks of a sitting."""
        await asyncio.sleep(wait)
        begun, base = asyncio.get_running_loop().time(), f"http://127.0.0.1:{self.port}"
        headers = {"accept": "text/html", "sec-fetch-site": "same-origin"}
        async with httpx.AsyncClient(base_url=base, headers=headers, follow_redirects=True, timeout=60) as client:
            await self._timed(client, "GET", f"/login?token={self.token}")
            page = await self._timed(client, "POST", "/consent", {})
            for number in range(1, self.sizes.tasks + 1):
                found = _KEY.search(page)
                if found is None:
                    self.heard.errors += "nothing more to do" not in page
                    return
                key, answers = found[1], dict.fromkeys(_QUESTIONS, "A")
                for drafted in (1, 2):
                    await self._timed(client, "POST", f"/task/{key}/draft", dict(list(answers.items())[:drafted]))
                await asyncio.sleep(max(begun + number * self.sizes.pause - asyncio.get_running_loop().time(), 0))
                page = await self._timed(
                    client, "POST", f"/task/{key}", {**answers, "seconds": "300", "depths": "[1, 1]"}
                )

    async def _timed(
        self, client: httpx.AsyncClient, method: str, path: str, data: dict[str, str] | None = None
    ) -> str:
        asked = time.perf_counter()
        answer = await client.request(method, path, data=data)
        self.heard.seconds.append(time.perf_counter() - asked)
        self.heard.errors += not answer.is_success
        return answer.text


async def _rated(port: int, study: Study, raters: Sequence[str], sizes: Sizes) -> Heard:
    """What these raters see while they do a sitting each."""
    heard = Heard()
    people = [_Rater(port, study.token(name), sizes, heard) for name in raters]
    await asyncio.gather(*(one.rate(sizes.pause * at / len(people)) for at, one in enumerate(people)))
    return heard


async def _serve(folder: Path) -> None:
    """Serve a study until the input ends."""
    from fabula.server.running import listening  # noqa: PLC0415 - a second of imports that only a server needs
    from fabula.server.study.running import StudyOffer, serve_study  # noqa: PLC0415 - as above

    with listening("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        task = asyncio.ensure_future(
            serve_study(StudyOffer(Study.open(folder)), opened, lambda: print(port, flush=True))
        )
        await asyncio.to_thread(sys.stdin.read)
        task.cancel()
        await asyncio.wait({task})


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
