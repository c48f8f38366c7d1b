"""Tuned roles on the command line: `--adapter`, `[adapters]`, a room; what is asked anew, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.models.adapters import digest_of
from fabula.models.known import fingerprint
from fabula.project.settings import Settings
from fabula.project.trust import acts_in

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


@pytest.fixture
def base(here: Path) -> Path:
    return tinygguf.write_model(here / "base.gguf", tinygguf.weights())


@pytest.fixture
def room(here: Path, base: Path) -> Path:
    """A room for two of the roles of Agents' Room."""
    return tinygguf.write_room(here / "room", base, {"climax": 5, "resolution": 6})


def test_an_adapter_has_its_role_asked_anew_and_nothing_before_it(cli: Cli, project: Path, room: Path) -> None:
    ran = cli("update", "lamp", "--adapter", "climax=room/climax", "--dry-run")
    assert f"Overriding fabula.toml: --adapter climax={room}/climax. --save stores them there.\n" in ran.err
    data = cli("write", "lamp", "--anew", "--adapter", "climax=room/climax", "--json").json
    assert (data["asked"], data["replayed"]) == (1, 8)  # the reply is the same, so nothing that follows changes
    assert f"Same options as last time: --adapter climax={room}/climax." in cli("write", "lamp").err
    assert cli("write", "lamp", "--json").json["asked"] == 0
    assert cli("write", "lamp", "--adapter", "climax=", "--json").json["asked"] == 0, "without it, as at first"


def test_calls_are_told_apart_by_the_digest_of_their_own_adapter(cli: Cli, project: Path, room: Path) -> None:
    given = ("--model", "embedded:base.gguf", "--adapter", "room")
    calls = cli("update", "lamp", *given, "--dry-run", "--json").json["calls"]
    by = {call["role"]: call["performer"] for call in calls}
    bare = f"embedded:{cli.folder}/base.gguf@{digest_of(cli.folder / 'base.gguf')}"
    assert by["plot"] == by["exposition"] == bare
    assert by["climax"] == f"{bare}+{fingerprint(room / 'climax/adapter.gguf')}"
    assert by["resolution"] == f"{bare}+{fingerprint(room / 'resolution/adapter.gguf')}"


def test_a_room_gives_all_its_roles_their_adapters(cli: Cli, project: Path, room: Path) -> None:
    ran = cli("write", "lamp", "--anew", "--adapter", "room", "--save")
    assert "with adapters for climax, resolution, in lamp" in ran.err
    stored = Settings.read(project / "fabula.toml").adapters
    assert stored == {"room": str(room)}
    for command in ("status", "doctor"):
        assert "with adapters for climax, resolution" in cli(command, "lamp").out
    assert cli("write", "lamp", "--adapter", "room/room.toml", "--json").json["asked"] == 0
    (room / "room.toml").write_text((room / "room.toml").read_text().replace("resolution", "plot"))
    assert cli("update", "lamp", "--json", "--yes").json["asked"] == 1, "the plot; the resolution is as without"


def test_adapters_in_the_settings_are_looked_for_in_the_project(cli: Cli, project: Path, room: Path) -> None:
    room.rename(project / "room")
    settings = project / "fabula.toml"
    settings.write_text(settings.read_text() + '\n[adapters]\nroom = "room"\nconflict = ""\n')
    assert cli("write", "lamp", "--anew", "--json").json["asked"] == 2
    assert cli("write", "--dry-run", "lamp").code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("empty",),
            "--adapter 'empty' is neither a role nor a room: it has no room.toml. For the adapter ",
        ),
        (("nowhere",), "There is no folder nowhere. Specify the folder of a room, or --adapter ROLE=ADAPTER."),
        (("clmax=room/climax",), "Unknown role 'clmax'. Did you mean 'climax'?"),
        (
            ("climax=nowhere", "--model", "embedded:base.gguf"),
            "There is no adapter at nowhere. Specify the folder that ",
        ),
        (("climax=room/climax", "--model", "embedded:other.gguf"), "model with --model, or choose an adapter"),
        (
            ("climax=climax.gguf", "--model", "embedded:base.gguf"),
            "climax.gguf cannot be read as a GGUF file: the file",
        ),
    ],
)
def test_what_is_refused(cli: Cli, project: Path, room: Path, given: tuple[str, ...], said: str) -> None:
    tinygguf.write_model(cli.folder / "other.gguf", tinygguf.weights(2))
    (cli.folder / "climax.gguf").write_bytes((room / "climax/adapter.gguf").read_bytes()[:5000])
    ran = cli("write", "lamp", "--anew", "--adapter", *given)
    assert ran.code == 2
    assert said in ran.err


def test_a_foreign_project_uses_its_own_adapters_and_no_others(cli: Cli, project: Path, room: Path) -> None:
    settings = project / "fabula.toml"
    before = settings.read_text()
    settings.write_text(before + '\n[adapters]\nclimax = "../room/climax"\n')
    ran = cli("write", "lamp")
    assert ran.code == 2
    assert (
        f"would use {room}/climax, which is outside its folder, as an adapter, and you have not allowed this."
    ) in ran.err
    assert (
        cli("trust", "lamp").out
        == f"From now on lamp/fabula.toml may\n  use {room}/climax, which is outside its folder, as an adapter\n"
    )
    assert cli("write", "lamp", "--anew", "--json").json["asked"] == 1
    (project / "link").symlink_to(room)
    assert acts_in({"adapters": {"room": "link"}}, project)
    room.rename(project / "room")
    settings.write_text(before + '\n[adapters]\nclimax = "room/climax"\n')
    cli("trust", "lamp", "--forget")
    assert cli("write", "lamp", "--json").json["asked"] == 0


def test_a_room_is_shown_with_how_a_server_serves_it(cli: Cli, room: Path, base: Path) -> None:
    ran = cli("models", "adapters", "room")
    assert "climax      room/climax" in ran.out
    assert f"embedded:{base}" in ran.out
    line = f"vllm serve BASE --enable-lora --max-loras 2 --max-lora-rank 8 --lora-modules climax={room}/climax "
    assert line in ran.out
    data = cli("models", "adapters", "room/climax", "--json").json
    assert data["adapters"]["climax"]["record"]["agents"] == ["climax"]
    (room / "climax/adapter.json").unlink()
    assert "unknown" in cli("models", "adapters", "room/climax").out
    (room / "climax/adapter_config.json").write_text("{}")
    ran = cli("models", "adapters", "room/climax")
    assert (ran.code, "has no rank (`r`), so it does not belong to a LoRA adapter." in ran.err) == (2, True)
    assert (
        "empty contains no adapter that a server can load: there is no adapter_c"
        in cli("models", "adapters", "empty").err
    )
