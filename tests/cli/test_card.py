"""`fabula text card`: show a card, make personas of it, and cards of personas; nothing is overwritten or rendered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.story.cards import png, read_card
from fabula.story.personas import parse_personas

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

DATA: dict[str, Any] = {
    "name": "Mara",
    "description": "<img src=x onerror=alert(1)> \x1b]0;title\x07[red]Keeper[/red] of the lamp.",
    "personality": "patient, stubborn",
    "scenario": "A letter has come for {{user}}.",
    "first_mes": "Ten boats.",
    "alternate_greetings": ["Eleven."],
    "tags": ["sea"],
    "system_prompt": "Obey.",
    "character_book": {
        "entries": [
            {"keys": ["reef"], "content": "The reef has a bell.", "enabled": True, "insertion_order": 1},
            {"keys": ["(x+)+$"], "use_regex": True, "content": "never", "enabled": True, "insertion_order": 2},
        ]
    },
    "assets": [{"type": "icon", "uri": "https://example.invalid/icon.png", "name": "main", "ext": "png"}],
}
PERSONAS = "personas:\n- name: Tobias\n  description: The boy who brings bread.\n  goals: [to know]\n"


@pytest.fixture
def card(here: Path) -> Path:
    file = here / "mara.json"
    file.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA}), encoding="utf-8")
    return file


def test_it_is_shown_as_plain_text(cli: Cli, card: Path) -> None:
    ran = cli("text", "card", str(card))
    assert ran.code == 0, ran.err
    assert "<img src=x onerror=alert(1)> [red]Keeper[/red] of the lamp." in ran.out
    assert "\x1b" not in ran.out
    assert "2 entries" in ran.out
    assert "1 pattern is not used as a key" in ran.out
    assert "--to personas" in ran.err


def test_as_json_for_programs(cli: Cli, card: Path) -> None:
    data = cli("text", "card", str(card), "--json").json["cards"][0]
    assert (data["name"], data["version"], data["greetings"], data["lorebook"]) == (
        "Mara",
        2,
        ["Ten boats.", "Eleven."],
        2,
    )


def test_cards_become_personas_that_can_be_written_from(cli: Cli, card: Path, here: Path) -> None:
    other = here / "jon.json"
    other.write_text(json.dumps({"name": "Jon", "description": "A smith."}), encoding="utf-8")
    ran = cli("text", "card", str(card), str(other), "--to", "personas", "--out", "cast.yaml")
    assert ran.code == 0, ran.err
    assert "Left out: Mara: Instructions to a model" in ran.err
    start = parse_personas((here / "cast.yaml").read_text(encoding="utf-8"))
    assert start.names == ("Mara", "Jon")
    assert start.people[0].personality == ("patient", "stubborn")
    again = cli("text", "card", str(card), "--to", "personas", "--out", "cast.yaml")
    assert again.code == 2
    assert "cast.yaml already exists" in again.err
    assert parse_personas((here / "cast.yaml").read_text(encoding="utf-8")) == start


def test_a_card_goes_into_a_picture_and_comes_out_as_it_was(cli: Cli, card: Path, here: Path) -> None:
    (here / "face.png").write_bytes(png.plain_picture(3, 5))
    assert cli("text", "card", str(card), "--to", "png", "--picture", "face.png", "--out", "mara.png").code == 0
    assert cli("text", "card", "mara.png", "--to", "json", "--out", "again.json").code == 0
    assert (here / "again.json").read_bytes() == card.read_bytes()
    assert cli("text", "card", "mara.png", "--to", "json").out.strip() == card.read_text(encoding="utf-8")


def test_a_persona_becomes_a_card(cli: Cli, card: Path, here: Path) -> None:
    (here / "cast.yaml").write_text(PERSONAS, encoding="utf-8")
    assert cli("text", "card", "--from", "cast.yaml", "tobias", "--to", "png", "-o", "tobias.png").code == 0
    made = read_card(here / "tobias.png")
    assert (made.name, made.version, made.extensions["fabula"]) == ("Tobias", 3, {"goals": ["to know"]})
    over = cli("text", "card", str(card), "--from", "cast.yaml", "Tobias", "--to", "json", "--json").json
    assert json.loads(over["text"])["data"]["first_mes"] == "Ten boats."
    wrong = cli("text", "card", "--from", "cast.yaml", "Tobi", "--to", "json")
    assert wrong.code == 2
    assert "Did you mean 'Tobias'?" in wrong.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "Specify a character card,"),
        (("--from", "cast.yaml", "Tobias"), "--from requires --to json or --to png"),
        (("a.json", "b.json", "--from", "cast.yaml", "x", "--to", "json"), "--from makes one card"),
        (("mara.json", "--out", "x"), "--out and --picture require --to"),
        (("mara.json", "--to", "json", "--picture", "x"), "--picture requires --to png"),
        (("mara.json", "mara.json", "--to", "json"), "one at a time"),
        (("mara.json", "mara.json", "--to", "personas"), "have the same name"),
        (("mara.json", "--to", "png"), "cannot be printed"),
        (("mara.json", "--to", "png", "--picture", "none.png", "--out", "x.png"), "or give a PNG picture."),
        (("mara.json", "--to", "png", "--picture", "mara.json", "--out", "x.png"), "is not a PNG"),
        (("none.png",), "There is no file none.png."),
        (("brief.md",), "is not JSON"),
    ],
)
def test_what_does_not_go_together_is_said(
    cli: Cli, card: Path, here: Path, arguments: tuple[str, ...], expected: str
) -> None:
    ran = cli("text", "card", *arguments)
    assert ran.code == 2
    assert expected in ran.err
    assert "Traceback" not in ran.err
    assert not (here / "x.png").exists()
