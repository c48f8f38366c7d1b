from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

MODEL = ("--model", "scripted:atlas.toml")
STORY = (
    "# One\n\nMara carried her blue umbrella. The blue umbrella dripped. Mara Voss was tired.\n\n"
    "# Two\n\nThe umbrella was red, <script>alert(1)</script> and Mara Voss shut the red umbrella and sat down.\n"
)
FACTS = {"facts": [{"subject": "Mara", "slot": "mood", "value": "tired", "quote": "Mara Voss was tired"}]}
CLASH = {"known": 0, "quote_x": "Mara Voss was tired", "fact": "Mara tired", "quote_y": "sat down", "event": "Mara not"}
VERDICTS = [
    {"number": 1, "quote_x": "Mara Voss was tired", "quote_y": "sat down", "decision": "no_difference"},
    {"number": 2, "quote_x": "her blue umbrella", "quote_y": "The umbrella was red", "attribute": "colour",
     "decision": "error", "fact": "Mara's umbrella being blue", "event": "it being red", "reason": "Two colours."},
]  # fmt: skip
REPLIES = {
    "grapher:facts": json.dumps(FACTS),
    "proposer:compare": json.dumps({"findings": [CLASH]}),
    "verifier:settle": json.dumps({"verdicts": VERDICTS}),
    "judge:judge": json.dumps({"findings": [{"x": 1, "y": 2, "fact": "blue umbrella", "event": "red umbrella"}]}),
}


@pytest.fixture
def story(here: Path) -> Path:
    (here / "atlas.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (here / "story.md").write_text(STORY, encoding="utf-8")
    return here


def test_the_hybrid_finds_and_quotes_and_has_the_plain_judge_beside(cli: Cli, story: Path) -> None:
    ran = cli("check", "story.md", *MODEL)
    assert ran.code == 0, ran.err
    assert "In scene 1, Mara's umbrella being blue was established, yet in scene 2, it being red happens" in ran.out
    assert 'scene 1: "her blue umbrella"' in ran.out
    assert "findings of the plain judge (baseline)" in ran.out
    page = (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    assert "<mark>her blue umbrella</mark>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    (kept,) = json.loads((story / "evaluation" / "findings-story.json").read_text(encoding="utf-8"))
    assert list(kept)[:2] == ["id", "hallucination"]
    assert (kept["x"], kept["y"], kept["root_cause_id"]) == (1, 2, 1)
    ratings = (story / "evaluation" / "ratings.jsonl").read_text(encoding="utf-8")
    assert '"no error"' in ratings


def test_what_was_asked_is_not_asked_again_and_keys_stay(cli: Cli, story: Path) -> None:
    first = cli("check", "story.md", "--json", *MODEL)
    again = cli("check", "story.md", "--json", "--frozen", *MODEL)
    assert (first.json["asked"], again.json["asked"]) == (4, 0)
    assert first.json["details"] == again.json["details"]


def test_without_a_model_nobody_is_asked_and_strict_ends_with_1(cli: Cli, story: Path) -> None:
    ran = cli("check", "story.md", "--no-model", "--strict", "--model", "openai:gpt-5-mini")
    assert ran.code == 1, ran.err
    assert "umbrella being blue" in ran.out
    assert "leave --no-model out" in ran.err
    (story / "calm.md").write_text("# One\n\nMara slept.\n\n# Two\n\nShe woke.\n", encoding="utf-8")
    assert cli("check", "calm.md", "--no-model", "--strict").code == 0


def test_a_model_that_says_nothing_is_no_all_clear(cli: Cli, story: Path) -> None:
    (story / "atlas.toml").write_text(script_of(dict.fromkeys(("grapher", "proposer", "verifier", "judge"), "Hm.")))
    ran = cli("check", "story.md", "--strict", *MODEL)
    assert ran.code == 1, ran.err
    assert "not scored: the verifier gave no verdict that can be read" in ran.out
    assert "replies could not be had" in ran.out


def test_the_papers_way_asks_for_graphs_and_says_what_it_dropped(cli: Cli, story: Path) -> None:
    event = {"name": "Mara comes", "evidence": "umbrella"}
    thing = {"name": "umbrella", "type": "Object", "evidence": "umbrella", "events": [1]}
    colour = {"node": "n1", "predicate": "colour", "value": "blue", "evidence": "a green umbrella"}
    proposal = {"x": 1, "y": 2, "fact": "Mara's umbrella being blue", "event": "it being red"}
    replies = {
        "grapher:events": json.dumps({"events": [event] * 3}),
        "grapher:entities": json.dumps({"entities": [thing]}),
        "grapher:relations": json.dumps({"relations": []}),
        "grapher:attributes": json.dumps({"attributes": [colour]}),
        "proposer": json.dumps({"findings": [proposal]}),
        "verifier": json.dumps({"verdicts": [VERDICTS[1] | {"number": 1}]}),
        "judge": json.dumps({"findings": []}),
    }
    (story / "atlas.toml").write_text(script_of(replies), encoding="utf-8")
    ran = cli("check", "story.md", "--preset", "faithful", "--set", "attr_mode=scene", "--json", *MODEL)
    assert ran.code == 0, ran.err
    (data,) = ran.json["details"]["stories"]
    assert data["counts"]["dropped_attribute_without_evidence"] == 2
    assert [entity["id"] for entity in data["by"]["entities"]] == ["object:umbrella"]
    assert [one["hallucination"] for one in data["findings"]] == [
        "In scene 1, Mara's umbrella being blue was established, yet in scene 2, it being red happens"
    ]
    assert "intra_scene" in data
    assert ran.json["asked"] == 11


def test_a_dismissed_finding_stays_away_with_its_reason(cli: Cli, story: Path) -> None:
    key = cli("check", "story.md", "--no-model", "--json").json["details"]["stories"][0]["findings"][0]["key"]
    assert f"fabula check story.md --dismiss {key}=" in (story / "evaluation" / "atlas.html").read_text(
        encoding="utf-8"
    )
    ran = cli("check", "story.md", "--dismiss", f"{key}=she has two umbrellas", "--strict", "--json")
    assert (ran.code, ran.json["left"]) == (0, 0)
    assert ran.json["dismissed"] == {key: "she has two umbrellas"}
    again = cli("check", "story.md", "--no-model", "--strict")
    assert again.code == 0
    assert "story: 0 findings, 1 dismissed (see findings-dismissed.jsonl)" in again.out
    assert "Dismissed: she has two umbrellas" in (story / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    (story / "evaluation" / "findings-dismissed.jsonl").write_text("", encoding="utf-8")
    assert cli("check", "story.md", "--no-model", "--strict").code == 1


def test_known_errors_score_the_method_and_the_judge(cli: Cli, story: Path) -> None:
    gold = [{"x": 1, "y": 2, "fact": "blue umbrella", "event": "red umbrella"}]
    (story / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    ran = cli("check", "story.md", "--gold", "gold.json", "--json", *MODEL)
    assert ran.code == 0, ran.err
    rows = {(row["of"], row["what"]): row for row in ran.json["rows"]}
    assert rows["story (plain judge)", "recall/strict"]["value"] == 1
    assert rows["story (plain judge)", "recall/strict"]["baseline"]
    assert rows["story", "recall/evidence"]["value"] == 1
    assert rows["story", "precision/strict"]["high"] <= 1


def test_projects_and_layouts_are_read(cli: Cli, story: Path, project: Path) -> None:
    scenes = [{"_id": 1, "content": "The red umbrella dripped."}, {"_id": 0, "content": "Mara shut her blue umbrella."}]
    (story / "scenes.json").write_text(json.dumps(scenes), encoding="utf-8")
    (story / "script.fountain").write_text(
        "INT. LAMP - DAY\n\nMara came.\n\nEXT. QUAY - DAY\n\nShe left.\n", encoding="utf-8"
    )
    ran = cli("check", "scenes.json", "script.fountain", str(project), "--no-model", "--json")
    assert ran.code == 0, ran.err
    values = {one["id"]: (one["form"], one["mended"]) for one in ran.json["details"]["stories"]}
    assert values == {
        "scenes": ("json", {"reordered": 1}),
        "script": ("fountain", {}),
        "lamp": ("manuscript", {}),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.md",), "none.md"),
        (("empty.md",), "The story in empty.md is empty."),
        (("story.md", "--dismiss", "abc=why"), "Nothing was checked in evaluation yet."),
        (("story.md", "--gold", "atlas.toml", "--no-model"), "neither a JSON array nor JSON lines"),
        (("story.md", "--set", "batch=40", "--no-model"), "batch = 40 cannot be verified in one call"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], message: str, cli: Cli, story: Path) -> None:
    (story / "empty.md").write_text(" - \n", encoding="utf-8")
    ran = cli("check", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{key}", "is not of the form ID=REASON"),
        ("{key}= - ", "is not of the form ID=REASON"),
        ("nokey=why", "Unknown finding 'nokey'"),
    ],
)
def test_a_dismissal_names_a_finding_and_a_reason(said: str, message: str, cli: Cli, story: Path) -> None:
    key = cli("check", "story.md", "--no-model", "--json").json["details"]["stories"][0]["findings"][0]["key"]
    ran = cli("check", "story.md", "--dismiss", said.format(key=key))
    assert (ran.code, message in ran.err) == (2, True), ran.err
    (story / "evaluation" / "atlas.json").write_text("{}", encoding="utf-8")
    ran = cli("check", "story.md", "--dismiss", f"{key}=why")
    assert "is no report of a check" in ran.err
