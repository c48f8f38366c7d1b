"""`fabula data backtranslate`: the whole way, going on, what is left out and why, and what cannot be asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from finished import BRIEF, NOTES, SECTIONS, SPLIT, STORY

if TYPE_CHECKING:
    from commandline import Cli

OPTIONS = ("--model", "scripted:teacher.toml", "--out", "data")


@pytest.fixture
def lamp(cli: Cli) -> Cli:
    """`stories.jsonl` with one story, and the script of a teacher."""
    (cli.folder / "teacher.toml").write_text(script_of({**NOTES, "splitter": SPLIT}), encoding="utf-8")
    line = {"id": "lamp", "text": STORY, "brief": BRIEF}
    (cli.folder / "stories.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return cli


def test_makes_data_once_and_says_what_is_in_it(lamp: Cli) -> None:
    first = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--json").json
    assert (first["asked"], first["replayed"]) == (5, 0)
    again = lamp("data", "backtranslate", "stories.jsonl", *OPTIONS, "--json").json
    assert (again["asked"], again["replayed"]) == (0, 5)
    lines = [json.loads(line) for line in (lamp.folder / "data/train.jsonl").read_text().splitlines()]
    assert [line["agent"] for line in lines[:4]] == list(NOTES)
    assert " ".join(line["completion"] for line in lines[4:]).split() == "".join(SECTIONS).split()


def test_a_set_goes_straight_in_and_its_licence_into_the_card(lamp: Cli) -> None:
    folder = lamp.folder / "sets/tell-me-a-story"
    folder.mkdir(parents=True)
    line = {"example_id": 7, "inputs": BRIEF, "targets": STORY}
    same = {"example_id": 8, "inputs": BRIEF, "targets": f"{STORY}\n"}
    (folder / "tell-me-a-story-train.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(same)}\n", encoding="utf-8")
    ran = lamp("data", "backtranslate", "tell-me-a-story:train", "--data", "sets", *OPTIONS, "--json")
    assert "Data: 1 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)" in ran.err
    card = json.loads((lamp.folder / "data/data.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["licence"], one["stories"]) for one in card["sources"]] == [
        ("tell-me-a-story", "CC BY 4.0", 1)
    ]
    left_out = [one["reason"] for one in ran.json["left_out"]]
    assert left_out == [
        "The story tell-me-a-story/train/8 is word for word that of tell-me-a-story/train/7. One of them is taken."
    ]
