"""A story whose nine roles are answered in files by another process; the writing one is killed in between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import answering
from commandline import BRIEF, BY_PARTS, REPLIES, script_of
from fabula.cli.main import main
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

CALLS = 9


@contextmanager
def answerer(folder: Path, log: Path) -> Iterator[None]:
    """A process that answers all that waits."""
    (folder / "script.json").write_text(json.dumps(REPLIES))
    command = [sys.executable, answering.__file__, str(folder / "answers"), str(folder / "script.json"), str(log)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def writing(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fabula", "write", "brief.md", "--model", "files:answers", *BY_PARTS]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)


def until(folder: Path, prompts: int) -> None:
    """Wait until so many prompts have been left."""
    answers = folder / "answers"
    wait_until(lambda: len(list(answers.glob("*.prompt.json"))) >= prompts, f"prompt {prompts}")


def test_nine_roles_are_answered_in_files_and_killed_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "brief.md").write_text(BRIEF)
    (tmp_path / "script.toml").write_text(script_of(REPLIES))
    monkeypatch.chdir(tmp_path)
    assert main(["write", "brief.md", "--out", "whole", "--model", "scripted:script.toml", *BY_PARTS]) == 0
    capsys.readouterr()
    log = tmp_path / "log"
    for prompts in (1, 4, CALLS):  # killed while the first waits, in the middle, and while the last waits
        process = writing(tmp_path)
        with answerer(tmp_path, log):
            until(tmp_path, prompts)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for one in answering.waiting(tmp_path / "answers"):  # put there while nobody waits
        with log.open("a") as file:
            file.write(answering.answer(tmp_path / "answers", one, REPLIES) + "\n")
    process = writing(tmp_path)
    with answerer(tmp_path, log):  # one that the killed process had no time to list
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said.decode()
    assert Path("brief/story.md").read_text() == Path("whole/story.md").read_text()
    asked = log.read_text().split()
    assert len(asked) == len(set(asked)) == CALLS, "no prompt is asked twice"
    assert answering.waiting(tmp_path / "answers") == []
    assert main(["show", "--prompts", "--json", "-C", "brief"]) == 0
    capsys.readouterr()
    assert main(["write", "brief", "--json"]) == 0
    bill = json.loads(capsys.readouterr().out)
    assert (bill["asked"], bill["replayed"]) == (0, CALLS)
    assert sum(role["prompt"] for role in bill["project_bill"].values()) > 0
    assert {role["cost"] for role in bill["project_bill"].values()} == {0}
