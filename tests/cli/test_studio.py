"""`fabula studio`: what it says, whom it lets in, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

TOKEN = "a-token-of-sixteen-letters"  # noqa: S105 - of tests alone


def begun(*words: str, **environ: str) -> subprocess.Popen[str]:
    """The studio as a process of its own, at a free port, without a browser."""
    command = [sys.executable, "-m", "fabula", "studio", "--no-browser", "--port", "0", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environ}
    )


def document(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What it prints with `--json`."""
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    while not lines[-1].startswith("}"):
        lines.append(process.stdout.readline())
        assert lines[-1], lines
    found: dict[str, Any] = json.loads("".join(lines))
    return found


def test_it_says_the_link_lets_that_one_in_and_ends(project: Path) -> None:
    with begun(str(project)) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("The studio is open, with the project lamp: http://127.0.0.1:")
            link = line.rpartition(" ")[2].strip()
            with httpx.Client(timeout=120) as client:
                assert client.get(link.partition("/login")[0]).status_code == 401
                assert client.get(link).status_code == 200
                assert "lamp" in client.get(link.partition("/login")[0] + "/").text
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert link.rpartition("=")[2] not in out + err, "it was shown once"


def test_a_token_of_ones_own_is_not_shown(project: Path) -> None:
    with begun(str(project), "--token-env", "MINE", "--json", MINE=TOKEN) as process:
        try:
            said = document(process)
            assert said["projects"] == ["lamp"]
            assert said["link"] == said["address"]
            headers = {"authorization": f"Bearer {TOKEN}"}
            assert httpx.get(said["address"], headers=headers, timeout=120).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
    assert TOKEN not in out + err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "There is no folder nowhere. Specify a project, or a folder for projects."),
        (("--host", "0.0.0.0"), "0.0.0.0 is open to other machines. Add --allow-remote"),  # noqa: S104 - refused
        (("lamp", "-C", "lamp"), "lamp and -C lamp cannot be used together. Use only one, or specify"),
        (("--token-env", "NOTHING"), "The environment variable NOTHING does not contain a token."),
    ],
)
def test_what_it_cannot_do_is_said_in_words(cli: Cli, project: Path, words: tuple[str, ...], says: str) -> None:
    ran = cli("studio", "--no-browser", *words)
    assert (ran.code, says in ran.err) == (2, True), ran.err


def test_a_taken_port_is_named(cli: Cli, project: Path) -> None:
    with begun(str(project), "--json") as process:
        try:
            port = document(process)["address"].rpartition(":")[2].strip("/")
            ran = cli("studio", "--no-browser", "--port", port)
            assert (ran.code, f"Cannot listen on 127.0.0.1:{port}" in ran.err) == (2, True)
        finally:
            process.terminate()
            process.communicate(timeout=120)
