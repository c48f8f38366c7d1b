"""The server's sockets: idle, slow and too many clients cost nobody else anything, and fill no log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

from fabula.server.connections import most_connections, quiet_accepting
from fabula.server.gate import Bounds
from patience import wait_until
from serving import MODEL, TOKEN, there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serving import There

BOUNDS = Bounds(connections=20, head=0.5, idle=1.0, unread=0.5, reading=0.5)
HEADERS = {"authorization": f"Bearer {TOKEN}"}
HELLO = {"model": MODEL, "messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with there(tmp_path_factory.mktemp("served"), bounds=BOUNDS) as running:
        yield running


def opened(server: There) -> socket.socket:
    port = int(server.address.removesuffix("/v1").rpartition(":")[2])
    found = socket.create_connection(("127.0.0.1", port), timeout=120)
    found.settimeout(120)
    return found


def rest(of: socket.socket) -> bytes:
    """What still comes, until the server closes."""
    came = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := of.recv(65_536):
            came += piece
    return came


def status(server: There) -> int:
    return httpx.get(f"{server.address}/models", headers=HEADERS, timeout=120, trust_env=False).status_code


def test_300_idle_sockets_keep_nobody_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with there(tmp_path, bounds=Bounds(connections=20, head=600)) as server, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(opened(server)) for _ in range(300)]
        assert status(server) == 200, "before the idle ones are given up"
        assert {rest(one) for one in idle[:280]} == {b""}, "the oldest have made room"
    assert not caplog.records


@pytest.mark.parametrize("sent", [b"", b"GET /v1/models HTTP/1.1\r\nhost: x\r\n", b"POST"])
def test_a_head_that_does_not_come_is_not_waited_for(server: There, sent: bytes) -> None:
    with opened(server) as slow:
        slow.sendall(sent)
        head, _, body = rest(slow).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout")
    assert json.loads(body)["error"]["code"] == "timeout"


def test_a_second_head_that_does_not_come_is_not_waited_for_either(server: There) -> None:
    whole = f"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with opened(server) as slow:
        slow.sendall(whole)
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200")
        slow.sendall(whole[:20])
        assert b"HTTP/1.1 408" in rest(slow)


def test_an_idle_connection_is_closed(server: There) -> None:
    with opened(server) as idle:
        idle.sendall(f"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert rest(idle).startswith(b"HTTP/1.1 200"), "though the client stays"


def test_what_is_no_http_is_told_in_the_shape_of_all_errors(server: There, caplog: pytest.LogCaptureFixture) -> None:
    with opened(server) as wrong:
        wrong.sendall(b"\x16\x03\x01 GIVE ME\r\n\r\n")
        head, _, body = rest(wrong).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["error"]["code"] == "invalid_http"
    assert b"\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'\r\n" in head
    assert b"\r\nx-content-type-options: nosniff\r\n" in head
    assert not caplog.records


def test_where_all_are_at_work_one_more_is_told_to_come_again(tmp_path: Path) -> None:
    bounds = Bounds(connections=8, head=5)
    with there(tmp_path, bounds=bounds) as server, contextlib.ExitStack() as stack:
        server.engine.gate = asyncio.Event()
        busy = [stack.enter_context(opened(server)) for _ in range(8)]
        body = json.dumps(HELLO).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        for one in busy:
            one.sendall(head.encode() + body)
        wait_until(lambda: server.engine.started >= len(busy))
        with opened(server) as more:
            told = rest(more)
        assert told.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_many_connections"
        server.loop.call_soon_threadsafe(server.engine.gate.set)
        assert all(one.recv(100).startswith(b"HTTP/1.1 200") for one in busy)


def test_there_are_no_more_connections_than_open_files_leave_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert most_connections(1000) == 64
    assert most_connections(50) == 50
    monkeypatch.setattr(resource, "getrlimit", lambda _: (20, 20))
    assert most_connections(1000) == 8


async def test_that_nothing_can_be_accepted_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    end = quiet_accepting(loop)
    caplog.set_level(logging.ERROR)
    error = OSError(24, "Too many open files")
    for _ in range(1000):
        loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": error})
    assert [record.message for record in caplog.records] == [
        "No connection can be accepted: [Errno 24] Too many open files. The server tries again."
    ]
    loop.call_exception_handler({"message": "something else"})
    assert len(caplog.records) == 2
    end()
