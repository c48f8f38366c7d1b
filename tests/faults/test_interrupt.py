"""Ctrl-C ends every command within a second, with one sentence; a closed pipe is no failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from commandline import BRIEF, PLAY, script_of
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
_SLOW = """
import time
def play(prompt):
    for _ in range(1200):
        time.sleep(0.05)
    return "A storm came."
"""
_STUCK = """
import signal, time
def play(prompt):
    signal.pthread_sigmask(signal.SIG_BLOCK, ())
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""
_MOST = 1.0 if "PYTEST_XDIST_WORKER" not in os.environ else 20.0  # seconds; a machine with other work takes longer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a brief, a script, the sample project, and programs that play roles."""
    (tmp_path / "brief.md").write_text(BRIEF, encoding="utf-8")
    (tmp_path / "play.toml").write_text(script_of(PLAY), encoding="utf-8")
    (tmp_path / "slow.py").write_text(_SLOW, encoding="utf-8")
    (tmp_path / "stuck.py").write_text(_STUCK, encoding="utf-8")
    copy_sample(tmp_path / "sample")
    return tmp_path


def fabula(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fabula", *arguments]


def interrupted(folder: Path, command: list[str], after: str | float, times: int = 1) -> tuple[int, float, str]:
    """Exit code, seconds and stderr of a command that gets SIGINT once it said `after`, or after so many seconds."""
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said: list[str] = []
    heard = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if isinstance(after, str) and after in line:
                heard.set()
        heard.set()

    listener = threading.Thread(target=listen)
    listener.start()
    if isinstance(after, str):
        assert heard.wait(60), "".join(said)
        time.sleep(0.3)
    else:
        time.sleep(after)
    began = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    try:
        code = process.wait(60)
    finally:
        process.kill()
    seconds = time.monotonic() - began
    listener.join(60)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return code, seconds, "".join(said)


WRITE = ("write", "brief.md", "--model", "scripted:play.toml", "--system", "end-to-end", "--out", "lamp", "--play")


@pytest.mark.parametrize("program", ["slow.py:play", "stuck.py:play"])
@pytest.mark.parametrize("times", [1, 2])
def test_while_a_role_is_played(folder: Path, program: str, times: int) -> None:
    code, seconds, said = interrupted(folder, fabula(*WRITE, f"writer={program}"), " to make", times)
    assert (code, seconds < _MOST) == (130, True), (seconds, said)
    assert said.count("Stopped.") == 1
    assert "Stopped. Every finished call is kept; go on with `fabula write lamp`." in said


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (("new", "another"), 0.8),
        (("chat", "sample"), "Going on after"),
        (("update", "sample", "--dry-run"), 0.3),
        (("check", "sample"), 0.5),
        (("serve", "sample", "--port", "0"), 1.5),
        (("models",), 0.4),
    ],
)
def test_at_prompts_in_dry_runs_and_while_it_serves(folder: Path, command: tuple[str, ...], after: str | float) -> None:
    code, seconds, said = interrupted(folder, fabula(*command), after)
    assert seconds < _MOST, said
    if code == -signal.SIGINT:  # Python had not come to fabula yet, which takes longer on a busy machine
        assert "src/fabula/cli" not in said
        return
    assert code in {130, 0, 1, 2}  # not by the signal; it may have ended before
    assert "Traceback" not in said
    if code == 130:
        assert said.count("Stopped.") == 1


def test_at_any_moment_of_a_start(folder: Path) -> None:
    for tenths in range(1, 9):
        code, seconds, said = interrupted(folder, fabula("status", "sample"), tenths / 10)
        assert seconds < _MOST
        if code == -signal.SIGINT:  # Python had not come to fabula yet, which takes longer on a busy machine
            assert "src/fabula/cli" not in said
            continue
        assert code in {0, 130}, said
        assert "Traceback" not in said


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("write", "--help"),
        ("show", "-C", "sample"),
        ("show", "-C", "sample", "--json"),
        ("export", "sample", "-o", "-"),
        ("world", "sample"),
        ("systems",),
        ("status", "sample"),
        ("models",),
        ("pin", "climax", "-C", "sample"),
    ],
)
@pytest.mark.parametrize("both", [False, True])
def test_a_closed_pipe_is_no_failure(folder: Path, command: tuple[str, ...], both: bool) -> None:  # noqa: FBT001 - pytest gives it by name
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        fabula(*command), cwd=folder, stdout=write, stderr=write if both else subprocess.PIPE, check=False
    )
    os.close(write)
    assert ran.returncode == 0, ran.stderr
    assert both or b"Traceback" not in ran.stderr
    assert both or b"BrokenPipe" not in ran.stderr


def test_a_story_is_written_to_its_end_where_nobody_reads_how_it_goes(folder: Path) -> None:
    (folder / "script.toml").write_text(script_of({"writer": "Mara lit the lamp. " * 5}), encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    command = ("write", "brief.md", "--system", "end-to-end", "--model", "scripted:script.toml", "--out", "lamp")
    ran = subprocess.run(fabula(*command, "--set", "length_control=false"), cwd=folder, stdout=write, stderr=write,
                         check=False)  # fmt: skip
    os.close(write)
    assert ran.returncode == 0
    assert "Mara lit the lamp." in (folder / "lamp/story.md").read_text(encoding="utf-8")
