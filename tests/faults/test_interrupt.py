"""Ctrl-C ends every command soon and with one sentence, at any moment; a closed pipe is no failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import forked
from commandline import BRIEF, PLAY, script_of
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

_SLOW = """
import os, time
def play(prompt):
    os.write(2, b"It is played.\\n")
    for _ in range(12_000):
        time.sleep(0.05)
    return "A storm came."
"""
_STUCK = """
import os, signal, time
def play(prompt):
    os.write(2, b"It is played.\\n")
    signal.pthread_sigmask(signal.SIG_BLOCK, ())
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""
# Interrupts itself at the module of that number that is loaded after the command line, or says how many there are.
_ITSELF = """
import os, runpy, signal, sys
at, seen = int(sys.argv.pop(1)), -1
def watch(event, args):
    global seen
    if event == "import" and (seen >= 0 or args[0] == "fabula.cli.main"):
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(watch)
try:
    runpy.run_module("fabula", run_name="__main__", alter_sys=True)
finally:
    os.write(2, f"modules: {seen}".encode())
"""
_PATIENCE = 120  # seconds in which the slowest machine ends a command; the programs that play roles take longer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a brief, a script, the sample project, and programs that play roles."""
    (tmp_path / "brief.md").write_text(BRIEF, encoding="utf-8")
    (tmp_path / "play.toml").write_text(script_of(PLAY), encoding="utf-8")
    (tmp_path / "slow.py").write_text(_SLOW, encoding="utf-8")
    (tmp_path / "stuck.py").write_text(_STUCK, encoding="utf-8")
    (tmp_path / "itself.py").write_text(_ITSELF, encoding="utf-8")
    copy_sample(tmp_path / "sample")
    return tmp_path


def fabula(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fabula", *arguments]


def interrupted(folder: Path, command: list[str], after: str, times: int = 1) -> tuple[int, str]:
    """Exit code of a command that gets SIGINT once it said `after`, and all that it said."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            said = ""
            while after not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            for _ in range(times):
                process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=_PATIENCE)
        finally:
            process.kill()
        return process.returncode, said + out


def interrupts_itself(folder: Path, at: int, *arguments: str) -> tuple[int, str]:
    """Exit code of a command that sends SIGINT to itself, and all that it said."""
    command = [sys.executable, "itself.py", str(at), *arguments]
    ran = subprocess.run(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=_PATIENCE, check=False)  # fmt: skip
    return ran.returncode, ran.stdout


WRITE = ("write", "brief.md", "--model", "scripted:play.toml", "--system", "end-to-end", "--out", "lamp", "--play")


@pytest.mark.parametrize("program", ["slow.py:play", "stuck.py:play"])
@pytest.mark.parametrize("times", [1, 2])
def test_while_a_role_is_played(folder: Path, program: str, times: int) -> None:
    code, said = interrupted(folder, fabula(*WRITE, f"writer={program}"), "It is played.", times)
    assert code == 130, said
    assert said.count("Stopped.") == 1
    assert "Stopped. Every finished call is kept. To continue, use `fabula write lamp`." in said


@pytest.mark.parametrize(
    ("command", "after"),
    [(("chat", "sample"), "Continuing after"), (("serve", "sample", "--port", "0"), "http://127.")],
)
def test_while_it_waits(folder: Path, command: tuple[str, ...], after: str) -> None:
    code, said = interrupted(folder, fabula(*command), after)
    assert code == 130, said
    assert "Traceback" not in said
    assert said.count("Stopped.") == 1


@pytest.mark.parametrize(
    ("command", "moments"),
    [
        (("status", "sample"), 3),
        (("update", "sample", "--dry-run"), 1),
        (("models",), 1),
        pytest.param(("status", "sample"), 40, marks=pytest.mark.simulation),
    ],
)
def test_at_any_moment_of_a_start(folder: Path, command: tuple[str, ...], moments: int) -> None:
    """Of ours: what Python loads before our first line is not ours to end well."""
    _, said = interrupts_itself(folder, -1, *command)
    modules = int(said.rpartition("modules: ")[2])
    assert modules > moments
    for number in range(moments):
        code, said = interrupts_itself(folder, modules * (2 * number + 1) // (2 * moments), *command)
        assert (code, said.count("Stopped."), "Traceback" in said) == (130, 1, False), said


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
        ("text", "pin", "climax", "-C", "sample"),
    ],
)
@pytest.mark.parametrize("both", [False, True])
def test_a_closed_pipe_is_no_failure(folder: Path, command: tuple[str, ...], both: bool) -> None:  # noqa: FBT001 - pytest gives it by name
    read, write = os.pipe()
    os.close(read)
    ran = forked.run(command, cwd=folder, output=write, errors=write if both else None)
    os.close(write)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr


def test_a_story_is_written_to_its_end_where_nobody_reads_how_it_goes(folder: Path) -> None:
    (folder / "script.toml").write_text(script_of({"writer": "Mara lit the lamp. " * 5}), encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    command = ("write", "brief.md", "--system", "end-to-end", "--model", "scripted:script.toml", "--out", "lamp")
    ran = forked.run((*command, "--preset", "faithful"), cwd=folder, output=write, errors=write)
    os.close(write)
    assert ran.returncode == 0
    assert "Mara lit the lamp." in (folder / "lamp/story.md").read_text(encoding="utf-8")
