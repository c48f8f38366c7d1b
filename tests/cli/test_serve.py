"""`fabula serve`, as a process and in this one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fabula.base.extras import installing
from fabula.cli import serving
from fabula.cli.commands import serve as command
from fabula.project.folder import ProjectFolder
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli
    from fabula.server.chat.projects import ServedProjects
    from fabula.server.chat.running import Offer

STORY = (
    "Mara kept the lamp of the cape. In the evening Tobias brought Mara a letter. Tobias asked Mara for light, but "
    "Mara had an order. Then Mara lit the lamp."
)
ANSWER = "[Mara: (looks up) The lamp is to go dark on Saturday, Tobias, and not before.]"
TOKEN = "a-token-from-the-environment"  # noqa: S105 - of tests alone


@pytest.fixture
def tale(here: Path) -> Path:
    """A project `tale` with a scripted model."""
    witnesses = [{"sentence": n, "witnesses": ["Mara", "Tobias"]} for n in range(1, 5)]
    said = {"npc": ANSWER, "labeller": json.dumps({"sentences": witnesses})}
    shown = "".join(f"{role} = {json.dumps(text)}\n" for role, text in said.items())
    (here / "mara.toml").write_text(f"[replies]\n{shown}", encoding="utf-8")
    settings = {
        "system": "vanilla",
        "model": f"scripted:{here / 'mara.toml'}",
        "config": {"player": "Tobias", "npc": "Mara"},
    }
    ProjectFolder.create(here / "tale", Brief(STORY), settings)
    return here / "tale"


def hello(address: str, token: str) -> httpx.Response:
    body = {"model": "fabula/tale/Mara", "messages": [{"role": "user", "content": "Is it true?"}]}
    return httpx.post(
        f"{address}/chat/completions",
        json=body,
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=120,
    )


@pytest.mark.parametrize("own_token", [True, False])
def test_a_server_is_started_asked_and_ended(tale: Path, own_token: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a case
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    words = ["--port", "0"]
    if own_token:
        monkeypatch.setenv("FABULA_SERVE", f"{TOKEN}, another-token-of-16")
        words += ["--token-env", "FABULA_SERVE"]
    result = [sys.executable, "-m", "fabula", "serve", str(tale), *words]
    with subprocess.Popen(result, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("Listening at ").strip()
            models = [process.stdout.readline().strip() for _ in range(2)]
            assert models == ["fabula/tale/Tobias", "fabula/tale/Mara"]
            token = TOKEN if own_token else process.stdout.readline().rpartition(" ")[2].strip()
            response = hello(address, token)
            assert response.status_code == 200
            assert "on Saturday" in response.json()["choices"][0]["message"]["content"]
            assert hello(address, "another-token-of-16").status_code == (200 if own_token else 401)
            assert hello(address, "wrong").status_code == 401
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "To continue, use the same command" in err
    assert token not in out + err, "it was shown once"
    assert "Traceback" not in err
    kept = [file for file in tale.rglob("*") if file.is_file() and token.encode() in file.read_bytes()]
    assert kept == [], "no token is written down"


class _Heard:
    """Stands in for the server: what was offered, and what is told once it is ready."""

    def __init__(self) -> None:
        self.offers: list[Offer] = []

    async def __call__(self, offer: Offer, opened: Any, ready: Callable[[ServedProjects], None]) -> None:  # noqa: ANN401 - a socket
        self.offers.append(offer)
        ready(type("Told", (), {"models": ["fabula/tale/Mara"], "projects": {}})())


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> _Heard:
    server = _Heard()
    monkeypatch.setattr(command, "serve_projects", server)
    return server


def test_the_options_reach_the_server(cli: Cli, tale: Path, heard: _Heard) -> None:
    ran = cli("serve", "tale", "--port", "0", "--rate", "7", "--parallel", "3", "--max-body", "5000", "--timeout", "9")
    assert ran.code == 0
    (offer,) = heard.offers
    bounds = offer.bounds
    assert (bounds.rate, bounds.turns, bounds.body, bounds.answer) == (7, 3, 5000, 9.0)
    assert offer.names == ["tale"]
    assert len(offer.tokens[0]) > 40
    cli("serve", "tale", "--port", "0")
    assert heard.offers[1].tokens != offer.tokens


def test_json_is_one_document(cli: Cli, tale: Path, heard: _Heard) -> None:
    ran = cli("serve", "tale", "--port", "0", "--as", "Tobias", "--json")
    assert ran.json["models"] == ["fabula/tale/Mara"]
    assert ran.json["address"].startswith("http://127.0.0.1:")
    assert ran.json["token"] == heard.offers[0].tokens[0]
    assert heard.offers[0].player == "Tobias"


def test_an_address_that_others_reach_is_warned_of(cli: Cli, tale: Path, heard: _Heard) -> None:
    ran = cli("serve", "tale", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - this is what is warned of
    assert "Warning: 0.0.0.0 is open to other machines" in ran.err
    assert "Warning" not in cli("serve", "tale", "--port", "0").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "There is no folder nowhere"),
        (["tale", "--token-env", "NOT_SET"], "NOT_SET does not contain a token"),
        (["tale", "--token-env", "SHORT"], "at least 16 characters"),
        (["tale", "tale"], "Two projects would have the same name, fabula/tale/"),
        (["tale", "--words", "100"], "--words applies only to writing:"),
        (["tale", "--system", "magnet"], "The system `magnet` does not support conversations"),
        (["tale", "--host", "192.0.2.1"], "Cannot listen on 192.0.2.1"),
        (["tale", "--as", "Sigrid"], "Unknown character 'Sigrid'"),
    ],
)
def test_what_cannot_be_is_told(
    cli: Cli, tale: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setenv("SHORT", "short")
    ran = cli("serve", *words, *(["--port", "0"] if "--host" not in words else []))
    assert message in ran.err
    assert ran.code in {1, 2}


def test_without_the_extra_the_command_says_what_to_install(
    cli: Cli, tale: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name == "uvicorn" else object())
    ran = cli("serve", "tale")
    assert ran.code == 2
    assert f"needs uvicorn. Install them with `{installing('serve')}`" in ran.err
