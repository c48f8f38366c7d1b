"""An evaluator run in a folder: what is kept there, what is replayed, and what stays of others."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING

import pytest

from fabula.app.evaluating import RATINGS, EvaluationTask, dry_run_evaluation, evaluate_in, journal_in
from fabula.app.item_files import item_of
from fabula.app.writing import Options
from fabula.base.errors import BudgetError, JournalMissError, ModelError, ProjectError
from fabula.engine.events import CallFinished, RunFinished, RunStarted
from fabula.engine.journal import Journal
from fabula.evaluators import evaluators
from fabula.measure.ratings import Rating, read_ratings, write_line
from fabula.project.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.events import Event

PAIRWISE, SURFACE = evaluators()["pairwise"], evaluators()["surface"]
SCRIPT = PAIRWISE.folder / "script.toml"
ITEMS = tuple(item_of(item, "script") for item in tomllib.loads(SCRIPT.read_text(encoding="utf-8"))["items"])
SETTINGS = Settings(model=f"scripted:{SCRIPT}")


def task(folder: Path | None) -> EvaluationTask:
    return EvaluationTask(PAIRWISE, ITEMS, PAIRWISE.config("faithful"), folder)


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_report_ratings_and_calls_are_kept_and_a_second_run_asks_nobody(tmp_path: Path) -> None:
    heard: list[Event] = []
    done = await evaluate_in(task(tmp_path), SETTINGS, Options(listeners=[heard.append]))
    assert done.budget.spent_tokens > 0
    assert isinstance(heard[0], RunStarted)
    assert heard[-1] == RunFinished("pairwise", "")
    data = json.loads((tmp_path / "pairwise.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(done.report.as_data()))
    assert read_ratings(tmp_path / RATINGS) == done.report.ratings
    again = await evaluate_in(task(tmp_path), SETTINGS, Options(listeners=[heard.append]))
    assert again.report == done.report
    assert again.budget.spent_tokens == 0
    with Journal(tmp_path / ".fabula" / "journal.db") as journal:
        assert [run["system"] for run in journal.runs()] == ["pairwise", "pairwise"]


async def test_the_second_of_two_processes_in_a_folder_is_told_and_asks_nobody(tmp_path: Path) -> None:
    heard: list[Event] = []
    with journal_in(tmp_path):
        with pytest.raises(
            ProjectError, match=rf"The folder .* is in use by process {os.getpid()}\. Wait for it to finish,"
        ):
            await evaluate_in(task(tmp_path), SETTINGS, Options(listeners=[heard.append]))
        assert (await dry_run_evaluation(task(tmp_path), SETTINGS, Options())).planned, "an estimate disturbs nobody"
    assert heard == []
    assert (await evaluate_in(task(tmp_path), SETTINGS, Options())).budget.spent_tokens > 0


async def test_ratings_stand_in_the_same_order_when_they_are_given_again(tmp_path: Path) -> None:
    other = Rating(rater="Ines", kind="person", items=("a",), question="plot", answer=3.0)
    await evaluate_in(task(tmp_path), SETTINGS, Options())
    with (tmp_path / RATINGS).open("a", encoding="utf-8") as file:
        file.write(write_line(other) + "\n")
    before = (tmp_path / RATINGS).read_bytes()
    await evaluate_in(task(tmp_path), SETTINGS, Options())
    assert (tmp_path / RATINGS).read_bytes() == before


async def test_ratings_in_the_folder_stay_and_a_verdict_given_again_replaces_the_old(tmp_path: Path) -> None:
    other = Rating(rater="Ines", kind="person", items=("a",), question="plot", answer=3.0)
    old = Rating(rater="m", kind="model", items=("gone", "too"), question="plot", answer="gone", evaluator="pairwise")
    (tmp_path / RATINGS).write_text(write_line(other) + "\n" + write_line(old) + "\n", encoding="utf-8")
    done = await evaluate_in(task(tmp_path), SETTINGS, Options())
    assert read_ratings(tmp_path / RATINGS) == (other, old, *done.report.ratings)
    again = await evaluate_in(task(tmp_path), SETTINGS, Options())
    assert read_ratings(tmp_path / RATINGS) == (other, old, *again.report.ratings)


async def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = await evaluate_in(EvaluationTask(SURFACE, ITEMS, SURFACE.config()), Settings(), Options())
    assert done.report.rows
    assert files(tmp_path) == []


async def test_a_dry_run_counts_what_is_asked_and_what_is_there(tmp_path: Path) -> None:
    first = await dry_run_evaluation(task(tmp_path), SETTINGS, Options())
    assert files(tmp_path) == []
    assert first.planned
    assert first.replayed == 0
    await evaluate_in(task(tmp_path), SETTINGS, Options())
    again = await dry_run_evaluation(task(tmp_path), SETTINGS, Options())
    assert not again.planned
    assert again.replayed > 0


async def test_frozen_asks_nobody(tmp_path: Path) -> None:
    with pytest.raises(JournalMissError):
        await evaluate_in(task(tmp_path), SETTINGS, Options(frozen=True))
    done = await evaluate_in(task(tmp_path), SETTINGS, Options())
    assert (await evaluate_in(task(tmp_path), SETTINGS, Options(frozen=True))).report == done.report


async def test_a_judge_that_does_not_answer_ends_the_run_and_leaves_no_report(tmp_path: Path) -> None:
    (tmp_path / "mute.toml").write_text('[replies]\nnobody = "x"\n', encoding="utf-8")
    folder = tmp_path / "out"
    with pytest.raises(ModelError, match="The script has no reply for the role"):
        await evaluate_in(task(folder), Settings(model=f"scripted:{tmp_path / 'mute.toml'}"), Options())
    assert not (folder / "pairwise.json").exists()
    with Journal(folder / ".fabula" / "journal.db") as journal:
        assert "no reply for the role" in journal.runs()[-1]["error"]


async def test_a_budget_stops_it_and_a_higher_one_goes_on_without_asking_again(tmp_path: Path) -> None:
    heard: list[Event] = []
    with pytest.raises(BudgetError):
        await evaluate_in(task(tmp_path), SETTINGS, Options(budget_tokens=1500, listeners=[heard.append]))
    assert [e for e in heard if isinstance(e, CallFinished)], "what the budget allows is asked"
    assert not (tmp_path / "pairwise.json").exists()
    await evaluate_in(task(tmp_path), SETTINGS, Options(listeners=[heard.append]))
    asked = [e.path for e in heard if isinstance(e, CallFinished) and not e.replayed]
    assert len(asked) == len(set(asked))


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ProjectError, match=r"Cannot make the folder .*file.*Choose another one"):
        await evaluate_in(task(tmp_path / "file"), SETTINGS, Options())
