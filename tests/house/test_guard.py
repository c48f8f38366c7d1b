"""No test leaves this machine or writes to the user's folders; here is the proof."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import guard
from fabula.models.known import models_home

FOREIGN = "192.0.2.1"  # an address that the internet keeps for documentation (RFC 5737); nothing lives there


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", b"localhost", None, "", "::1%lo"])
def test_this_machine_is_local(host: object) -> None:
    assert guard.is_local(host)


@pytest.mark.parametrize("host", [FOREIGN, "fabula.invalid", "10.0.0.1", "::2", b"fabula.invalid"])
def test_others_are_not(host: object) -> None:
    assert not guard.is_local(host)


def test_connecting_and_looking_up_names_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    monkeypatch.setattr(guard, "_REFUSED", refused)
    with socket.socket() as open_socket, pytest.raises(guard.NetworkRefusedError, match="use the fake provider"):
        open_socket.connect((FOREIGN, 80))
    with pytest.raises(guard.NetworkRefusedError):
        socket.getaddrinfo("fabula.invalid", 80)
    assert len(refused) == 2
    refused.clear()  # they were wanted


def test_a_process_that_a_test_starts_is_guarded_too() -> None:
    code = f"import socket; socket.create_connection(({FOREIGN!r}, 80))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"tried to reach '{FOREIGN}'" in done.stderr


def test_keys_are_gone_and_the_home_is_another_one(tmp_path: Path) -> None:
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
    session = tmp_path.parent
    assert session in Path.home().parents
    assert session in models_home(os.environ).parents
    assert session in Path(os.environ["XDG_CACHE_HOME"]).parents


@pytest.mark.embedded
def test_tests_of_the_embedded_engine_see_the_real_models(tmp_path: Path) -> None:
    assert tmp_path.parent not in models_home(os.environ).parents
