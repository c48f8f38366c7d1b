"""Experiments, studies and a judge beside people, from Python: the same numbers as on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fabula
from fabula.base.errors import UnknownNameError, UsageError
from fabula.measure.ratings import Rating, write_ratings
from raters import study_here

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """\
name = "Two <b>lamps</b>"
briefs = ["lamp.md"]
systems = ["end-to-end"]
models = [{ model = "scripted:script.toml", label = "small" }]
"""


@pytest.fixture
def exp(tmp_path: Path) -> Path:
    """An experiment of one run."""
    (tmp_path / "lamp.md").write_text("# Lamp\n\nWrite of a lamp.\n", encoding="utf-8")
    (tmp_path / "script.toml").write_text('[replies]\nwriter = "The lamp was dark. Mara lit it."\n', encoding="utf-8")
    (tmp_path / "exp.toml").write_text(EXPERIMENT, encoding="utf-8")
    return tmp_path / "exp.toml"


def test_an_experiment_is_done_and_nothing_is_asked_twice(exp: Path) -> None:
    heard: list[object] = []
    done = fabula.experiment(exp, also=["eval"], on_event=heard.append)
    assert done.complete
    assert not done.stopped
    assert any(isinstance(event, fabula.events.CallFinished) for event in heard)
    assert done.files["html"].is_file()
    assert done.files["eval"].is_dir()
    assert {line["contender"] for line in done.lines()} >= {"end-to-end-improved-small"}
    assert json.dumps(done.to_dict(), allow_nan=False)
    assert "<table>" in done._repr_html_()
    again = fabula.experiment(exp)
    assert sum(again.bill.calls.values()) == 0
    assert again.lines() == done.lines()


def test_a_budget_that_ends_an_experiment_is_said_and_the_report_is_written(exp: Path) -> None:
    done = fabula.experiment(exp, budget_tokens=1)
    assert not done.complete
    assert "budget" in done.stopped
    assert done.files["html"].is_file()


def test_what_experiments_found_is_read_by_name(exp: Path) -> None:
    done = fabula.experiment(exp)
    home = fabula.Home.open(exp.parent)
    assert [one.experiment for one in home.experiments().experiments] == ["exp"]
    found = home.experiment("exp")
    assert (found.title, found.complete, found.stopped) == ("Two <b>lamps</b>", True, "")
    assert [run["run"] for run in found.runs] == [run.trial.id for run in done.results.runs]
    (lines,) = found.reports.values()
    assert lines
    assert not [line for line in lines if line["of"] == found.runs[0]["run"]]
    with pytest.raises(UnknownNameError, match="exp"):
        home.experiment("expp")


def test_what_a_study_found_is_read_by_name(tmp_path: Path) -> None:
    study = study_here(tmp_path / "lamps")
    home = fabula.Home.open(tmp_path)
    assert [one.study for one in home.studies().studies] == ["lamps"]
    with pytest.raises(UsageError, match="There are no ratings"):
        home.study("lamps")
    items = [entry.id for entry in study.entries.values() if entry.prompt == next(iter(study.entries.values())).prompt]
    systems = tuple(study.entries[one].system for one in items[:2])
    rating = Rating(
        rater="1", kind="person", items=tuple(items[:2]), systems=systems, prompt="p", question="plot", answer=items[0]
    )
    study.ratings_file.write_text(write_ratings([rating]), encoding="utf-8")
    found = home.study("lamps")
    assert (found.kind, found.items, found.ratings) == ("pairwise", len(study.entries), 1)
    assert all(row["unscored"] or row["value"] is not None for row in found.rows)
    with pytest.raises(UnknownNameError, match="lamps"):
        home.study("lamp")


def test_a_judge_is_put_beside_people(tmp_path: Path) -> None:
    def text(kind: str, sign: int) -> str:
        return "".join(
            json.dumps(
                {"rater": kind, "kind": kind, "items": [f"{n}"], "prompt": f"p{n}", "question": "plot", "answer": a}
            )
            + "\n"
            for n, a in enumerate(sign * one for one in range(10))
        )

    home = fabula.Home.open(tmp_path)
    alike = home.meta(text("model", 1), text("person", 1))
    turned = home.meta(text("model", -1), text("person", 1))
    (one,) = [row for row in alike.rows if (row["of"], row["what"]) == ("judge", "plot: stories: spearman")]
    (other,) = [row for row in turned.rows if (row["of"], row["what"]) == ("judge", "plot: stories: spearman")]
    assert (one["value"], other["value"]) == pytest.approx((1, -1))
    assert list(alike.questions) == ["plot"]
    with pytest.raises(UsageError, match="the verdicts, line 1"):
        home.meta("<script>", text("person", 1))
    with pytest.raises(UnknownNameError, match="plot"):
        home.meta(text("model", 1), text("person", 1), "plott")
