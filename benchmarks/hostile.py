"""What others wait while one client sends the worst it can: the turns of a conversation, alone and beside it.

The server is a process of its own. One conversation goes on at a steady pace; beside it one client sends, one after the
other and without a pause, bodies and heads that are as costly as it can make them.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final

from benchmarks.serving import Heard, server_process, status_of
from benchmarks.table import Row, Table

TITLE: Final = "a conversation beside a client that sends the worst"
MOST: Final = 100.0  # milliseconds that 99 turns of 100 of others may take
_MODEL: Final = "fabula/lamp/Mara"
_ROOM: Final = 1_999_000  # bytes of a body that is still taken
_IDLE: Final = "idle"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Turns for each kind of request beside the conversation, seconds between two, rounds, and kinds (0: all)."""

    turns: int = 150
    pause: float = 0.03
    rounds: int = 3
    kinds: int = 0


def bench(sizes: Sizes | None = None) -> Table:
    """The table: the 99th percentile of the conversation's turns, idle and beside each kind of request."""
    sizes = sizes or Sizes()
    token = secrets.token_hex(16)
    told: dict[str, list[Heard]] = {}
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder, server_process("fabula", folder, token) as port:
        for number in range(sizes.rounds + 1):  # the first round is for warming up
            for kind in (_IDLE, *list(worst())[-sizes.kinds :]):
                heard = asyncio.run(_beside(kind, port, token, sizes, f"s{number}-{len(told)}"))
                if number:
                    told.setdefault(kind, []).append(heard)
    rows = []
    for kind, runs in told.items():
        each = f"{sum(len(heard.seconds) for heard in runs)} turns"
        for share, name in ((0.5, "median"), (0.99, "p99")):
            most = MOST if name == "p99" and kind != _IDLE else None
            rows.append(Row(f"{kind}: {name}", tuple(heard.at(share) for heard in runs), "ms", each, most=most))
    errors = tuple(float(heard.errors) for runs in told.values() for heard in runs)
    rows.append(Row("turns of the conversation that failed", errors, "", "all", most=0))
    return Table("hostile", TITLE, tuple(rows), (str(__doc__).partition("\n\n")[2].replace("\n", " ").strip(),))


@cache
def worst() -> dict[str, bytes]:
    """The costliest bodies that we know, by kind; all but the largest are short enough to be read."""

    def body(messages: object, **more: object) -> bytes:
        return json.dumps({"model": _MODEL, "messages": messages} | more, ensure_ascii=False).encode()

    def pairs(letters: int, most: int = 1_000_000) -> list[dict[str, str]]:
        text = "A lamp, a letter. " * (letters // 18 + 1)
        roles = ("user", "assistant")
        return [
            {"role": roles[n % 2], "content": f"{n} {text[:letters]}"}
            for n in range(min(_ROOM // (letters + 50), most) // 2 * 2)
        ]

    now = {"role": "user", "content": "And then?"}
    parts = [{"type": "text"}] * (_ROOM // 19)
    return {
        "2 MB in one message": body([{"role": "user", "content": "x" * _ROOM}]),
        "2 MB of blanks": body([{"role": "user", "content": " " * _ROOM}]),
        "2 MB said by the character": body([{"role": "assistant", "content": "é " * (_ROOM // 3)}, now]),
        "history of long messages": body([*pairs(3900), now]),
        "history of 5,000 messages": body([*pairs(250, 4998), now]),
        "history that is far too long": body([*pairs(0), now]),
        "empty messages": body([{}] * (_ROOM // 4)),
        "a message of 100,000 parts": body([{"role": "user", "content": parts}]),
        "deep JSON": b'{"model": "' + _MODEL.encode() + b'", "messages": ' + b"[" * (_ROOM - 60),
        "fields without end": body([now], **{f"f{n}": n for n in range(100_000)}),
        "a form without end": body([{"role": "user", "content": "### Task: title " + '{ "title" ' * 180_000}]),
        "10 MB": b"x" * 10_000_000,
        "heads that do not end": b"",
    }


async def _beside(kind: str, port: int, token: str, sizes: Sizes, name: str) -> Heard:
    """What the conversation has heard beside a client that sends one kind of request over and over."""
    heard = Heard()
    nuisance = None if kind == _IDLE else asyncio.create_task(_send(worst()[kind], port, token))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for turn in range(sizes.turns):
            await asyncio.sleep(sizes.pause)
            asked = time.perf_counter()
            said = {"role": "user", "content": f"Tell me more of the letter, for the time number {turn}."}
            body = json.dumps({"model": _MODEL, "messages": [said]}).encode()
            writer.write(_head(token, len(body), name) + body)
            if await status_of(reader) == 200:
                heard.seconds.append(time.perf_counter() - asked)
            else:
                heard.errors += 1
        writer.close()
        await writer.wait_closed()
    finally:
        if nuisance is not None:
            nuisance.cancel()
            await asyncio.wait({nuisance})
    return heard


async def _send(body: bytes, port: int, token: str) -> None:
    """Send it for ever, each time on a connection of its own; without a body, heads that have no end."""
    held: list[asyncio.StreamWriter] = []
    try:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                held.append(writer)
                if not body:
                    writer.write(_head(token, 0, "")[:-4])
                    await asyncio.sleep(0.002)
                    continue
                writer.write(_head(token, len(body), "") + body)
                await status_of(reader)
                writer.close()
                await writer.wait_closed()  # a loop that ends before would leave its socket open
                held.remove(writer)
    finally:
        for writer in held:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in held), return_exceptions=True)


def _head(token: str, length: int, conversation: str) -> bytes:
    lines = [
        "POST /v1/chat/completions HTTP/1.1",
        "Host: server",
        f"Authorization: Bearer {token}",
        *([f"X-Fabula-Session: {conversation}"] if conversation else []),
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    return "\r\n".join((*lines, "", "")).encode()
