"""`fabula measure`: its tables, files and errors."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from fabula.base.extras import installing
from small_sets import small_sets

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

LAMP = 'The lamp was dark. "Who put it out?" she asked. Nobody knew.\n\nShe lit it again.\n'
BOAT = "A boat came home. A boat came home late. Nobody asked why.\n"


@pytest.fixture
def stories(here: Path) -> Path:
    (here / "lamp.md").write_text(LAMP, encoding="utf-8")
    (here / "boat.md").write_text(BOAT, encoding="utf-8")
    for system, first, second in (("room", LAMP, BOAT), ("alone", BOAT, LAMP)):
        (here / "set" / system).mkdir(parents=True)
        (here / "set" / system / "one.md").write_text(first, encoding="utf-8")
        (here / "set" / system / "two.md").write_text(second, encoding="utf-8")
    return here


@pytest.mark.usefixtures("stories")
def test_one_story_is_a_line_of_numbers_with_their_definitions(cli: Cli) -> None:
    ran = cli("measure", "lamp.md")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()[1:4]]
    assert lines == [["lamp", "words", "16", "1"], ["lamp", "paragraphs", "2", "1"], ["lamp", "sentences", "4", "1"]]
    assert "surface: tokens whitespace, trigram_tokens whitespace, overlap_tokens words" in ran.out
    assert "prompt overlap: 1 of 1 not scored (the story's prompt is not known)." in ran.out
    assert "mean/words" not in ran.out
    assert "To get every number" in ran.err


@pytest.mark.usefixtures("stories")
def test_systems_have_means_with_intervals(cli: Cli) -> None:
    ran = cli("measure", "set", "--quiet")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["mean", "words"] in [line[:2] for line in lines]
    assert ["alone", "14", "(n", "2)"] in [line[:4] for line in lines]  # two stories allow no interval
    assert ran.err == ""


@pytest.mark.usefixtures("stories")
def test_a_brief_gives_the_overlap_and_a_reference_gives_rouge(cli: Cli) -> None:
    ran = cli("measure", "lamp.md", "--brief", "brief.md", "--reference", "lamp.md", "--json")
    assert ran.code == 0
    assert set(ran.json["reports"]) == {"surface", "rouge"}
    rows = {row["what"]: row for row in ran.json["reports"]["rouge"]["rows"] if row["of"] == "lamp"}
    assert rows["rougeL"]["value"] == rows["rougeLsum/recall"]["value"] == 1
    surface = {row["what"]: row for row in ran.json["reports"]["surface"]["rows"] if row["of"] == "lamp"}
    assert surface["prompt overlap"]["value"] == 0


def test_references_are_found_by_prompt(cli: Cli, stories: Path) -> None:
    (stories / "gold").mkdir()
    (stories / "gold" / "one.md").write_text(LAMP, encoding="utf-8")
    (stories / "gold" / "three.md").write_text(BOAT, encoding="utf-8")
    rows = cli("measure", "set", "--reference", "gold", "--json").json["reports"]["rouge"]["rows"]
    found = {row["of"]: row["value"] for row in rows if row["what"] == "rougeL"}
    assert found["room/one"] == 1
    assert found["room/two"] is None
    (stories / "gold" / "one.md").rename(stories / "gold" / "four.md")
    assert (
        "None of the 2 references in gold match a prompt of the stories"
        in cli("measure", "set", "--reference", "gold").err
    )
    text = cli("measure", "lamp.md", "--reference", "set").err
    assert "set contains two references for one prompt" in text


@pytest.mark.usefixtures("stories")
def test_a_project_is_measured_where_one_stands(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    ran = cli("measure", "--json")
    rows = {row["what"]: row["value"] for row in ran.json["reports"]["surface"]["rows"] if row["of"] == "lamp"}
    assert rows["words"] > 0
    assert rows["prompt overlap"] is not None, "the brief is the project's"


def test_every_number_goes_into_csv_with_how_it_was_made(cli: Cli, stories: Path) -> None:
    assert cli("measure", "set", "--csv", "numbers.csv").code == 0
    text = (stories / "numbers.csv").read_text(encoding="utf-8")
    printed = cli("measure", "set", "--csv", "-")
    assert printed.out == text
    rows = list(csv.DictReader(io.StringIO(text)))
    first = next(row for row in rows if (row["of"], row["what"]) == ("room/one", "words"))
    assert (first["evaluator"], first["value"], first["method"]) == ("surface", "16", "number of whitespace tokens")
    missing = next(row for row in rows if row["what"] == "prompt overlap")
    assert (missing["value"], missing["unscored"]) == ("", "the story's prompt is not known")


def test_a_long_set_shows_its_first_stories_and_counts_the_rest(cli: Cli, here: Path) -> None:
    lines = [
        json.dumps({"id": f"a story with {'quite ' * 9}a long name {n}", "text": "word " * 1200}) for n in range(42)
    ]
    (here / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    out = cli("measure", "many.jsonl").out
    assert "... and 2 more" in out
    assert "…" in out
    assert "1200" in out


@pytest.mark.usefixtures("stories")
def test_settings_reach_the_evaluators_that_have_them(cli: Cli) -> None:
    sets = ("--set", "tokens=words", "--set", "rouge.variants=rouge2")
    reports = cli("measure", "lamp.md", "--reference", "boat.md", "--preset", "faithful", *sets, "--json").json[
        "reports"
    ]
    assert reports["surface"]["how"]["tokens"] == "words"
    assert not reports["surface"]["how"]["more"]
    assert reports["rouge"]["how"]["variants"] == "rouge2"


@pytest.mark.usefixtures("stories")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("lamp.md", "--set", "token=words"),
            "Unknown setting of `fabula measure` 'token'. Did you mean 'tokens'?",
        ),
        (("lamp.md", "--set", "rouge.stemer=1"), "Unknown rouge setting 'stemer'. Did you mean 'stemmer'?"),
        (
            ("lamp.md", "--set", "rogue.stemmer=1"),
            "Unknown evaluator of `fabula measure` 'rogue'. Did you mean 'rouge'?",
        ),
        (
            ("lamp.md", "--set", "stemmer=1"),
            "--set stemmer is for rouge, which does not run here. Give --reference PATH.",
        ),
        (("lamp.md", "--set", "model=x"), "which does not run here. Give --reference PATH and --bertscore."),
        (
            ("lamp.md", "--set", "tokens"),
            "--set 'tokens' does not have the form FIELD=VALUE, such as --set tokens=rouge.",
        ),
        (("lamp.md", "--set", "fold_case=perhaps"), "`surface.fold_case` must be true or false"),
        (("lamp.md", "--preset", "faithfull"), "Unknown preset 'faithfull'. Did you mean 'faithful'?"),
        (("lamp.md", "lamp.md"), "The story lamp.md is given twice. Give each story once."),
        (
            ("lamp.md", "--bertscore"),
            "BERTScore compares stories with references. Specify the references with --reference PATH.",
        ),
        (("lamp.md", "--csv", "none/x.csv"), "The folder does not exist."),
        (("lamp.md", "--csv", "-", "--json"), "both print to stdout"),
        (("set", "--brief", "brief.md"), "--brief brief.md is a single brief, but the stories answer 2 prompts."),
        (("empty",), "No story found in empty."),
        (("absent.md",), "There is no file absent.md."),
    ],
)
def test_what_cannot_be_measured_is_named(cli: Cli, words: tuple[str, ...], expected: str) -> None:
    ran = cli("measure", *words)
    assert ran.code == (1 if "folder" in expected else 2)
    assert expected in ran.err


def test_an_empty_story_and_a_bad_line_are_named(cli: Cli, here: Path) -> None:
    (here / "empty.md").write_text("\n", encoding="utf-8")
    assert "The story in empty.md is empty" in cli("measure", "empty.md").err
    (here / "bad.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": \n', encoding="utf-8")
    assert "bad.jsonl, line 2: not valid JSON" in cli("measure", "bad.jsonl").err


@pytest.mark.usefixtures("stories")
def test_bertscore_says_what_to_install_or_runs_on_a_stand_in(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    command = ("measure", "lamp.md", "--reference", "boat.md", "--bertscore")
    ran = cli(*command)
    assert ran.code == 2
    assert installing("bertscore") in ran.err
    ran = cli(*command, "--set", "embedder=letters")
    assert ran.code == 0
    assert "lamp  bertscore" in ran.out
    assert "0 of 2 texts are longer than 100 tokens" in ran.out


def test_an_empty_story_does_not_stop_the_measuring_of_the_others(cli: Cli, stories: Path) -> None:
    lines = [json.dumps({"id": f"s{n}", "text": "A lamp was lit." if n != 500 else " "}) for n in range(1000)]
    (stories / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ran = cli("measure", "many.jsonl", "--csv", "many.csv")
    assert ran.code == 0
    assert "Left out: The story in many.jsonl, line 501 is empty." in ran.err
    assert "1 of 1000 stories have no text and were left out." in ran.err
    data = cli("measure", "many.jsonl", "--json").json
    assert data["stories"] == 999
    assert len(data["left_out"]) == 1
    last = (stories / "many.csv").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert (
        last == ',,,story,,,,,0,,,"The story in many.jsonl, line 501 is empty. Provide a story that contains text.",0'
    )
    assert cli("measure", "lamp.md", "--quiet").err == ""


def test_a_data_set_is_measured_and_its_licence_said(cli: Cli, here: Path) -> None:
    small_sets(here / "data")
    ran = cli("measure", "tell-me-a-story:test", "--data", "data", "--limit", "2", "--seed", "5", "--json")
    assert ran.code == 0, ran.err
    notice = "2 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)"
    assert f"Data: {notice}\n" in ran.err
    found = json.loads(ran.out)
    assert found["stories"] == 2
    assert [(one["name"], one["licence"], one["stories"]) for one in found["data"]] == [
        ("tell-me-a-story", "CC BY 4.0", 2)
    ]
    assert found["reports"]["surface"]["how"]["data"] == notice
    whole = cli("measure", "data/wikiplots", "--quiet")
    assert "Data: 2 from wikiplots: CC BY-SA 3.0" in whole.err  # a licence is said also where nothing else is
    assert whole.out.splitlines()[1].startswith("wikiplots/1")
