"""200 conversations at once over HTTP: what the server adds to the answers of a bare FastAPI echo.

The servers are processes of their own. People talk at their own pace, so something is said in each conversation once in
a while, spread evenly; that everybody speaks at the same instant is measured too, and tells how many turns a second
there are.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.project.settings import Settings
    from fabula.server.gate import App

TITLE: Final = "conversations over HTTP beside a bare echo"
_ROOT: Final = Path(__file__).parents[1]
_MS: Final = 1000.0
_STORY: Final = (
    "Mara kept the lamp of the cape. In the evening Tobias brought Mara a letter. Tobias asked Mara for light, but "
    "Mara had an order. Then Mara lit the lamp."
)
_SCRIPT: Final = '[replies]\nnpc = "[Mara: (looks up) The lamp is to go dark on Saturday, Tobias, and not before.]"\n'


@dataclass(frozen=True, slots=True)
class Sizes:
    """Conversations at once, turns of each in a round, seconds between two of them, and rounds of both servers."""

    conversations: int = 200
    turns: int = 5
    pause: float = 4.0
    rounds: int = 3


@dataclass
class Heard:
    """What clients have seen: seconds of each answer, and how many were no answers."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    whole: float = 0.0

    def at(self, share: float) -> float:
        """The milliseconds within which that share of the answers came."""
        ordered = sorted(self.seconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * _MS


def bench(sizes: Sizes | None = None) -> Table:
    """The table: paced conversations, then all at once."""
    sizes = sizes or Sizes()
    token = secrets.token_hex(16)
    echo: dict[str, list[Heard]] = {"paced": [], "burst": []}
    ours: dict[str, list[Heard]] = {"paced": [], "burst": []}
    with (
        tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder,
        server_process("echo", folder, token) as bare,
        server_process("fabula", folder, token) as served,
    ):
        for number in range(sizes.rounds + 1):  # the first round is for warming up
            for kind, pause in (("paced", sizes.pause), ("burst", 0.0)):
                for port, told in ((bare, echo), (served, ours)):
                    crowd = Crowd(port, token, sizes, pause, f"{kind}-{number}")
                    heard = asyncio.run(crowd.talk())
                    if number:
                        told[kind].append(heard)
    return Table("serving", TITLE, tuple(_rows(sizes, echo, ours)), _notes(sizes))


def _rows(sizes: Sizes, echo: dict[str, list[Heard]], ours: dict[str, list[Heard]]) -> Iterator[Row]:
    each = f"{sizes.conversations * sizes.turns:,} turns"
    everything = [heard for told in ours.values() for heard in told]
    yield Row("errors", tuple(float(heard.errors) for heard in everything), "", each, most=0)
    for kind, label in (
        ("paced", f"{sizes.conversations} conversations at their pace"),
        ("burst", "all at the same instant"),
    ):
        pairs = list(zip(echo[kind], ours[kind], strict=True))
        for share, name in ((0.5, "median"), (0.99, "p99")):
            yield Row(f"{label}: {name}, bare echo", tuple(bare.at(share) for bare, _ in pairs), "ms", each)
            added = tuple(own.at(share) - bare.at(share) for bare, own in pairs)
            most = 50.0 if (kind, name) == ("paced", "p99") else None
            yield Row(f"{label}: {name}, fabula adds", added, "ms", each, most=most)
    rates = tuple(len(heard.seconds) / heard.whole for heard in ours["burst"])
    yield Row("turns in a second, all at the same instant", rates, "/s", each)


def _notes(sizes: Sizes) -> tuple[str, ...]:
    return (
        (
            f"Each of {sizes.conversations} conversations has a connection of its own and a turn every "
            f"{sizes.pause:g} s, {sizes.conversations / sizes.pause:.0f} turns a second in all. A turn is looked up, "
            "asked of a scripted model, committed to the journal and written into the conversation's log."
        ),
        (
            "The echo is FastAPI with one route that reads and answers the same JSON, on uvicorn as ours. Client, echo "
            "and server share the machine's cores."
        ),
        (
            "All at the same instant, an answer waits for those before it: what is added there is the queue of "
            f"{sizes.conversations} turns in one process."
        ),
    )


# --- clients --------------------------------------------------------------------------------------------------------


@dataclass
class Crowd:
    """People who talk, each in a conversation; a client as small as can be, so that it is not what is measured."""

    port: int
    token: str
    sizes: Sizes
    pause: float
    name: str
    heard: Heard = field(default_factory=Heard)

    async def talk(self) -> Heard:
        """All turns of all conversations."""
        begun = time.perf_counter()
        await asyncio.gather(*(self._conversation(number) for number in range(self.sizes.conversations)))
        self.heard.whole = time.perf_counter() - begun
        return self.heard

    async def _conversation(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        loop = asyncio.get_running_loop()
        start = loop.time() + self.pause * number / self.sizes.conversations
        for turn in range(self.sizes.turns):
            if self.pause:
                await asyncio.sleep(max(start + turn * self.pause - loop.time(), 0))
            asked = time.perf_counter()
            writer.write(self._request(number, turn))
            if await status_of(reader) == 200:
                self.heard.seconds.append(time.perf_counter() - asked)
            else:
                self.heard.errors += 1
        writer.close()
        await writer.wait_closed()

    def _request(self, number: int, turn: int) -> bytes:
        said = {"role": "user", "content": f"Tell me more of the letter, for the time number {turn}."}
        body = json.dumps({"model": "fabula/lamp/Mara", "messages": [said]}).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1",
            "Host: server",
            f"Authorization: Bearer {self.token}",
            f"X-Fabula-Session: {self.name}-{number}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        )
        return "\r\n".join((*head, "", "")).encode() + body


async def status_of(reader: asyncio.StreamReader) -> int:
    """The status of a response, which is read to its end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = head.partition("content-length:")[2].partition("\r\n")[0]
    await reader.readexactly(int(length))
    return int(head.split()[1])


# --- servers --------------------------------------------------------------------------------------------------------


@contextmanager
def server_process(kind: str, folder: str, token: str) -> Iterator[int]:
    """The port of a server in a process of its own, which ends with its input."""
    command = [sys.executable, "-m", "benchmarks.serving", kind, folder, token]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:  # noqa: S603 - our own file
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the server has no pipes")
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait()


def _echo() -> App:
    """FastAPI with nothing behind it."""
    from fastapi import FastAPI  # noqa: PLC0415 - a second of imports that only a server needs

    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": body["messages"][-1]}]}

    return app


async def _run(kind: str, folder: Path, token: str) -> None:
    """Serve until the input ends."""
    from fabula.server.running import listen, listening  # noqa: PLC0415 - as above

    with listening("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]

        def ready(*_: object) -> None:
            print(port, flush=True)

        work = listen(_echo(), opened, ready) if kind == "echo" else _fabula(folder, token, opened, ready)
        task = asyncio.get_running_loop().create_task(work)
        await asyncio.to_thread(sys.stdin.read)
        task.cancel()
        await asyncio.wait({task})


async def _fabula(folder: Path, token: str, opened: Any, ready: Any) -> None:  # noqa: ANN401 - a socket and a function
    from fabula.app.writing import Options  # noqa: PLC0415 - as above
    from fabula.project.folder import ProjectFolder  # noqa: PLC0415 - as above
    from fabula.server.chat.running import Offer, serve  # noqa: PLC0415 - as above
    from fabula.server.gate import Bounds  # noqa: PLC0415 - as above
    from fabula.story import Brief  # noqa: PLC0415 - as above

    script = folder / "script.toml"
    script.write_text(_SCRIPT, encoding="utf-8")
    told = {
        "system": "vanilla",
        "model": f"scripted:{script}",
        "config": {"player": "Tobias", "npc": "Mara", "open_ended": True},
    }
    project = ProjectFolder.create(folder / "lamp", Brief(_STORY), told)
    settings: Settings = project.settings
    await serve(Offer([(project, settings)], Options(), [token], Bounds(rate=0, turns=10_000)), opened, ready)


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
