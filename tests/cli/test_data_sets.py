"""`fabula data list` and `fabula data choose`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.cli.stories import folder_of
from fabula.cli.terminal import Terminal
from small_sets import small_sets

if TYPE_CHECKING:
    from commandline import Cli

BY_WORDS = ("--embed", "tf-idf", "--reduce", "svd")


def test_sets_are_listed_with_licence_and_place(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABULA_DATA", raising=False)
    small_sets(here / "data")
    ran = cli("data", "list", "--data", "data", "--json")
    assert ran.code == 0, ran.err
    sets = {one["set"]["name"]: one for one in json.loads(ran.out)["sets"]}
    assert {name for name, one in sets.items() if one["here"]} == {
        "tell-me-a-story", "wikiplots", "writing-prompts", "dialogsum",
    }  # fmt: skip
    assert sets["dialogsum"]["set"]["licence"] == "CC BY-NC-SA 4.0"
    assert sets["dialogsum"]["used_by"] == ["measure", "evaluate", "train"]
    assert sets["wikiplots"]["bytes"] == len("Lamp\nClock\nIt burns.\nIt dies.\n<EOS>\nIt ticks.\n<EOS>\n")
    assert (sets["hanna"]["here"], sets["hanna"]["bytes"]) == (False, None)
    nowhere = cli("data", "list", "--json")  # is held against its schema
    assert json.loads(nowhere.out)["folder"] is None
    shown = cli("data", "list")
    assert "not known" in shown.out
    assert "yourself. To set the folder of the data sets, use --data DIR or FABULA_DATA" in shown.err
    listed = cli("data", "list", "--data", "data").out
    assert listed.count("no, can be fetched") == 1  # the questions of TTCW; all others that can be are here
    assert any(line.startswith("hanna") and " no  " in line for line in listed.splitlines())


def test_chosen_prompts_are_a_file_that_an_experiment_takes(cli: Cli, here: Path) -> None:
    small_sets(here / "data")
    ran = cli("data", "choose", "tell-me-a-story:test", "--data", "data", "--n", "2", *BY_WORDS, "--out", "few.jsonl")
    assert ran.code == 0, ran.err
    assert "Data: 3 from tell-me-a-story: CC BY 4.0" in ran.err
    assert "do not publish the plain text" in ran.err
    lines = [json.loads(line) for line in (here / "few.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [sorted(line) for line in lines] == [["cluster", "distance", "id", "prompt", "source"]] * 2
    assert (here / "few.svg").read_text(encoding="utf-8").startswith("<svg")
    (here / "exp.toml").write_text(
        'briefs = "few.jsonl"\nsystems = ["end-to-end"]\nmodels = ["scripted:script.toml"]\n', encoding="utf-8"
    )
    estimate = cli("lab", "experiment", "exp.toml", "--dry-run", "--json")
    assert estimate.code == 0, estimate.err
    assert json.loads(estimate.out)["contenders"][0]["runs"] == 2


def test_a_folder_of_briefs_is_chosen_from_and_written(cli: Cli, here: Path) -> None:
    (here / "briefs").mkdir()
    for name, words in (("a", "lamp sea boat"), ("b", "lamp sea gull"), ("c", "court judge jury"), ("d", "court oath")):
        (here / "briefs" / f"{name}.md").write_text(f"# {name}\n\nWrite of {words}.\n", encoding="utf-8")
    ran = cli("data", "choose", "briefs", "--n", "2", "--clusters", "2", *BY_WORDS, "--out", "few", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["prompts"], found["unlike"], found["alike"]) == (4, 4, [])
    assert [(one["size"], one["chosen"]) for one in found["clusters"]] == [(2, 1), (2, 1)]
    assert sorted(path.name for path in (here / "few").iterdir()) == sorted(
        [*(f"{one['id']}.md" for one in found["chosen"]), "clusters.svg"]
    )
    again = cli("data", "choose", "briefs", "--n", "2", *BY_WORDS, "--out", "few")
    assert again.code == 2
    assert "few is not empty, and its files would also count as prompts. Choose a new folder." in again.err
    shown = cli("data", "choose", "briefs", "--n", "2", *BY_WORDS)
    assert "4 prompts, 4 of which differ from each other." in shown.out
    assert (
        "No file was written. To save the prompts and a picture of them, use --out FILE.jsonl or --out DIR."
    ) in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("brief.md", "--clusters", "many"), "--clusters 'many' is neither a positive number nor 'auto'."),
        (("brief.md", "--n", "1", "--out", "few.txt"), "--out few.txt is neither a .jsonl file nor a folder."),
        (("brief.md",), "There is one prompt, so 28 cannot be chosen. Use a smaller --n, or provide more prompts."),
        (
            ("data/wikiplots",),
            "wikiplots contains texts without prompts. Use a set with prompts, such as tell-me-a-story.",
        ),
    ],
)
def test_what_cannot_be_chosen_is_said(cli: Cli, here: Path, options: tuple[str, ...], message: str) -> None:
    small_sets(here / "data")
    ran = cli("data", "choose", *options, *BY_WORDS)
    assert ran.code == 2
    assert message in ran.err


def test_a_summariser_is_trained_on_the_set_by_name(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_DATA", str(small_sets(here / "data")))
    split = cli("train", "dialogsum:train", "--base", "bart", "--out", "made")
    assert (
        "dialogsum:train specifies only one split, but both the training and the development split are needed."
    ) in split.err
    terminal = Terminal()
    assert folder_of(terminal, "dialogsum") == here / "data/dialogsum"
    assert folder_of(terminal, "own/talks") == Path("own/talks")
