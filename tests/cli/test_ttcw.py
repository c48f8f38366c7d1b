from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

JUDGE = ("--model", "scripted:judge.toml")
REPLIES = {
    "judge:compare": "A: a count that comes back. B: <script>alert(1)</script> only. Hence: [[A>B]]",
    "lamp/fluency/narrative-ending/candidate-first/compare": "Both end well.",
    "judge:question": "It holds together.\nAnswer: Yes",
    "lamp/originality/originality-in-thought/alone/question": "A heart of gold.\nAnswer: No",
    "reader": "A keeper sells her light. Nobody asks why.",
    "writer": "She sold the light in spring and kept the key in her apron.",
}


@pytest.fixture
def stories(here: Path) -> Path:
    (here / "judge.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (here / "lamp.md").write_text("Mara lit the lamp and sat down with her back to it.\n", encoding="utf-8")
    (here / "other.md").write_text("Once upon a time there was a lamp, and a lamp, and a lamp.\n", encoding="utf-8")
    (here / "reference.md").write_text("They sold the lighthouse in spring.\n", encoding="utf-8")
    return here


def test_a_story_alone_gets_the_plain_tests_and_is_told_of_references(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "ttcw", "lamp.md", *JUDGE)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["score", "fluency", "flexibility", "originality", "elaboration"]
    assert lines[1][:7] == ["lamp", "13", "[9.594", "to", "13.82]", "(n", "14)"]
    assert lines[1][7] == "5"
    assert lines[9][:2] == ["passed/originality", "originality-in-thought"]
    assert lines[10] == ["lamp", "0", "1", "1"]
    assert "There is only one story. Compare its score" in ran.out
    assert "--reference FILE" in ran.err
    kept = json.loads((stories / "evaluation" / "ttcw.json").read_text(encoding="utf-8"))
    assert kept["how"]["method"] == "plain"
    assert len((stories / "evaluation" / "ratings.jsonl").read_text(encoding="utf-8").splitlines()) == 14


def test_beside_a_reference_an_unreadable_label_is_told_and_counted(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "ttcw", "lamp.md", "--reference", "reference.md", *JUDGE)
    assert ran.code == 0, ran.err
    assert "(n 13)" in ran.out
    assert "fluency/narrative-ending" in ran.out
    assert "not scored" in ran.out
    assert "1 of 14 tests (in 1 of 1 stories) have no outcome" in ran.out
    assert "changed its mind" in ran.out
    page = (stories / "evaluation" / "ttcw.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "Both end well." in page


def test_a_judge_without_answers_gives_no_score(cli: Cli, stories: Path) -> None:
    (stories / "judge.toml").write_text(script_of({"judge": "Hm."}), encoding="utf-8")
    ran = cli("evaluate", "ttcw", "lamp.md", "--set", "method=plain", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.out.count("not scored") >= 5
    assert "14 of 14 tests (in 1 of 1 stories) have no outcome" in ran.out
    page = (stories / "evaluation" / "ttcw.html").read_text(encoding="utf-8")
    assert "It says neither yes nor no" in page
    assert "none of 14 tests has an answer that can be read" in page


def test_what_was_asked_is_not_asked_again(cli: Cli, stories: Path) -> None:
    first = cli("evaluate", "ttcw", "lamp.md", "--json", *JUDGE)
    again = cli("evaluate", "ttcw", "lamp.md", "--json", "--frozen", *JUDGE)
    assert (first.json["asked"], again.json["asked"], again.json["replayed"]) == (14, 0, 14)
    assert first.json["reports"] == again.json["reports"]
    assert first.json["files"][0].endswith("ttcw.html")


def test_several_stories_have_trivial_baselines_beside_them(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "ttcw", "lamp.md", "other.md", "--set", "method=plain", *JUDGE)
    assert ran.code == 0, ran.err
    assert [line for line in ran.out.splitlines() if line.startswith("other") and "(n 14)" in line]
    assert "constant" in ran.out
    assert "spearman of score and length" in ran.out


def test_references_of_a_set_are_matched_by_prompt_or_name(cli: Cli, stories: Path) -> None:
    (stories / "refs").mkdir()
    for name in ("lamp", "spare"):
        (stories / "refs" / f"{name}.md").write_text(f"The reference {name}.\n", encoding="utf-8")
    ran = cli("evaluate", "ttcw", "lamp.md", "--reference", "refs", "--json", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.json["reports"]["ttcw"]["how"]["method"] == "reference"
    ran = cli("evaluate", "ttcw", "other.md", "--reference", "refs", *JUDGE)
    assert (ran.code, ran.err.splitlines()[-1]) == (
        2,
        "fabula: The story other requires a reference named 'other', but there is none. Add it.",
    )


def test_tests_of_a_file_stand_for_ours(cli: Cli, stories: Path) -> None:
    test = {"torrance_dimension": "Flow", "category": "End", "question": "Well ended?", "full_prompt": "B.\n\nx\n\nQ"}
    (stories / "bank.json").write_text(json.dumps([test]), encoding="utf-8")
    ran = cli("evaluate", "ttcw", "lamp.md", "--set", "tests=bank.json", "--json", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.json["reports"]["ttcw"]["how"]["tests"].startswith("given-")
    assert ran.json["reports"]["ttcw"]["ratings"] == 1


def test_the_published_tests_are_the_faithful_ones_wherever_they_are_there(cli: Cli, stories: Path) -> None:
    test = {"torrance_dimension": "Flow", "category": "End", "question": "Well ended?", "full_prompt": "B.\n\nx\n\nQ"}
    place = stories / "data" / "ttcw-tests" / "ttcw_all_tests.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps([test]), encoding="utf-8")
    asked = ("lamp.md", "--set", "method=plain", "--data", "data", "--json", *JUDGE)
    faithful = cli("evaluate", "ttcw", *asked, "--preset", "faithful")
    assert faithful.code == 0, faithful.err
    assert faithful.json["reports"]["ttcw"]["how"]["tests"].startswith("given-")
    assert not any("own wording" in note for note in faithful.json["reports"]["ttcw"]["notes"])
    improved = cli("evaluate", "ttcw", *asked)
    assert improved.json["reports"]["ttcw"]["how"]["tests"].startswith("own-")
    assert "--fetch ttcw-tests" in improved.json["reports"]["ttcw"]["notes"][0]
    (stories / "mine.json").write_text(json.dumps([test, test | {"category": "Start"}]), encoding="utf-8")
    chosen = cli("evaluate", "ttcw", *asked, "--preset", "faithful", "--set", "tests=mine.json")
    assert chosen.json["reports"]["ttcw"]["ratings"] == 2


def test_a_plot_and_a_candidate_are_printed_alone(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "ttcw", "reference.md", "--make", "plot", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.out == "A keeper sells her light. Nobody asks why.\n"
    (stories / "plot.txt").write_text(ran.out, encoding="utf-8")
    ran = cli("evaluate", "ttcw", "plot.txt", "--make", "candidate", "--set", "words=12", *JUDGE)
    assert ran.code == 0, ran.err
    assert ran.out == f"{REPLIES['writer']}\n"
    ran = cli("evaluate", "ttcw", "reference.md", "--make", "plot", "--json", *JUDGE)
    assert ran.json["texts"] == {"reference": "A keeper sells her light. Nobody asks why."}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("lamp.md", "--make", "plot", "--reference", "reference.md"),
            "--reference would have no effect: --make tests no",
        ),
        (("lamp.md", "--ratings", "kept.jsonl"), "are for ranking. Use them with `fabula evaluate pairwise`."),
        (
            ("lamp.md", "--set", "method=reference"),
            "The reference method compares a story with a reference, and lamp has",
        ),
        (("lamp.md", "--set", "analyze=false"), "Unknown ttcw setting 'analyze'. Did you mean 'analyse'?"),
        (("none.md",), "none.md"),
        (("reference.md", "--make", "candidate", "--set", "words=many"), "'many' is not a number of words"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], message: str, cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "ttcw", *arguments, *JUDGE)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
