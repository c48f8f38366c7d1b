from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from small_sets import small_sets

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

JUDGE = ("--model", "scripted:judge.toml")
NARRATIVE = "# The Ferry\n\nJonas must be on the mainland by morning. Elin sells him a ticket for the goose.\n"


def said(score: int, reason: str = "It keeps to the goose.") -> str:
    return json.dumps({"reason": reason, "score": score})


REPLIES = {
    "judge:continuity": said(4),
    "judge:information": said(3),
    "judge:non_redundancy": said(5),
    "judge:linearity": said(0, "Nobody leaves the story."),
    "worse/continuity/continuity": said(2, "The goose is forgotten."),
}


@pytest.fixture
def talks(here: Path) -> Path:
    """Two dialogues of one narrative, and a judge that likes the first."""
    (here / "judge.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (here / "ferry.md").write_text(NARRATIVE, encoding="utf-8")
    (here / "better.md").write_text("Elin: A ticket, and one for the goose.\n\nJonas: Thank you.\n", encoding="utf-8")
    (here / "worse.txt").write_text("Elin: Good day.\n\nJonas: Good day. Good day to you.\n", encoding="utf-8")
    return here


@pytest.fixture
def chatted(talks: Path) -> Path:
    """A project with a conversation and no story."""
    for folder in ("plan", "chat"):
        (talks / "ferry" / folder).mkdir(parents=True)
    (talks / "ferry" / "brief.md").write_text("# The Ferry\n\nTalk it through.\n", encoding="utf-8")
    (talks / "ferry" / "plan" / "narrative.md").write_text("Elin has a stove and a cat.\n", encoding="utf-8")
    (talks / "ferry" / "chat" / "evening.md").write_text("# Jonas and Elin\n\n**Elin:** A cat.\n", encoding="utf-8")
    return talks / "ferry"


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_one_dialogue_is_rated_with_reasons(cli: Cli, talks: Path) -> None:
    ran = cli("evaluate", "snap-ratings", "better.md", "--narrative", "ferry.md", *JUDGE)
    assert ran.code == 0, ran.err
    lines = lines_of(ran.out)
    assert lines[0] == "continuity information appropriateness non-redundancy linearity"
    assert lines[1] == "better 4 3 5 not scored"
    assert "continuity: It keeps to the goose." in ran.out
    assert "linearity: Nobody leaves the story." in ran.out
    assert "all (baseline)  constant" in ran.out
    assert "mean/continuity" not in ran.out, "a lone dialogue is its own mean"
    assert "Compare its ratings with those of other dialogues" in ran.out
    assert "linearity: 1 of 1 not scored" in ran.out
    assert "evaluation/snap-ratings.html contains every number and reason." in ran.err
    assert any(line.startswith("judge ") for line in lines), "the bill"
    page = (talks / "evaluation" / "snap-ratings.html").read_text(encoding="utf-8")
    assert "continuity" in page
    assert len((talks / "evaluation" / "ratings.jsonl").read_text(encoding="utf-8").splitlines()) == 4


def test_several_have_means_with_intervals_and_baselines(cli: Cli, talks: Path) -> None:
    ran = cli("evaluate", "snap-ratings", "better.md", "worse.txt", "--narrative", "ferry.md", *JUDGE)
    assert ran.code == 0, ran.err
    lines = lines_of(ran.out)
    assert "worse 2 3 5 not scored" in lines
    assert "all 3 3 5 not scored" in lines, "two dialogues of one narrative are one: no interval"
    assert "spearman of continuity and length" in ran.out
    assert "The goose is forgotten." not in ran.out, "reasons of many are in ratings.jsonl"


def test_systems_have_their_own_means_and_a_difference(cli: Cli, talks: Path) -> None:
    rows = [
        {"id": f"{system}/{n}", "text": f"Elin: {n}.", "system": system, "prompt": str(n), "narrative": f"Story {n}."}
        for system in ("snap", "vanilla")
        for n in range(3)
    ]
    (talks / "set.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    scores = {f"{row['id']}/continuity/continuity": said(4 if row["system"] == "snap" else 2) for row in rows}
    (talks / "judge.toml").write_text(script_of(REPLIES | scores), encoding="utf-8")
    ran = cli("evaluate", "snap-ratings", "set.jsonl", *JUDGE)
    assert ran.code == 0, ran.err
    lines = lines_of(ran.out)
    assert any(line.startswith("snap 4 [2.316 to 4.561] (n 3)") for line in lines), "three alike are no certainty"
    assert any(line.startswith("vanilla 2 [1.439 to 3.684] (n 3)") for line in lines)
    assert "snap - vanilla continuity 2 3" in lines


def test_what_was_asked_is_not_asked_again(cli: Cli, talks: Path) -> None:
    given = ("evaluate", "snap-ratings", "better.md", "--narrative", "ferry.md", "--out", "kept", "--json", *JUDGE)
    first, again = cli(*given), cli(*given, "--frozen")
    assert (first.json["asked"], again.json["asked"], again.json["replayed"]) == (4, 0, 4)
    assert first.json["reports"] == again.json["reports"]
    assert first.json["files"][0].endswith("snap-ratings.html")
    assert (first.json["bill"]["judge"]["reply"], first.json["reports"]["snap-ratings"]["ratings"]) > (0, 3)


def test_a_spent_budget_stops_it_and_what_was_asked_is_kept(cli: Cli, talks: Path) -> None:
    ran = cli("evaluate", "snap-ratings", "better.md", "--narrative", "ferry.md", "--budget-tokens", "10", *JUDGE)
    assert ran.code == 1
    assert "10" in ran.err.splitlines()[-1]
    assert not (talks / "evaluation" / "snap-ratings.json").exists()


def test_a_conversation_brings_the_narrative_of_its_project(cli: Cli, chatted: Path, talks: Path) -> None:
    ran = cli("evaluate", "snap-ratings", "ferry/chat/evening.md", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1].startswith("ferry/evening  4 ")
    project = cli("evaluate", "snap-ratings", "ferry", *JUDGE)
    assert project.code == 2
    assert "The folder contains conversations. To read them, specify their files: ferry/chat/evening.md." in project.err


def test_rubric_rates_stories_side_by_side(cli: Cli, talks: Path) -> None:
    (talks / "judge.toml").write_text(script_of({"judge": "Hm."}), encoding="utf-8")
    ran = cli("evaluate", "rubric", "better.md", "worse.txt", "--set", "levels=story", *JUDGE)
    assert ran.code == 0, ran.err
    assert "story   overall" in ran.out
    assert "could not be read" in ran.out
    assert (talks / "evaluation" / "rubric.html").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rubric", "rubric does not use a narrative. Leave --narrative"),
        ("snap-rating", "Unknown evaluator 'snap-rating'. Did you mean 'snap-ratings'?"),
    ],
)
@pytest.mark.usefixtures("talks")
def test_an_evaluator_that_reads_no_narrative_is_named(cli: Cli, name: str, message: str) -> None:
    ran = cli("evaluate", name, "better.md", "--narrative", "ferry.md", *JUDGE)
    assert (ran.code, message in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("better.md",), "The dialogue better has no narrative, which its rating needs. Give"),
        (("better.md", "--narrative", "none.md"), "none.md"),
        (
            ("better.md", "--narrative", "void.md"),
            "The narrative in void.md is empty. Specify the text that the dialogues",
        ),
        (
            ("ferry/chat/evening.md", "--narrative", "ferry.md"),
            "Every dialogue has its own narrative, so fabula would not read ferry.md.",
        ),
        (("better.md", "--set", "sample=2"), "Unknown snap-ratings setting 'sample'. Did you mean 'samples'?"),
        (("better.md", "--model", "reader=smollm2"), "Unknown role 'reader'"),
        (("none.md",), "none.md"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], message: str, cli: Cli, chatted: Path) -> None:
    (chatted.parent / "void.md").write_text("# Only a title\n", encoding="utf-8")
    ran = cli("evaluate", "snap-ratings", *arguments, *JUDGE)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_dialogues_of_a_set_are_rated_with_their_licence_in_the_report(cli: Cli, talks: Path) -> None:
    small_sets(talks / "data")
    ran = cli("evaluate", "snap-ratings", "dialogsum:development", "--data", "data", *JUDGE, "--json")
    assert ran.code == 0, ran.err
    notice = "1 from dialogsum: CC BY-NC-SA 4.0 (github.com/cylnlp/dialogsum)"
    assert json.loads(ran.out)["reports"]["snap-ratings"]["how"]["data"] == notice
    assert notice in (talks / "evaluation/snap-ratings.html").read_text(encoding="utf-8")
    assert "CC BY-NC-SA 4.0" in ran.err
