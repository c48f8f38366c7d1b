"""A command that a person types is a run that the studio shows and can stop; and it says when the studio writes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import LockedError
from fabula.base.files import BEGUN_BY, STUDIO, held
from fabula.engine.event_log import EventLog
from fabula.project.folder import ProjectFolder
from fabula.server.runs.record import RunRecord, read_run, runs_in
from fabula.server.runs.terminal import OwnRun
from fabula.story import Brief
from fabula.systems import systems
from studio import studio_here

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

SCRIPT = systems()["agents-room"].folder / "script.toml"
PARTS = "/projects/tale/write-parts"
RUNS = "/api/v1/projects/tale/runs"
START = f'<form hx-post="{PARTS}/start"'


def project(folder: Path) -> Path:
    given = {"preset": "faithful", "system": "agents-room", "model": f"scripted:{SCRIPT}"}
    ProjectFolder.create(folder / "shelf" / "tale", Brief("Write about Mara."), given)
    return folder / "shelf"


@contextmanager
def typed(shelf: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command in a terminal, which waits for answers in files."""
    line = [sys.executable, "-m", "fabula", "write", "tale", "--yes", *words]
    with subprocess.Popen(line, cwd=shelf, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def until(client: httpx.AsyncClient, *states: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while True:
            found = (await client.get(RUNS)).json()["runs"]
            if found and found[0]["state"] in states:
                return dict(found[0])
            await asyncio.sleep(0.05)


async def test_a_run_in_a_terminal_is_shown_and_stopped_and_nothing_is_started_beside_it(tmp_path: Path) -> None:
    shelf = project(tmp_path)
    async with studio_here(shelf) as client:
        assert START in (await client.get(f"{PARTS}/expected")).text
        with typed(shelf, "--model", "files:answers") as process:
            run = await until(client, "running")
            assert (run["pid"], run["terminal"], run["verb"]) == (process.pid, True, "write")
            page = (await client.get(f"{PARTS}/run")).text
            assert "at work</span> <span" in page
            assert "in a terminal" in page
            assert "Stop</button>" in page
            waiting = (await client.get(f"{PARTS}/expected")).text
            assert f"A terminal command is running on this project (process {process.pid})." in waiting
            assert START not in waiting
            await client.post(f"{PARTS}/stop", data={"run": run["id"]})
            _, said = await asyncio.to_thread(process.communicate, timeout=120)
        assert process.returncode == 128 + signal.SIGINT
        assert "Stopped. Every finished call is kept. To continue, use `fabula write tale`." in said
        ended = await until(client, "stopped", "killed")
        assert ended["state"] == "stopped"
        assert START in (await client.get(f"{PARTS}/expected")).text


async def test_a_run_in_a_terminal_that_is_killed_is_not_taken_for_one_at_work(tmp_path: Path) -> None:
    shelf = project(tmp_path)
    async with studio_here(shelf) as client:
        with typed(shelf, "--model", "files:answers") as process:
            await until(client, "running")
            process.send_signal(signal.SIGKILL)
            process.wait(120)
        assert (await until(client, "killed"))["terminal"]
        assert START in (await client.get(f"{PARTS}/expected")).text


async def test_what_was_written_before_the_studio_began_is_in_its_list(tmp_path: Path) -> None:
    shelf = project(tmp_path)
    with typed(shelf) as process:
        assert await asyncio.to_thread(process.wait, 120) == 0
    async with studio_here(shelf) as client:
        run = await until(client, "finished")
        assert (run["exit_code"], run["total"]["calls"]) == (0, 9)
    with typed(shelf) as process:
        assert await asyncio.to_thread(process.wait, 120) == 0
    assert len(list(runs_in(shelf / "tale"))) == 1, "what is only replayed is nobody's to watch"


async def test_a_record_stops_no_process_that_does_not_hold_the_project(tmp_path: Path) -> None:
    shelf = project(tmp_path)
    place = shelf / "tale" / ".fabula/runs/20990101-000000-aaaaaa"
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as innocent:  # noqa: ASYNC220 - it is begun at once
        RunRecord(id=place.name, verb="write", state="running", pid=innocent.pid, started=9e9, terminal=True).save(
            place
        )
        log = EventLog(place / "events.jsonl")
        log.open()  # another process of the same person holds the log, and not the project
        async with studio_here(shelf) as client:
            await until(client, "running")
            for _ in range(2):
                await client.post(f"{PARTS}/stop", data={"run": place.name})
            assert innocent.poll() is None
        log.close()
        innocent.kill()


def test_a_command_says_that_the_studio_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BEGUN_BY, STUDIO)
    said = rf"The tale is in use by process {os.getpid()}, a run that was started in the studio. Wait for it to finish,"
    with held(tmp_path, "The tale"), pytest.raises(LockedError, match=said), held(tmp_path, "The tale"):
        pass
    monkeypatch.delenv(BEGUN_BY)
    plain = rf"in use by process {os.getpid()}\. Wait for it to finish, or stop it\."
    with held(tmp_path, "The tale"), pytest.raises(LockedError, match=plain), held(tmp_path, "The tale"):
        pass


@pytest.mark.parametrize(
    ("error", "code", "kind"), [(ValueError("odd"), 1, "ValueError"), (LockedError("held"), 1, "LockedError")]
)
def test_a_command_that_fails_is_never_recorded_as_finished(
    tmp_path: Path, error: Exception, code: int, kind: str
) -> None:
    own = OwnRun(project(tmp_path) / "tale", "write", "", {})
    own.begin()
    own.end(error)
    (name,) = runs_in(own.folder)
    ended = read_run(own.folder / ".fabula" / "runs" / name)
    assert ended is not None
    assert (ended.state, ended.exit_code) == ("failed", code)
    assert ended.kind_of_error == kind
