"""An experiment is killed at many of its calls and started again: no call is made twice, and the numbers are the same.

As in `test_kill.py`, the process is real and so is SIGKILL: the scripted model in it kills its own process.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import forked

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

CHILD = """
import os, signal, sys
from hashlib import sha256
from pathlib import Path
from fabula.project import casting
from fabula.cli.main import main
from fabula.models.scripted import ScriptedModel

log, number, dies_at = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
calls = 0

class Killed(ScriptedModel):
    async def ask(self, request, on_text=None):
        global calls
        calls += 1
        if calls == dies_at:
            os.kill(os.getpid(), number)
        reply = await super().ask(request, on_text)
        text = f"{request.path} {request.body()}"
        with log.open("a") as file:
            file.write(f"{sha256(text.encode()).hexdigest()}\\n")
        return reply

shared = Killed.read(Path("script.toml"))
casting.open_model = lambda spec, table, world, adapters: shared
sys.exit(main(["lab", "experiment", "exp.toml", "--json"]))
"""
SCRIPT = """\
[replies]
writer = "The lamp was dark. Mara lit it, and the boats came home one after the other."
judge = "Both are alike.\\n\\nOverall: Same"
"""
EXPERIMENT = """\
briefs = ["one.md", "two.md"]
systems = ["end-to-end", { system = "end-to-end", preset = "faithful" }]
models = [{ model = "smollm2", label = "m" }]
replicates = 2
workers = 2
[[evaluators]]
evaluator = "pairwise"
model = "smollm2"
config = { questions = "overall", samples = 1, verdicts = "written" }
"""
RUNS, VERDICTS = 8, 8


def ready(folder: Path) -> Path:
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"Write of a lamp, number {name}.\n", encoding="utf-8")
    (folder / "script.toml").write_text(SCRIPT, encoding="utf-8")
    (folder / "exp.toml").write_text(EXPERIMENT, encoding="utf-8")
    return folder


def run(folder: Path, number: int = signal.SIGKILL, dies_at: int = 0) -> subprocess.CompletedProcess[str]:
    return forked.run(["log", str(int(number)), str(dies_at)], CHILD, cwd=folder)


def outcome(folder: Path) -> tuple[Any, Counter[str]]:
    """The report, and how often each call was answered."""
    data = json.loads((folder / "exp" / "report.json").read_text(encoding="utf-8"))
    return data, Counter((folder / "log").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Counter[str]]:
    """The report of an unbroken experiment, and its calls."""
    folder = ready(tmp_path_factory.mktemp("whole") / "here")
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert outcome(folder)[1].total() == RUNS + VERDICTS
    return outcome(folder)


@pytest.mark.parametrize("dies_at", [4, RUNS + 1, RUNS + VERDICTS])
def test_killed_and_started_again_makes_no_call_twice(
    tmp_path: Path, whole: tuple[Any, Counter[str]], dies_at: int
) -> None:
    folder = ready(tmp_path / "here")
    assert run(folder, dies_at=dies_at).returncode == -signal.SIGKILL
    again = run(folder)
    assert again.returncode == 0, again.stderr
    assert outcome(folder) == whole


def test_an_interrupt_stops_cleanly_and_says_how_to_go_on(tmp_path: Path, whole: tuple[Any, Counter[str]]) -> None:
    folder = ready(tmp_path / "here")
    stopped = run(folder, signal.SIGINT, 3)
    assert stopped.returncode == 130
    assert "Stopped. Every finished call is kept. To continue, use `fabula lab experiment exp.toml`." in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert run(folder).returncode == 0
    assert outcome(folder) == whole
