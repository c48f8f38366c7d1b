from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)
FABULA = (sys.executable, "-m", "fabula")


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*FABULA, *arguments], capture_output=True, text=True, check=False, timeout=120, env=env)


def test_help_names_every_command() -> None:
    ran = run("--help", env={**os.environ, "COLUMNS": "120"})
    assert ran.returncode == 0
    for command in (
        "new",
        "write",
        "update",
        "export",
        "edit",
        "undo",
        "status",
        "show",
        "check",
        "text",
        "evaluate",
        "lab",
    ):
        assert re.search(rf"^  {command} ", ran.stdout, re.MULTILINE), command


def test_help_loads_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys; from fabula.cli.main import main; main(['--help']); "
        "print([m for m in ('pydantic', 'asyncio', 'jinja2', 'sqlite3', 'httpx2', 'xllamacpp', "
        "'fabula.cli.commands.write') if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stderr == "[]\n"


def test_no_arguments_show_the_help(here: Path) -> None:
    ran = run()
    assert ran.returncode == 0
    assert "Start with: fabula write brief.md" in ran.stdout


@pytest.fixture
def waiting(here: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that holds its project and waits for a person's text."""
    process = subprocess.Popen(
        [*FABULA, "write", "brief.md", *SCRIPT, "--play", "plot=me"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    while "lets the model take this role from now on" not in process.stderr.readline():
        assert process.poll() is None
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_cleanly_and_the_run_goes_on_later(
    waiting: subprocess.Popen[str], cli: Cli, number: signal.Signals, code: int
) -> None:
    waiting.send_signal(number)
    assert waiting.wait(timeout=120) == code  # its input stays open: the signal ends it, nothing else
    assert waiting.stderr is not None
    err = waiting.stderr.read()
    assert err.splitlines()[-1] == (
        "fabula: Stopped. Every finished call is kept. To continue, use `fabula write brief`."
    )
    assert "Traceback" not in err
    data = cli("write", "brief", "--json", stdin="A storm.\n.\n").json
    assert data["replayed"] == 3


def test_a_second_process_gets_a_clear_error(waiting: subprocess.Popen[str], cli: Cli) -> None:
    ran = cli("write", "brief")
    assert ran.code == 1
    assert ran.err.splitlines()[-1] == (
        f"fabula: The project brief is in use by process {waiting.pid}. Wait for it to finish, or stop it."
    )
    assert cli("status", "brief").code == 0
    out, _ = waiting.communicate("A storm.\n.\n", timeout=120)
    assert waiting.returncode == 0
    assert "brief/story.md: " in out


def test_a_reader_that_leaves_is_no_error(here: Path) -> None:
    assert run("write", "brief.md", *SCRIPT, "-q").returncode == 0
    shown = subprocess.Popen(
        [*FABULA, "show", "--prompts", "-C", "brief"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert shown.stdout is not None
    assert shown.stderr is not None
    shown.stdout.close()
    assert "Traceback" not in shown.stderr.read()
    shown.stderr.close()
    shown.wait(timeout=120)


def at_terminal(arguments: tuple[str, ...], answers: str = "") -> tuple[int, str]:
    """Run on its own terminal; what appeared on it, stdout and stderr together."""
    pid, handle = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [*FABULA, *arguments])  # noqa: S606 - our own command line
    os.write(handle, answers.encode())
    shown = b""
    try:
        while piece := os.read(handle, 4096):
            shown += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "replace")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside threads of other tests; it execs at once
def test_on_a_terminal_progress_lives_and_a_person_answers(here: Path) -> None:
    code, shown = at_terminal(
        ("write", "brief.md", *SCRIPT, "--play", "plot=me", "--approve", "plans"), "a\na\na\nA storm.\n.\na\n"
    )
    assert code == 0, shown
    assert "words of story" in shown  # the live line
    assert "You play plot" in shown
    assert "brief/story.md: " in shown
    assert (here / "brief/plan/plot.md").read_text() == "A storm.\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as above
def test_on_a_terminal_update_asks(here: Path) -> None:
    assert run("write", "brief.md", *SCRIPT, "-q").returncode == 0
    (here / "brief/plan/plot.md").write_text("Another plot.\n")
    code, shown = at_terminal(("update", "brief"), "y\n")
    assert code == 0
    assert "Continue? [y]es, [r]evise the old texts to fit instead, or [n]o:" in shown
    assert "your text" in shown
