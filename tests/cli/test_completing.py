"""What a shell completes, asked as bash, zsh and fish ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest

from fabula.cli import commands
from fabula.cli.completing import VARIABLE
from fabula.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SHELLS = ("bash", "zsh", "fish")


def asked(shell: str, folder: Path, *words: str) -> list[str]:
    """What the completion protocol of a shell is answered, without the help that stands beside the values."""
    line = " ".join(words)
    told = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environ = {**told, VARIABLE: f"complete_{shell}"}
    out = in_a_fork(folder, environ) if hasattr(os, "fork") else in_a_process(folder, environ)
    if shell == "zsh":
        return [value.replace("\\:", ":") for value in out.split('"')[1::4]]  # "value":"help"
    return [line.split("\t")[0] for line in out.splitlines() if line]


def in_a_process(folder: Path, environ: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "fabula"]
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.stdout


def in_a_fork(folder: Path, environ: Mapping[str, str]) -> str:
    """The same in a copy of this process, which has loaded already what takes the most time."""
    files = folder.parent / "out", folder.parent / "err"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        try:
            sys.stdout, sys.stderr = (file.open("w", encoding="utf-8") for file in files)
            sys.argv = ["fabula"]
            os.environ.update(environ)
            os.chdir(folder)
            main([])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    out, err = (file.read_text(encoding="utf-8") for file in files)
    assert err == ""
    return out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the others are asked so where nothing forks")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_process_of_its_own_is_answered_the_same(shell: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shell, here, "fabula", "write", "--system", "agents-r"
    forked = asked(*words)
    monkeypatch.delattr(os, "fork")
    assert forked == asked(*words) == ["agents-room"]


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Load what every fork would load for itself."""
    for command in iter_modules(commands.__path__, f"{commands.__name__}."):
        import_module(command.name)


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_values_are_completed(shell: str, here: Path) -> None:
    assert asked(shell, here, "fabula", "wr") == ["write"]
    assert asked(shell, here, "fabula", "text", "pi") == ["pin"]
    assert asked(shell, here, "fabula", "write", "--sys") == ["--system"]
    assert asked(shell, here, "fabula", "write", "--system", "agents-r") == ["agents-room"]
    assert asked(shell, here, "fabula", "evaluate", "pairwise", "--preset", "f") == ["faithful"]
    assert asked(shell, here, "fabula", "write", "--model", "smol") == ["smollm2"]
    assert asked(shell, here, "fabula", "write", "--model", "past") == ["paste"]
    assert asked(shell, here, "fabula", "evaluate", "snap") == ["snap-ratings"]
    assert asked(shell, here, "fabula", "export", "--format", "e") == ["epub"]
    assert asked(shell, here, "fabula", "write", "--approve", "p") == ["plans"]
    assert asked(shell, here, "fabula", "write", "--sampling", "temp") == ["temperature="]


@pytest.mark.parametrize("shell", SHELLS)
def test_roles_and_settings_are_those_of_the_method_that_is_meant(shell: str, here: Path, project: Path) -> None:
    assert asked(shell, here, "fabula", "write", "--system", "agents-room", "--play", "clim") == ["climax=me"]
    assert asked(shell, here, "fabula", "write", "lamp", "--play", "clim") == ["climax=me"]
    assert asked(shell, here, "fabula", "write", "--system", "end-to-end", "--play", "clim") == []
    assert "final_reading=" in asked(shell, here, "fabula", "write", "lamp", "--set", "final_r")
    assert asked(shell, here, "fabula", "check", "--set", "final_r") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_artefacts_are_those_of_the_project(shell: str, here: Path, project: Path) -> None:
    assert asked(shell, here, "fabula", "show", "la") == ["lamp"]
    assert asked(shell, here, "fabula", "show", "lamp", "clim") == ["climax"]
    assert asked(shell, here, "fabula", "show", "-C", "lamp", "clim") == ["climax"]
    assert asked(shell, project, "fabula", "text", "pin", "clim") == ["climax"]


def test_projects_are_offered_where_one_is_in_none(tmp_path: Path) -> None:
    (tmp_path / "lamp").mkdir()
    (tmp_path / "lamp" / "brief.md").write_text("A girl lights a lamp.", encoding="utf-8")
    assert asked("bash", tmp_path, "fabula", "show", "la") == ["lamp"]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_would_run_is_not_offered(shell: str, here: Path, project: Path) -> None:
    for name in ("lamp$(touch ran)", "lamp`touch ran`", "lamp; touch ran", "lamp\nlamp-2", "lampe-été"):
        shutil.copytree(project, here / name)
    found = asked(shell, here, "fabula", "show", "lamp")
    assert "lamp" in found
    assert {*found} <= {"lamp", "lampe-été"}


def test_bash_is_answered_as_if_it_had_not_taken_words_apart(here: Path) -> None:
    """Bash gives `ROLE=MODEL` and `ollama:NAME` in pieces, and puts in place of the last piece what it is answered."""
    assert asked("bash", here, "fabula", "write", "--model", "climax", "=", "smol") == ["smollm2"]
    assert {"smollm2", "files:", "hand"} <= {*asked("bash", here, "fabula", "write", "--model", "climax", "=")}
    assert asked("bash", here, "fabula", "write", "--sampling", "climax.temp") == ["climax.temperature="]


@pytest.mark.parametrize("words", [("frobnicate", "x"), ("text", "frobnicate", "x"), ("show", "nowhere", "x")])
def test_a_line_that_is_wrong_is_answered_with_nothing(words: tuple[str, ...], here: Path) -> None:
    assert asked("bash", here, "fabula", *words) == []
