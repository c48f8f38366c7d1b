"""A story whose nine roles are pasted by hand; the command that takes the replies is killed in between."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from commandline import BRIEF, BY_PARTS, REPLIES, script_of
from fabula.cli.main import main

if TYPE_CHECKING:
    import pytest

ROLE = re.compile(r"plays the role (\w+)")
CALLS = 9


class Window:
    """The command, and a person who pastes what each role says."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "fabula", "write", "brief.md", "--model", "paste", *BY_PARTS],
            cwd=folder,
            env=os.environ | {"COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )

    def asked(self) -> str:
        """The role whose prompt is shown next, as soon as it waits for its reply; empty where the story is written."""
        assert self.process.stderr is not None
        role = ""
        for line in self.process.stderr:
            role = found[1] if (found := ROLE.search(line)) else role
            if role and "Paste the reply and press Enter" in line:
                return role
        return ""

    def paste(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def reply(role: str) -> str:
    return REPLIES[role]


def test_nine_roles_are_pasted_and_killed_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "brief.md").write_text(BRIEF)
    (tmp_path / "script.toml").write_text(script_of(REPLIES))
    monkeypatch.chdir(tmp_path)
    assert main(["write", "brief.md", "--out", "whole", "--model", "scripted:script.toml", *BY_PARTS]) == 0
    taken: list[str] = []
    for until in (0, 4, CALLS - 1):  # killed at the first prompt, in the middle, and in the middle of the last reply
        window = Window(tmp_path)
        while len(taken) < until:
            role = window.asked()
            window.paste(f"{reply(role)}\n.\n")
            taken.append(role)
        role = window.asked()  # the next prompt is shown only when the reply before it is recorded
        assert role not in taken, "no prompt is shown twice"
        window.paste(reply(role)[:20])
        window.kill()
    window = Window(tmp_path)
    while role := window.asked():
        window.paste(f"{reply(role)}\n.\n")
        taken.append(role)
    window.process.communicate()
    assert window.process.returncode == 0
    assert len(taken) == len(set(taken)) == CALLS, "nothing was pasted twice"
    assert Path("brief/story.md").read_text() == Path("whole/story.md").read_text()
    capsys.readouterr()
    assert main(["write", "brief", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"] == 0, "all of it is recorded"
