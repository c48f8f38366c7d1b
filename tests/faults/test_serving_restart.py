"""A server is killed with SIGKILL in the middle of answers and started again: every conversation continues."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

import serving
from fabula.craft.conversation import Log, conversations_in
from serving import MODEL, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

CHILD = Path(serving.__file__).with_name("serving_child.py")
SESSIONS = 6


@contextmanager
def running(folder: Path, hangs_at: int = 0) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server and its client; whatever is left of the server is killed."""
    command = [sys.executable, str(CHILD), str(folder), str(hangs_at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), address
            headers = {"authorization": f"Bearer {TOKEN}"}
            with httpx.Client(base_url=address, headers=headers, timeout=120, trust_env=False) as client:
                yield process, client
        finally:
            process.kill()


def say(client: httpx.Client, shown: list[dict[str, str]], conversation: str = "") -> str:
    """The answer to a conversation; it is added to what is told."""
    headers = {"X-Fabula-Session": conversation} if conversation else {}
    response = client.post("/chat/completions", json={"model": MODEL, "messages": shown}, headers=headers)
    assert response.status_code == 200, response.text
    message = response.json()["choices"][0]["message"]
    shown.append({"role": "assistant", "content": message["content"]})
    return str(message["content"])


def test_every_conversation_goes_on_after_the_server_was_killed_in_the_middle_of_answers(tmp_path: Path) -> None:
    conversations = [[{"role": "user", "content": f"I am number {n}."}] for n in range(SESSIONS)]
    names = [f"conversation-{n}" if n % 2 else "" for n in range(SESSIONS)]  # every other one tells its history alone
    with running(tmp_path, hangs_at=SESSIONS + 1) as (process, client), ThreadPoolExecutor(SESSIONS) as threads:
        for shown, name in zip(conversations, names, strict=True):
            say(client, shown, name)
        begun = [[*shown, {"role": "user", "content": "Who are you?"}] for shown in conversations]
        waiting = [threads.submit(say, client, shown, name) for shown, name in zip(begun, names, strict=True)]
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in waiting] == ["hangs\n"] * SESSIONS
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert all(isinstance(done.exception(), httpx.HTTPError) for done in waiting)

    with running(tmp_path) as (_, client):
        for shown, name in zip(conversations, names, strict=True):
            shown.append({"role": "user", "content": "Who are you?"})
            say(client, shown, name)
            shown.append({"role": "user", "content": "And then?"})
            say(client, shown, name)

    folder = tmp_path / "lamp"
    logs = conversations_in(folder)
    assert len(logs) == SESSIONS, "no conversation was begun anew"
    found = [[turn.said for turn in Log.of(folder, log).state.turns] for log in logs]
    assert sorted(found) == [[f"I am number {n}.", "Who are you?", "And then?"] for n in range(SESSIONS)]


def test_a_signal_ends_the_server_and_its_project_is_free(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hello."}]
    with running(tmp_path) as (process, client):
        say(client, messages)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) != 0
    with running(tmp_path) as (_, client):
        say(client, [*messages, {"role": "user", "content": "On."}])
    assert len(conversations_in(tmp_path / "lamp")) == 1
