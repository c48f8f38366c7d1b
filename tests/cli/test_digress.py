from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli, Ran

STORY = """\
# The Lamp

One night Mara kept the lamp of the lighthouse. Then Tobias brought Mara a letter. Mara read the letter twice.
The lamp was to go dark, and Tobias wept.

On Saturday the wind turned. Tobias asked Mara for the light. Mara lit the lamp. The boat came home.
"""
REPLIES = {
    "labeller": '{"characters": [{"name": "Mara", "traits": ["stubborn"]}, {"name": "Tobias"}]}',
    "planner": "#1. Tobias brings Mara a letter\n- The lamp is to go dark.\n#2. Mara lights the lamp",
    "judge:connectivity": "3",
    "judge:personality": "3",
    "judge:back": "story",
    "npc": "[Mara: (lights the lamp) The letter says that it is to go dark.]",
    "player": "What is a computer?",
    "summariser": "Tobias brought a letter.",
}
MODEL = ("--model", "scripted:all.toml")
FEW = ("--as", "Tobias", "--with", "Mara", "--sessions", "1", "--within", "2")


@pytest.fixture(autouse=True)
def ready(here: Path) -> None:
    (here / "lamp.md").write_text(STORY, encoding="utf-8")
    (here / "all.toml").write_text(script_of(REPLIES), encoding="utf-8")


def digress(cli: Cli, *more: str) -> Ran:
    plans = () if "vanilla" in more else ("--set", "candidates=1")
    return cli("lab", "digress", "lamp.md", *MODEL, *FEW, *plans, *more)


def test_systems_stand_beside_each_other_with_every_digression_to_be_read(cli: Cli) -> None:
    ran = digress(cli)
    assert ran.code == 0, ran.err
    assert "snap" in ran.out
    assert "vanilla" in ran.out
    assert "back within 2, by words" in ran.out
    assert "back within 2: silence, by words" in ran.out
    assert "a character that hears nothing" in ran.out
    assert "an echo of the player" in ran.out
    assert "Compare the shares with those of the trivial characters" in ran.out
    folder = cli.folder / "digressions"
    page = (folder / "linearity.html").read_text()
    assert "Tobias: ..." in page
    assert "(back by words: " in page
    assert "**Mara:** (lights the lamp)" in (folder / "lamp-snap/chat/player-1.md").read_text()
    items = [json.loads(line) for line in (folder / "dialogues.jsonl").read_text().splitlines()]
    assert [item["id"] for item in items] == ["snap/lamp-1", "vanilla/lamp-1"]
    assert "[off-story: reality]" in items[1]["text"]
    assert "In 1 of 1 conversation, snap ended its story before all digressions" in ran.err
    assert items[0]["narrative"].startswith("One night Mara")


def test_what_was_said_is_not_said_again_and_a_judge_can_come_later(cli: Cli) -> None:
    first = digress(cli, "--json")
    assert first.code == 0, first.err
    assert first.json["asked"] > 10
    again = digress(cli, "--json", "--judge", "scripted:all.toml")
    assert again.json["bill"].keys() == {"judge"}
    assert any(row["what"] == "back within 2" and row["of"] == "snap" for row in again.json["rows"])
    rated = cli(
        "evaluate",
        "linearity",
        "digressions/dialogues.jsonl",
        "--set",
        "within=2",
        *MODEL,
        "--json",
    )
    assert rated.code == 0, rated.err
    values = {(row["of"], row["what"]): row.get("value") for row in rated.json["reports"]["linearity"]["rows"]}
    assert values["snap", "back within 2"] == 1.0


def test_a_model_can_be_the_player(cli: Cli) -> None:
    ran = digress(cli, "--player", "model", "--kinds", "reality", "--system", "vanilla", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["bill"].keys() == {"labeller", "npc", "player"}
    data = ran.json["details"]["digressions"]
    assert [one["said"] for one in data] == [["Tobias", "What is a computer?"]]


def test_an_estimate_asks_nobody_and_writes_nothing(cli: Cli) -> None:
    ran = digress(cli, "--dry-run", "--judge", "scripted:all.toml")
    assert ran.code == 0, ran.err
    assert "vanilla  lamp" in ran.out
    assert "The judge: at most 48 calls with one-word replies." in ran.out
    assert not (cli.folder / "digressions").exists()
    data = digress(cli, "--dry-run", "--json").json
    assert data["digressions"] == 8
    assert data["runs"][1]["calls"] == 18


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--kinds", "realty"), "Unknown kind of digression 'realty'. Did you mean 'reality'?"),
        (("--system", "dramatron"), "The system `dramatron` does not support conversations"),
        (("--set", "rooms=3"), "Unknown snap and vanilla setting 'rooms'"),
        (("--set", "sentences"), "does not have the form FIELD=VALUE"),
        (("--model", "critic=smollm2"), "Unknown role 'critic'"),
        (("--with", "Batman"), "The story does not name 'Batman'"),
        (("--judge", "gpt"), "Unknown model 'gpt'"),
    ],
)
def test_what_cannot_be_done_is_named_and_nothing_is_made(cli: Cli, more: tuple[str, ...], message: str) -> None:
    ran = digress(cli, *more)
    assert ran.code == 2
    assert message in ran.err
    assert not (cli.folder / "digressions").exists()


def test_stories_that_cannot_be_used_are_named(cli: Cli) -> None:
    (cli.folder / "empty.md").write_text("# Nothing\n", encoding="utf-8")
    (cli.folder / "other").mkdir()
    (cli.folder / "other" / "lamp.md").write_text(STORY, encoding="utf-8")
    for stories, message in (
        (("none.md",), "There is no file or folder none.md"),
        (("empty.md",), "The story empty.md is empty"),
        (("other",), "other has no plan/narrative.md and no story.md yet"),
        (("lamp.md", "other/lamp.md"), "Two stories would both be called 'lamp'"),
    ):
        ran = cli("lab", "digress", *stories, *MODEL)
        assert ran.code == 2
        assert message in ran.err
    ran = cli("lab", "digress", "lamp.md", "--as", "Tobias", *MODEL)
    assert "Specify both the player (--as NAME) and the character who answers (--with NAME), or neither." in ran.err


def test_numbers_of_other_settings_are_not_mixed(cli: Cli) -> None:
    assert digress(cli, "--system", "vanilla").code == 0
    ran = digress(cli, "--system", "vanilla", "--within", "3", "--set", "max_turns=9")
    assert ran.code == 2
    assert "digressions contains digressions with another schedule, settings." in ran.err
    assert digress(cli, "--system", "vanilla", "--out", "more", "--set", "max_turns=9").code == 0
    (cli.folder / "digressions" / "digress.json").write_text("{")
    assert "digress.json is not valid JSON" in digress(cli, "--system", "vanilla").err


def test_a_project_is_digressed_in_by_its_narrative(cli: Cli) -> None:
    talked = cli("chat", "lamp.md", "--as", "Tobias", "--with", "Mara", *MODEL, stdin="/quit\n")
    assert talked.code == 0, talked.err
    ran = cli("lab", "digress", "lamp", "--system", "vanilla", *MODEL, *FEW, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["details"]["digressions"]


def test_a_role_or_setting_of_one_system_is_for_that_one(cli: Cli) -> None:
    ran = digress(cli, "--model", "planner=scripted:all.toml", "--set", "max_turns=9", "--set", "turns_per_step=9")
    assert ran.code == 0, ran.err
    asked = json.loads((cli.folder / "digressions" / "digress.json").read_text())["settings"]
    assert asked["snap"]["config"] == {"candidates": 1, "max_turns": 9, "turns_per_step": 9}
    assert asked["vanilla"]["config"] == {"max_turns": 9}
    assert set(asked["snap"]["roles"]) == {"planner"}
    assert "roles" not in asked["vanilla"]


def test_a_cap_stops_the_talk_and_the_same_command_goes_on(cli: Cli) -> None:
    ran = digress(cli, "--budget-tokens", "3000")
    assert ran.code != 0
    assert "budget" in ran.err.lower() or "cap" in ran.err.lower()
    assert digress(cli).code == 0


def test_an_address_is_for_the_models_that_are_served(cli: Cli) -> None:
    ran = cli(
        "lab", "digress", "lamp.md", *FEW, "--system", "vanilla", "--model", "openai-chat:llama",
        "--base-url", "http://127.0.0.1:9/v1", "--judge", "qwen2.5-coder-1.5b", "--dry-run",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "The judge: at most 24 calls" in ran.out


def test_a_seed_of_0_is_a_seed(cli: Cli) -> None:
    seeds: list[int] = []
    for seed in ((), ("--seed", "0"), ("--seed", "1")):
        out = f"out{len(seeds)}"
        ran = digress(cli, *seed, "--out", out)
        assert ran.code == 0, ran.err
        seeds.append(json.loads((cli.folder / out / "digress.json").read_text(encoding="utf-8"))["schedule"]["seed"])
    assert seeds == [1, 0, 1]
