"""`fabula evaluate pairwise` of two stories: two stories, both orders, and what is printed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.measure.ratings import read_ratings

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

CAPE = "Mara lit the lamp against the order, and in the morning the boat came home."
HARBOUR = "There was a lamp. Mara lit it and it was a good lamp."
SCRIPT = '''
[replies]
judge = """
The first has a storm.

Plot: A
Creativity: A
Development: Same
Language Use: B
Overall: A
"""
"compare/harbour/cape/1/compare" = """
The second has a storm.

Plot: B
Creativity: A
Development: Same
Language Use: A
Overall: B
"""
'''
FAITHFUL = ("--preset", "faithful", "--model", "scripted:judge.toml")


@pytest.fixture
def stories(here: Path) -> Path:
    (here / "cape.md").write_text(CAPE, encoding="utf-8")
    (here / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    (here / "judge.toml").write_text(SCRIPT, encoding="utf-8")
    return here


@pytest.mark.usefixtures("stories")
def test_prints_both_orders_what_comes_of_them_and_the_reasons(cli: Cli) -> None:
    ran = cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL)
    table = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines()[1:6] if line}
    assert table["plot"] == ["cape", "cape", "cape"]
    assert table["creativity"] == ["cape", "harbour", "same"]
    assert table["development"] == ["same", "same", "same"]
    assert table["overall"] == ["cape", "cape", "cape"]
    assert "A being cape, B harbour: The first has a storm." in ran.out
    assert "The second has a storm." in ran.out
    assert "about 2 calls to make" in ran.err


@pytest.mark.usefixtures("stories")
def test_swapping_the_stories_asks_nothing_and_finds_the_same(cli: Cli) -> None:
    first = cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL, "--json").json
    swapped = cli("evaluate", "pairwise", "harbour.md", "cape.md", *FAITHFUL, "--json").json
    assert (first["asked"], swapped["asked"], swapped["replayed"]) == (2, 0, 2)
    assert swapped["verdicts"] == first["verdicts"]
    assert {"question": "plot", "better": "cape"} in first["verdicts"]


def test_verdicts_are_kept_as_ratings(cli: Cli, stories: Path) -> None:
    cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL, "--out", "kept")
    ratings = read_ratings(stories / "kept" / "ratings.jsonl")
    assert len(ratings) == 10
    assert {rating.items for rating in ratings} == {("cape", "harbour"), ("harbour", "cape")}
    assert {rating.rubric for rating in ratings} == {"pairwise-1"}


def test_a_judge_without_verdicts_is_counted(cli: Cli, stories: Path) -> None:
    (stories / "judge.toml").write_text('[replies]\njudge = "Fine weather."\n', encoding="utf-8")
    ran = cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL)
    assert "not scored" in ran.out
    assert "10 of 10 verdicts are missing" in ran.out


def test_what_cannot_be_judged_is_an_error_that_says_what_to_do(cli: Cli, stories: Path) -> None:
    (stories / "two").mkdir()
    (stories / "two" / "cape.md").write_text(CAPE, encoding="utf-8")
    (stories / "two" / "quay.md").write_text(CAPE, encoding="utf-8")
    (stories / "none.md").write_text(" \n", encoding="utf-8")
    for words, message in (
        (("cape.md", "./cape.md"), "The story cape.md is given twice"),
        (("cape.md", "none.md"), "is empty"),
        (("cape.md", "harbour.md", "--set", "questions=plto"), "question"),
    ):
        ran = cli("evaluate", "pairwise", *words)
        assert ran.code == 2, ran.err
        assert message in ran.err
    assert not (stories / "evaluation").exists()


def test_two_files_of_one_name_in_two_folders_can_be_judged(cli: Cli, stories: Path) -> None:
    for folder, text in (("old", HARBOUR), ("new", CAPE)):
        (stories / folder).mkdir()
        (stories / folder / "story.md").write_text(text, encoding="utf-8")
        (stories / folder / "lamp.md").write_text(text, encoding="utf-8")
    ran = cli("evaluate", "pairwise", "old/lamp.md", "new/lamp.md", *FAITHFUL)
    assert "old/lamp shown first" in ran.out
    assert "A being new/lamp, B old/lamp" in ran.out


def test_one_order_that_cannot_be_read_leaves_the_pair_unsettled(cli: Cli, stories: Path) -> None:
    script = SCRIPT.replace("Overall: B", "Overall: undecided")
    (stories / "judge.toml").write_text(script + '"judge:conclude" = "I cannot say."\n', encoding="utf-8")
    ran = cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL)
    lines = [line for line in ran.out.splitlines() if line.startswith("overall")]
    assert any(line.endswith("undecided: judged in one order only") for line in lines)
    found = cli("evaluate", "pairwise", "cape.md", "harbour.md", *FAITHFUL, "--json").json["verdicts"]
    assert {"question": "overall", "better": None} in found
