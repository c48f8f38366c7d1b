from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

PLAN = """\
title: The Lamp
characters:
  - name: Mara
  - name: Tobias
scenes:
  - name: The storm
    element: climax
    place: the lamp room
    importance: 9
    time: 2
    characters: [Mara, Tobias]
    outline: [The storm breaks the window., Mara holds the flame.]
  - name: The letter
    time: 1
    characters: [Mara]
    outline: [Mara reads the letter.]
"""
STORY = "# The Lamp\n\n" + "\n\n".join(
    f"Mara climbed the stairs {n} times. " + " ".join(f"The wave {n} of {k} came in." for k in range(16))
    for n in range(1, 5)
)
DETAIL = {
    "name": "The stairs",
    "place": "a tower",
    "importance": 6,
    "characters": [{"name": "Mara", "goal": "to go up"}],
}
REPLIES = {
    "planner:plan_conflict": "Mara wants to keep her lamp, and the office wants it dark.",
    "planner:plan_setting": "A bare cape in the north, late in the autumn.",
    "planner:plan_cast": json.dumps({"characters": [{"name": "Mara", "setup": "Keeps the lamp."}]}),
    "planner:plan_telling": json.dumps(
        {
            "person": "first person, told by Mara",
            "tense": "present tense",
            "scenes": [{"time": n, "element": "climax", "what": f"Thing {n}."} for n in (3, 1, 2)],
        }
    ),
    **{
        f"plan/scene/{number}/plan_scene": json.dumps(DETAIL | {"events": [{"what": event, "missed_by": []}]})
        for number, event in enumerate(("Mara reads the letter.", "Tobias brings bread.", "The storm comes."), 1)
    },
    "planner:read_cast": json.dumps({"characters": [{"name": "Mara", "setup": "Keeps the lamp."}]}),
    "planner:read_scenes": json.dumps({"scenes": [{"begins": 1, "name": "The first"}, {"begins": 3, "name": "Third"}]}),
    "planner:read_scene": json.dumps(
        DETAIL | {"element": "climax", "events": [{"what": "Mara climbs the stairs.", "missed_by": []}]}
    ),
    "planner:read_missed": json.dumps({"missed": []}),
    "planner:read_whole": json.dumps(
        {
            "conflict": "Mara wants to keep her lamp, and the sea wants the tower.",
            "setting": "A tower by the sea, in one night.",
            "order": [],
        }
    ),
}
SCRIPT = ("--model", "scripted:plan.toml")


@pytest.fixture
def files(here: Path) -> Path:
    lines = [f"{json.dumps(name)} = {json.dumps(text)}" for name, text in REPLIES.items()]
    (here / "plan.toml").write_text("[replies]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (here / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (here / "story.md").write_text(STORY, encoding="utf-8")
    return here


def test_a_sound_plan_is_shown_in_both_orders(cli: Cli, files: Path) -> None:
    ran = cli("plan", "plan.yaml")
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[1][:4] == ["1", "2", "The", "storm"]
    assert rows[2][:4] == ["2", "1", "The", "letter"]
    assert "Characters: Mara, Tobias" in ran.out
    assert "2 scenes, 3 events; 1 pair of scenes told out of chronological order" in ran.out
    assert "Next: `fabula write --plan plan.yaml`." in ran.err
    assert files.is_dir()


def test_a_sound_plan_as_json(cli: Cli, files: Path) -> None:
    data = cli("plan", "plan.yaml", "--json").json
    assert data["order"] == ["The letter", "The storm"]
    assert data["order_from"] == "plan"
    assert [len(scene["outline"]) for scene in data["plan"]["scenes"]] == [2, 1]
    assert files.is_dir()


def test_a_plan_without_times_leaves_the_order_open(cli: Cli, files: Path) -> None:
    (files / "plan.yaml").write_text(PLAN.replace("    time: 1\n", ""), encoding="utf-8")
    ran = cli("plan", "plan.yaml")
    assert "their order of time is not known" in ran.out
    assert cli("plan", "plan.yaml", "--json").json["order_from"] == "assumed"


def test_all_problems_of_a_plan_are_told_at_once(cli: Cli, files: Path) -> None:
    bad = (
        PLAN.replace("[Mara]", "[Marra]")
        .replace("importance: 9", "importance: 90")
        .replace("name: The letter", "name: The Storm")
    )
    (files / "plan.yaml").write_text(bad, encoding="utf-8")
    ran = cli("plan", "plan.yaml")
    assert ran.code == 2
    for said in ("plan.yaml:9:", "plan.yaml:15:", "Did you mean 'Mara'?", "90 is not between 1 and 10"):
        assert said in ran.err


def test_a_plan_is_made_from_a_brief_and_then_written_from_at_no_second_cost(cli: Cli, files: Path) -> None:
    ran = cli("plan", "--from-brief", "brief.md", *SCRIPT, "--scenes", "3", "--out", "lamp")
    assert ran.code == 0, ran.err
    assert (files / "lamp/plan/plan.yaml").read_text(encoding="utf-8").count("  - name: The stairs") == 3
    assert (files / "lamp/brief.md").read_text(encoding="utf-8").startswith("# The Lamp\n")
    assert "3 scenes, 3 events; 2 pairs of scenes told out of chronological order" in ran.out
    assert "Told in: first person, told by Mara; present tense" in ran.out
    assert "Next: edit lamp/plan/plan.yaml, then `fabula write lamp`." in ran.err
    again = cli("plan", "--from-brief", "brief.md", "--out", "lamp", "--json").json
    assert (again["asked"], again["replayed"]) == (0, 7)
    estimated = cli("write", "--dry-run", "lamp", "--json").json
    assert not [call for call in estimated["calls"] if call["role"] == "planner"]


def test_a_plan_is_read_off_a_story_and_is_the_authors_from_then_on(cli: Cli, files: Path) -> None:
    ran = cli("plan", "--from-story", "story.md", *SCRIPT, "--json")
    assert ran.code == 0, ran.err
    assert [scene["name"] for scene in ran.json["found"]["plan"]["scenes"]] == ["The first", "Third"]
    assert ran.json["asked"] == 2 + 2 + 1 + 1
    brief = (files / "story/brief.md").read_text(encoding="utf-8")
    assert brief.startswith("# The Lamp\n")
    assert "Mara wants to keep her lamp" in brief
    plan = files / "story/plan/plan.yaml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("Third", "The end"), encoding="utf-8")
    again = cli("plan", "--from-story", "story.md", "--json").json
    assert [scene["name"] for scene in again["found"]["plan"]["scenes"]] == ["The first", "The end"]
    assert again["asked"] == 0
    with ProjectFolder.open(files / "story").journal as journal:
        assert [(d.path, d.kind) for d in journal.decisions.find()] == [("plan", "edit"), ("plan", "edit")]


def test_the_faithful_preset_reads_a_story_as_the_paper_does(cli: Cli, files: Path) -> None:
    scenes = [{"name": "The stairs", "outline": ["Mara climbs."], "element": "climax", **ALONE}]
    replies = {
        "planner:extract_characters": REPLIES["planner:read_cast"],
        "planner:extract_scenes": json.dumps({"scenes": scenes}),
        "planner:extract_conflict": "Mara wants to keep her lamp, and the sea wants the tower.",
        "planner:extract_setting": "A tower by the sea, in one night.",
    }
    lines = [f"{json.dumps(name)} = {json.dumps(text)}" for name, text in replies.items()]
    (files / "plan.toml").write_text("[replies]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    ran = cli("plan", "--from-story", "story.md", *SCRIPT, "--preset", "faithful", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["asked"] == 4
    assert ran.json["found"]["order"] == ["The stairs"]


ALONE = {"place": "a tower", "importance": 6, "characters": [{"name": "Mara", "goal": "to go up"}]}


def test_the_brief_that_a_story_answers_can_be_given(cli: Cli, files: Path) -> None:
    ran = cli("plan", "--from-story", "story.md", "--brief", "brief.md", "--out", "back", *SCRIPT)
    assert ran.code == 0, ran.err
    assert "against her father's will" in (files / "back/brief.md").read_text(encoding="utf-8")


def test_a_budget_stops_planning_and_a_higher_one_goes_on(cli: Cli, files: Path) -> None:
    asked = ("plan", "--from-brief", "brief.md", "--out", "lamp", "--scenes", "3")
    ran = cli(*asked, *SCRIPT, "--budget-tokens", "3000")
    assert ran.code == 1
    assert "Stopped before the budget of 3,000 tokens is exceeded" in ran.err
    data = cli(*asked, "--json").json
    assert data["replayed"] >= 1
    assert data["asked"] + data["replayed"] == 7
    assert files.is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan",), "has no plan/plan.yaml. Specify a plan (a YAML file), or make one with --from-brief"),
        (("plan", "none.yaml"), "There is no file none.yaml. Correct the name, or give a plan (a YAML file)."),
        (
            ("plan", "plan.yaml", "--from-brief", "brief.md"),
            "--from-brief brief.md and plan.yaml cannot be used together. Use only one.",
        ),
        (("plan", "--from-brief", "brief.md", "--from-story", "story.md"), "cannot be used together. Use only one."),
        (("plan", "--from-brief", "brief.md", "--brief", "brief.md"), "--brief requires --from-story"),
        (("plan", "--from-story", "story.md", "--scenes", "3"), "--scenes requires --from-brief"),
        (("plan", "plan.yaml", "--out", "x"), "--out requires --from-brief or --from-story"),
        (
            ("plan", "--from-story", "none.md"),
            "There is no file none.md. Correct the name, or give a story (a text file).",
        ),
        (("plan", "--from-story", "empty.md"), "The story empty.md is empty. Use a text file that contains a story."),
        (("plan", "--from-story", "binary.md"), "binary.md"),
        (("plan", "--from-brief", "none.md"), "There is no file none.md. Correct the name, or give a brief"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, files: Path, arguments: tuple[str, ...], message: str) -> None:
    (files / "empty.md").write_text("\n# Title\n\n", encoding="utf-8")
    (files / "empty.md").write_text("\n***\n", encoding="utf-8")
    (files / "binary.md").write_bytes(b"\x00\xff\xfe\x00story")
    ran = cli(*arguments)
    assert ran.code == 2
    assert message in ran.err


def test_another_story_needs_another_folder(cli: Cli, files: Path) -> None:
    assert cli("plan", "--from-story", "story.md", *SCRIPT).code == 0
    (files / "story.md").write_text("Another story altogether.\n", encoding="utf-8")
    ran = cli("plan", "--from-story", "story.md")
    assert ran.code == 2
    assert "is a project for another story or brief. Choose another folder with --out DIR." in ran.err
    ran = cli("plan", "--from-brief", "brief.md", "--out", "story")
    assert ran.code == 2
    assert "story is a project for another brief." in ran.err


def test_a_brief_that_is_given_as_a_plan_says_how_one_is_made(cli: Cli) -> None:
    for options in ((), ("--dry-run",), ("--model", "smollm2")):
        ran = cli("plan", "brief.md", *options)
        assert ran.code == 2
        assert "brief.md is not a plan, because plans are YAML files." in ran.err
        assert "`fabula plan --from-brief brief.md`" in ran.err
