"""Cells of an experiment: three small files, opened as a project, continued after any kill, known by an index."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.experiment.dry import forecast
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.index import INDEX, CellIndex
from fabula.app.experiment.tables import as_data
from fabula.app.experiment.working import How, changed_since, is_reported, mark_reported, run_experiment
from fabula.base.errors import JournalError, UsageError
from fabula.engine.events import CallFinished
from fabula.engine.journal import Journal, make_small
from fabula.engine.journal import store as store_module
from fabula.project.folder import ProjectFolder
from fabula.project.packed import PackedRecord, packed_story
from small_experiment import BASE as SMALL
from small_experiment import STORY, small_experiment

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.app.experiment.grid import Experiment
    from fabula.app.experiment.results import Results
    from fabula.engine.events import Event

BASE = f"{SMALL}workers = 1\n"
FILES = {".fabula/journal.db", "brief.md", "run.json"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two briefs and a script."""
    return small_experiment(tmp_path)


def read(home: Path, text: str = BASE) -> Experiment:
    (home / "exp.toml").write_text(text, encoding="utf-8")
    return read_experiment(home / "exp.toml", {})


async def do(home: Path, text: str = BASE, **how: Any) -> Results:  # noqa: ANN401 - fields of `How`
    return await run_experiment(read(home, text), How(now=lambda: "now", **how))


async def asked(home: Path, **how: Any) -> tuple[Results, list[str]]:  # noqa: ANN401 - fields of `How`
    """The results, and the runs in which a model was asked for them."""
    heard: list[tuple[str, Event]] = []
    results = await do(home, hear=lambda *found: heard.append(found), **how)
    return results, [run for run, event in heard if isinstance(event, CallFinished) and not event.replayed]


def files_in(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


# on the disk ----------------------------------------------------------------------------------------------------------


async def test_a_cell_is_three_small_files_and_opens_as_the_project_it_is(home: Path) -> None:
    run = (await do(home)).runs[0]
    assert files_in(run.folder) == FILES
    assert sum((run.folder / file).stat().st_size for file in FILES) <= 30_000
    assert PackedRecord.is_in(run.folder)
    project = ProjectFolder.open(run.folder)
    assert (project.settings, project.brief) == (run.trial.settings, run.trial.brief)
    assert STORY in project.story_file.read_text(encoding="utf-8")
    assert (run.folder / "story" / "01-story.md").read_text(encoding="utf-8") == f"{STORY}\n"
    with project.recorded() as journal:
        assert project.changes(journal) == []
    again, others = await asked(home)
    assert (others, again.runs[0].words) == ([], run.words)


async def test_a_cell_that_cannot_be_written_to_is_read_as_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = (await do(home)).runs[0]
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert ProjectFolder.open(run.folder).brief == run.trial.brief
    assert files_in(run.folder) == FILES


async def test_a_cell_that_is_opened_while_it_is_written_gets_the_rest_of_its_files(home: Path) -> None:
    opened: list[ProjectFolder] = []

    def look(run: str, event: Event) -> None:
        if isinstance(event, CallFinished) and run.startswith("clock") and not opened:
            opened.append(ProjectFolder.open(home / "exp" / "runs" / run))
            assert not opened[0].story_file.exists()

    results = await do(home, hear=look)
    assert STORY in opened[0].story_file.read_text(encoding="utf-8")
    assert results.runs[0].words == results.runs[1].words


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"settings": {}, "given": {"../out.md": "x"}}', "'../out.md' is not the name of a file in"),
        ('{"settings": {}, "given": {"plan/plan.yaml": 3}}', "run.json lacks settings or texts."),
        ('{"settings": {"systm": "x"}}', "systm"),
        ('{"state": "done"}', "run.json is no record of a run."),
        ("[" * 100_000, "run.json is no record of a run. The experiment writes the file again when it continues."),
    ],
)
async def test_a_record_of_others_writes_nothing_but_its_own_files(home: Path, record: str, message: str) -> None:
    run = (await do(home)).runs[0]
    (run.folder / "run.json").write_text(record, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ProjectFolder.open(run.folder)
    assert message in str(caught.value)
    assert files_in(run.folder) == FILES


async def test_a_run_that_was_killed_before_its_record_goes_on_as_it_lies(home: Path) -> None:
    first = await do(home)
    for run in first.runs:
        ProjectFolder.open(run.folder)
    (home / "exp" / INDEX).unlink()
    (first.runs[0].folder / "run.json").unlink()  # a kill before its record
    again, others = await asked(home)
    assert (others, as_data(again)) == ([], as_data(first))


# kills ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torn", ["nothing", "record", "journal", "brief", "folder"])
async def test_what_a_kill_or_a_power_cut_left_of_a_cell_is_gone_on_with(home: Path, torn: str) -> None:
    first = await do(home)
    folder = first.runs[0].folder
    (folder / "run.json").write_text("" if torn == "record" else '{"state": "unf', encoding="utf-8")
    if torn == "journal":  # its making was broken off
        (folder / ".fabula/journal.db").write_bytes((folder / ".fabula/journal.db").read_bytes()[:700])
    elif torn == "brief":
        (folder / "brief.md").write_text("", encoding="utf-8")
    elif torn == "folder":
        shutil.rmtree(folder)
    again, others = await asked(home)
    assert others == ([first.runs[0].trial.id] if torn in ("journal", "folder") else [])
    assert as_data(again) == as_data(first)
    assert files_in(folder) == FILES


async def test_a_damaged_journal_fails_its_run_and_no_other(home: Path) -> None:
    first = await do(home)
    file = first.runs[0].folder / ".fabula/journal.db"
    file.write_bytes(file.read_bytes()[:512] + b"x" * 40_000)
    again, others = await asked(home)
    assert (others, [run.outcome.state for run in again.runs]) == ([], ["failed", "done"])
    assert "is damaged" in again.runs[0].outcome.error


async def test_a_reply_is_on_the_disk_before_it_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    real = store_module._sync

    def synced(log: Path, *, first: bool) -> None:
        with Journal(log.with_name("journal.db")) as journal:
            happened.append(f"synced {len(journal.calls)}")
        real(log, first=first)

    monkeypatch.setattr(store_module, "_sync", synced)
    await do(home, hear=lambda run, event: happened.append("used") if run and isinstance(event, CallFinished) else None)
    assert happened == ["synced 1", "used"] * 2


async def test_a_full_disk_stops_the_experiment_and_fails_no_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(log: Path, *, first: bool) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_sync", full)
        results = await do(home)
    assert results.stopped.endswith("so the same command continues from there.")
    assert "No space left on device" in results.stopped
    assert [run.outcome.state for run in results.runs] == ["unfinished", "unfinished"]
    again, others = await asked(home)
    assert len(again.of_state("done")) == 2
    assert others == [again.runs[1].trial.id], "the first reply was recorded, and is not asked again"


def test_a_small_journal_is_one_of_today_and_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    make_small(file)
    size = file.stat().st_size
    with Journal(file, small=True) as journal:
        journal.artefacts.keep("story", "x" * 5000, "made")
    make_small(file)
    assert file.stat().st_size > size
    with Journal(file) as journal:
        assert journal.artefacts.newest("story") == "x" * 5000


async def test_a_journal_that_is_taken_away_is_noticed_before_its_reply_is_used(home: Path) -> None:
    make_small(home / "journal.db")
    with Journal(home / "journal.db", small=True) as journal:
        journal.start_run("end-to-end", {})
        (home / "journal.db").rename(home / "other.db")
        with pytest.raises(JournalError, match="was moved, replaced or deleted"):
            await journal.calls._store.synced()


# the index ------------------------------------------------------------------------------------------------------------


async def test_no_journal_is_opened_to_know_what_the_index_knows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await do(home)
    index = CellIndex(first.experiment.folder)
    monkeypatch.setattr("fabula.app.experiment.index.read_cell", None)
    assert [index.of(run.trial.id) for run in first.runs] == [run.record for run in first.runs]
    assert index.of("lamp/other-1").outcome.state == "unfinished"


@pytest.mark.parametrize("lost", ["all", "end", "line"])
async def test_what_the_index_lost_is_read_from_the_runs(home: Path, lost: str) -> None:
    first = await do(home)
    file = home / "exp" / INDEX
    text = file.read_text(encoding="utf-8")
    left = {"all": "", "end": text[:-20], "line": "[]\n" + "".join(text.splitlines(keepends=True)[1:])}[lost]
    file.write_text(left, encoding="utf-8")
    again, others = await asked(home)
    assert (others, as_data(again)) == ([], as_data(first))
    assert len(CellIndex(first.experiment.folder)._lines) == 2


async def test_a_story_that_its_reader_changed_is_counted_as_it_stands(home: Path) -> None:
    run = (await do(home)).runs[0]
    file = ProjectFolder.open(run.folder).story_file
    file.write_text(file.read_text(encoding="utf-8").replace("Mara lit it", "Mara lit it at last"), encoding="utf-8")
    assert (await do(home)).runs[0].words == run.words + 2


async def test_what_a_changed_file_keeps_and_asks_is_said(home: Path) -> None:
    first = await do(home, BASE + "seeds = [1, 2]\n")
    assert changed_since(first.experiment, CellIndex(first.experiment.folder)) == ""
    other = read(home, BASE + "seeds = [2, 3]\n")
    assert changed_since(other, CellIndex(other.folder)) == (
        "exp.toml has changed since the last session: 2 of its 4 runs exist and are kept, 2 are new; 2 that it "
        "no longer names stay in runs/, but are not in any report."
    )
    one = await do(home, BASE.replace('"briefs"', '"briefs/clock.md"') + 'out = "one"\n')
    assert changed_since(read(home, BASE + 'out = "one"\n'), CellIndex(one.experiment.folder)).endswith(
        ": 1 of its 2 runs exist and are kept, 1 is new."
    )


async def test_a_report_is_current_until_something_that_it_rests_on_changes(home: Path) -> None:
    results = await do(home)
    assert not is_reported(results.experiment)
    mark_reported(results)
    assert is_reported(results.experiment)
    (home / "briefs" / "boat.md").write_text("Write of a boat.", encoding="utf-8")
    assert not is_reported(read(home))
    (home / "briefs" / "boat.md").unlink()
    assert is_reported(read(home))
    ProjectFolder.open(results.runs[0].folder)
    assert not is_reported(read(home))


async def test_of_very_many_briefs_some_are_walked_and_the_others_count_as_these_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        (home / "briefs" / f"b{number}.md").write_text(f"Write of lamp {number}.", encoding="utf-8")
    whole = await forecast(read(home, BASE + "seeds = [1, 2]\n"), How())
    monkeypatch.setattr("fabula.app.experiment.dry._MOST_WALKED", 4)
    drawn = await forecast(read(home, BASE + "seeds = [1, 2]\n"), How())
    assert (whole.drawn, drawn.drawn) == (0, 4)
    (all_of_them,), (some,) = whole.contenders, drawn.contenders
    assert (some.runs, some.calls) == (all_of_them.runs, all_of_them.calls) == (24, 24)
    assert some.prompt == pytest.approx(all_of_them.prompt, rel=0.05)
    assert (drawn.measures[0].runs, drawn.measures[0].calls) == (24, 0)


async def test_a_story_is_read_from_a_cell_without_its_files(home: Path) -> None:
    run = (await do(home)).runs[0]
    assert STORY in (packed_story(run.folder) or "")
    (run.folder / ".fabula/journal.db").unlink()
    assert packed_story(run.folder) is None
