from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from fabula.measure.ratings import parse_ratings

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

JUDGE = ("--model", "scripted:judge.toml", "--set", "passages=1")
COMMENTS = [
    {"category": "logical consistency", "quote": "lit the lamp", "comment": "Nobody forbade it <b>yet</b>."},
    {"category": "hook and close", "quote": "the lamp", "comment": "The opening gives the end away."},
    {"category": "clarity", "quote": "lamp", "comment": "Too many lamps."},
    {"category": "rhythm", "quote": "the ship sank", "comment": "Not in the text."},
]


def scores(value: int) -> dict[str, object]:
    names = ("logical_consistency", "thematic_coherence", "character_arc_completion", "goal_conflict_outcome")
    more = ("hook_and_close", "chapter_necessity", "rhythm", "clarity", "syntax_variety", "overall")
    return {"reason": "So it is.", **dict.fromkeys((*names, *more), value)}


REPLIES = {
    "editor": json.dumps({"comments": COMMENTS}),
    "judge": json.dumps({"A": scores(60), "B": scores(40)}),
}


@pytest.fixture
def stories(here: Path) -> Path:
    (here / "judge.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (here / "lamp.md").write_text("Mara lit the lamp. She sat down with her back to the lamp.\n", encoding="utf-8")
    (here / "other.md").write_text("Tobias lit the lamp, and the lamp was lit.\n", encoding="utf-8")
    return here


def test_people_verify_the_editors_comments_in_a_study(cli: Cli, stories: Path) -> None:
    assert cli("evaluate", "editorial", "lamp.md", *JUDGE).code == 0
    ran = cli("study", "new", "verified", "evaluation", "--kind", "comments")
    assert ran.code == 0, ran.err
    assert "verified is a study (comments, version 1): 3 items on 1 prompt." in ran.out
    items = (stories / "verified" / "items.jsonl").read_text(encoding="utf-8")
    (whole,) = [one for one in map(json.loads, items.splitlines()) if one["group"] == "story"]
    assert whole["passages"] == ["Mara **lit the lamp**. She sat down with her back to the lamp."]
    assert cli("study", "assign", "verified", "--overlap", "2").code == 0
    rating = {"kind": "person", "prompt": "evaluation", "question": "verdict", "answer": "agree"}
    lines = [
        json.dumps(rating | {"rater": rater, "items": [one["id"]]})
        for rater in ("R1", "R2")
        for one in map(json.loads, items.splitlines())
    ]
    (stories / "verified" / "ratings.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = cli("study", "report", "verified")
    assert report.code == 0, report.err
    rows = [line.split() for line in report.out.splitlines()]
    assert ["overall", "1", "[0.4385", "to", "1]", "(n", "3)"] in rows, report.out
    refused = cli("study", "new", "other", "evaluation", "--kind", "findings")
    assert "No story has been checked in evaluation yet." in refused.err
    assert "--kind comments" in refused.err


def test_a_story_alone_gets_the_editors_comments(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "editorial", "lamp.md", *JUDGE)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["all", "levels", "story", "chapter", "sentence", "words"]
    one = ["1", "[0.1765", "to", "5.665]", "(n", "1)"]
    assert lines[1] == ["lamp", "3", "[1.02", "to", "8.821]", "(n", "3)", *one, *one, *one, "13"]
    assert "story, logical consistency: Nobody forbade it <b>yet</b>." in ran.out
    assert "sentence 1, clarity: Too many lamps." in ran.out or "sentence 2, clarity: Too many lamps." in ran.out
    assert "ship sank" not in ran.out
    assert "Comments that do not count" in ran.out
    assert "There is only one story" in ran.out
    page = (stories / "evaluation" / "editorial.html").read_text(encoding="utf-8")
    assert "Nobody forbade it &lt;b&gt;yet&lt;/b&gt;." in page
    kept = json.loads((stories / "evaluation" / "editorial.json").read_text(encoding="utf-8"))
    assert len(kept["details"]["annotations"]) == 3
    assert not (stories / "evaluation" / "rubric.json").exists()


def test_several_stories_are_commented_on_and_scored_in_all_orders(cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "editorial,rubric", "lamp.md", "other.md", *JUDGE)
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    # The judge gives whatever stands first 20 points more: both stories have the same mean, and the effect is told.
    assert ["lamp", "50", "50", "50", "50"] in rows
    assert ["other", "50", "50", "50", "50"] in rows
    assert "The place in which a text is shown moves its score" in ran.out
    assert "first position (baseline)" in ran.out
    assert "spearman of comments and length" in ran.out
    ratings = parse_ratings((stories / "evaluation" / "ratings.jsonl").read_text(encoding="utf-8"))
    assert {rating.evaluator for rating in ratings} == {"editorial", "rubric"}


def test_what_was_asked_is_not_asked_again_and_json_has_both_reports(cli: Cli, stories: Path) -> None:
    first = cli("evaluate", "editorial,rubric", "lamp.md", "other.md", "--json", *JUDGE)
    again = cli("evaluate", "editorial,rubric", "lamp.md", "other.md", "--json", "--frozen", *JUDGE)
    assert first.code == again.code == 0, again.err
    assert (first.json["asked"], again.json["asked"], again.json["replayed"]) == (12, 0, 12)
    assert first.json["reports"] == again.json["reports"]
    assert first.json["files"][1].endswith("rubric.html")


def test_a_setting_goes_to_the_evaluator_that_knows_it(cli: Cli, stories: Path) -> None:
    own = ("--set", "orders=1", "--set", "cap=2")
    ran = cli("evaluate", "editorial,rubric", "lamp.md", "other.md", "--json", *own, *JUDGE)
    assert ran.code == 0, ran.err
    assert (ran.json["reports"]["rubric"]["how"]["orders"], ran.json["reports"]["editorial"]["how"]["cap"]) == (1, 2)
    assert ran.json["asked"] == 6 + 3


def test_the_share_of_comments_that_people_accept_is_told(cli: Cli, stories: Path) -> None:
    assert cli("evaluate", "editorial", "lamp.md", "other.md", *JUDGE).code == 0
    said = {"rater": "Ines", "kind": "person", "systems": [], "answer": "yes"}
    lines = [
        {**said, "items": [one["item"]], "prompt": one["item"], "question": f"accept/{one['id']}"}
        for one in _annotations(stories)
    ]
    (stories / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ran = cli("evaluate", "editorial", "lamp.md", "other.md", "--people", "answers.jsonl", *JUDGE)
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["people", "accept", "1", "0.6097", "to", "1", "6"] in rows


def _annotations(folder: Path) -> list[dict[str, str]]:
    data = json.loads((folder / "evaluation" / "editorial.json").read_text(encoding="utf-8"))
    found: list[dict[str, str]] = data["details"]["annotations"]
    return found


def test_choices_of_people_are_compared_with_the_scores(cli: Cli, stories: Path) -> None:
    (stories / "judge.toml").write_text(
        script_of({"stories/story/1/1-2/score": json.dumps({"A": scores(90), "B": scores(20)}), **REPLIES}),
        encoding="utf-8",
    )
    choice = {"rater": "Ines", "kind": "person", "items": ["other", "lamp"], "question": "story/overall"}
    (stories / "people.jsonl").write_text(json.dumps({**choice, "answer": "lamp"}) + "\n", encoding="utf-8")
    ran = cli("evaluate", "rubric", "lamp.md", "other.md", "--people", "people.jsonl", "--json", *JUDGE)
    assert ran.code == 0, ran.err
    values = {(row["of"], row["what"]): row["value"] for row in ran.json["agreement"]["rubric"]["rows"]}
    assert values == {("people", "prefer/story"): 1, ("people", "prefer"): 1, ("length", "prefer"): 1}


def test_an_editor_without_answers_gives_no_count(cli: Cli, stories: Path) -> None:
    (stories / "judge.toml").write_text(script_of({"editor": "Fine.", "judge": "Good."}), encoding="utf-8")
    ran = cli("evaluate", "editorial,rubric", "lamp.md", "other.md", *JUDGE)
    assert ran.code == 0, ran.err
    assert "6 of 6 passages have no annotations" in ran.out
    assert "6 of 6 calls have no scores" in ran.out
    assert ran.out.count("not scored") > 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lamp.md", "--make", "plot"), "--make prepares material for the tests of creativity."),
        (("lamp.md", "--set", "passage=2"), "Unknown editorial setting 'passage'. Did you mean 'passages'?"),
        (("lamp.md", "other.md", "--set", "order=2"), "Unknown editorial setting 'order'"),
        (("lamp.md", "--set", "levels=chapters"), "levels = 'chapters': give one or more of story, chapter, sentence"),
        (("lamp.md", "--set", "passages=0"), "passages = 0 is too few. Give 1 or more."),
        (("none.md",), "none.md"),
        (("lamp.md", "--people", "none.jsonl"), "none.jsonl"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: tuple[str, ...], message: str, cli: Cli, stories: Path) -> None:
    ran = cli("evaluate", "editorial", *arguments, "--model", "scripted:judge.toml")
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
