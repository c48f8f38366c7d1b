"""`fabula evaluate pairwise`: systems of stories, ratings that are there, and the files it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

FAITHFUL = ("--preset", "faithful", "--model", "scripted:judge.toml")
OVERALL = ("--set", "questions=overall")


@pytest.fixture
def entries(here: Path) -> Path:
    """Two systems with two prompts, and a judge that says A but likes the cape's second story in either order."""
    for system, text in (("cape", "Mara lit the lamp."), ("harbour", "There was a lamp, and it was lit.")):
        (here / "entries" / system).mkdir(parents=True)
        for prompt in ("one", "two"):
            (here / "entries" / system / f"{prompt}.md").write_text(f"{text} {prompt}\n", encoding="utf-8")
    (here / "judge.toml").write_text(
        '[replies]\njudge = "It moves.\\n\\nOverall: A"\n"compare/harbour/two/cape/two/1/compare" = "Overall: B"\n',
        encoding="utf-8",
    )
    return here / "entries"


@pytest.mark.usefixtures("entries")
def test_prints_strengths_the_judge_the_baselines_and_where_the_report_is(cli: Cli) -> None:
    ran = cli("evaluate", "pairwise", "entries", *FAITHFUL, *OVERALL)
    lines = ran.out.splitlines()
    assert lines[0].split() == ["strength", "overall"]
    assert [line.split()[0] for line in lines[1:3]] == ["cape", "harbour"]
    assert lines[4].split() == ["wins", "overall"]
    assert lines[5].split() == ["cape", "0.75", "(n", "2)"]
    for word in ("first position wins", "order consistency", "longer wins", "type-token ratio", "random"):
        assert word in ran.out
    assert "about 4 calls to make" in ran.err
    assert "evaluation/pairwise.html" in ran.err


def test_writes_a_page_a_picture_the_numbers_and_the_verdicts(cli: Cli, entries: Path) -> None:
    cli("evaluate", "pairwise", "entries", *FAITHFUL, *OVERALL, "--out", "found")
    folder = entries.parent / "found"
    assert {path.name for path in folder.iterdir()} == {
        ".fabula",
        "pairwise.html",
        "pairwise-overall.svg",
        "pairwise.csv",
        "pairwise.json",
        "ratings.jsonl",
    }
    ET.fromstring((folder / "pairwise-overall.svg").read_text(encoding="utf-8"))  # noqa: S314 - our own
    assert "It moves." in (folder / "pairwise.html").read_text(encoding="utf-8")


def test_ratings_are_ranked_without_asking_and_give_the_same(cli: Cli, entries: Path) -> None:
    asked = cli("evaluate", "pairwise", "entries", *FAITHFUL, *OVERALL, "--json").json
    (entries.parent / "judge.toml").unlink()
    options = ("--preset", "faithful", "--out", "again")
    again = cli("evaluate", "pairwise", "entries", "--ratings", "evaluation/ratings.jsonl", *options, "--json").json
    assert again["asked"] == 0
    assert again["reports"]["pairwise"]["rows"] == asked["reports"]["pairwise"]["rows"]
    assert (entries.parent / "again" / "ratings.html").exists()


def test_a_system_more_asks_only_for_its_own_pairs(cli: Cli, entries: Path) -> None:
    assert cli("evaluate", "pairwise", "entries", *FAITHFUL, *OVERALL, "--json").json["asked"] == 4
    (entries / "quay").mkdir()
    (entries / "quay" / "one.md").write_text("A quay.\n", encoding="utf-8")
    more = cli("evaluate", "pairwise", "entries", *FAITHFUL, *OVERALL, "--json").json
    assert (more["asked"], more["replayed"]) == (4, 4)


@pytest.mark.usefixtures("entries")
def test_files_without_systems_are_ranked_one_by_one(cli: Cli, entries: Path) -> None:
    for name in ("a", "b", "c"):
        (entries.parent / f"{name}.md").write_text(f"Story {name}.\n", encoding="utf-8")
    found = cli("evaluate", "pairwise", "a.md", "b.md", "c.md", *FAITHFUL, *OVERALL, "--json").json
    assert found["reports"]["pairwise"]["details"]["names"] == ["a", "b", "c"]
    assert found["asked"] == 6


def test_what_cannot_be_ranked_is_an_error_that_says_what_to_do(cli: Cli, entries: Path) -> None:
    (entries.parent / "bad.jsonl").write_text('{"rater": 3}\n', encoding="utf-8")
    (entries.parent / "empty.jsonl").write_text("\n", encoding="utf-8")
    for words, message in (
        (("--ratings", "bad.jsonl"), "bad.jsonl, line 1"),
        (("--ratings", "empty.jsonl"), "None of the 0 ratings"),
        (("--ratings", "none.jsonl"), "none.jsonl"),
        (("entries", "--set", "tie=half"), "pairwise setting"),
    ):
        ran = cli("evaluate", "pairwise", *words)
        assert ran.code == 2
        assert message in ran.err
    assert not (entries.parent / "evaluation").exists()


def test_one_system_only_is_named(cli: Cli, entries: Path) -> None:
    for path in (entries / "harbour").iterdir():
        path.unlink()
    (entries / "harbour").rmdir()
    ran = cli("evaluate", "pairwise", "entries", *FAITHFUL)
    assert ran.code == 2, ran.err
    assert "All 2 stories are by one system, cape. Give stories by another system as well." in ran.err


def test_the_stories_of_one_system_are_ranked_as_stories(cli: Cli, entries: Path) -> None:
    for name in ("first", "second", "third"):
        copy_sample(entries.parent / "drafts" / name)
    drafts = [str(entries.parent / "drafts" / name) for name in ("first", "second", "third")]
    refused = cli("evaluate", "pairwise", *drafts, *FAITHFUL, *OVERALL)
    assert "All 3 stories are by one system" in refused.err
    ran = cli("evaluate", "pairwise", *drafts, *FAITHFUL, *OVERALL, "--as-stories", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["reports"]["pairwise"]["details"]["names"] == ["first", "second", "third"]
