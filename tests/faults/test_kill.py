"""A writing process is killed at every call and started again: nothing is lost, and nothing is paid for twice.

The process is real and so is SIGKILL: the scripted model in it kills its own process at call k, so that no sleep and no
guess is needed. It writes the path of every call it answers to a file, which outlives it.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import forked
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import systems
from killed import CHILD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOM = systems()["agents-room"]
CALLS = 9
FILES = ["01-exposition.md", "02-rising-action.md", "03-climax.md", "04-falling-action.md", "05-resolution.md"]


def write(folder: Path, log: Path, moment: str = "never", dies_at: int = 0) -> int:
    """Write in a process of its own; gives its exit status."""
    script = ROOM.folder / "script.toml"
    return forked.run([str(folder), str(script), str(log), moment, str(dies_at)], CHILD).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The story of an unbroken run, and the calls it took."""
    folder = tmp_path_factory.mktemp("unbroken")
    ProjectFolder.create(folder / "tale", Brief("Write about Mara."), {"preset": "faithful"})
    assert write(folder / "tale", folder / "log") == 0
    asked = (folder / "log").read_text().split()
    assert len(asked) == CALLS
    return (folder / "tale" / "story.md").read_text(), asked


def check(folder: Path, log: Path, whole: tuple[str, list[str]]) -> None:
    story, asked = whole
    assert (folder / "story.md").read_text() == story
    assert log.read_text().split() == asked, "no call is made twice"
    assert sorted(path.name for path in (folder / "story").iterdir()) == FILES, "no half-written file is left"
    with closing(sqlite3.connect(folder / ".fabula" / "journal.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*), count(DISTINCT path) FROM call").fetchone() == (CALLS, CALLS)
    project = ProjectFolder.open(folder)
    with project.journal as journal:
        ended = [run["error"] for run in journal.runs()]
        assert ended[:-1] == [None] * (len(ended) - 1)
        assert ended[-1] == ""
        assert project.changes(journal) == []


# At every call; and at some between the record of a call, its file, and the next call.
@pytest.mark.parametrize(
    ("moment", "dies_at"),
    [*(("asked", k) for k in range(1, CALLS + 1)), *((m, k) for m in ("CallFinished", "Kept") for k in (1, 5, CALLS))],
)
def test_killed_once_and_started_again(tmp_path: Path, whole: tuple[str, list[str]], moment: str, dies_at: int) -> None:
    folder, log = tmp_path / "tale", tmp_path / "log"
    ProjectFolder.create(folder, Brief("Write about Mara."), {"preset": "faithful"})
    assert write(folder, log, moment, dies_at) == -signal.SIGKILL
    assert write(folder, log) == 0
    check(folder, log, whole)


def whole_kept(folder: Path) -> Path:
    """A project that is written and whose process was killed at its end, so that all is in the journal's log still."""
    ProjectFolder.create(folder / "tale", Brief("Write about Mara."), {"preset": "faithful"})
    assert write(folder / "tale", folder / "log", "Kept", CALLS) == -signal.SIGKILL
    assert write(folder / "tale", folder / "log", "RunFinished", 0) == -signal.SIGKILL
    return folder / "tale"


@pytest.mark.parametrize("left", [0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_journal_whose_end_a_power_cut_took_forges_no_edit_and_asks_only_what_is_lost(
    tmp_path: Path, whole: tuple[str, list[str]], left: float
) -> None:
    folder, log = whole_kept(tmp_path), tmp_path / "again"
    wal = folder / ".fabula" / "journal.db-wal"
    os.truncate(wal, int(wal.stat().st_size * left))
    with ProjectFolder.open(folder).journal as journal:
        lost = CALLS - len(journal.calls)
        assert journal.decisions.find() == []
    log.touch()
    assert write(folder, log) == 0
    assert log.read_text().split() == whole[1][CALLS - lost :]
    assert (folder / "story.md").read_text() == whole[0]
    with ProjectFolder.open(folder).journal as journal:
        assert journal.decisions.find() == []


@pytest.mark.parametrize("how", [lambda wal: wal.unlink(), lambda wal: os.truncate(wal, 0)])
def test_a_journal_of_which_nothing_is_left_is_said_before_anything_is_asked(
    tmp_path: Path, how: Callable[[Path], None]
) -> None:
    folder, log = whole_kept(tmp_path), tmp_path / "again"
    how(folder / ".fabula" / "journal.db-wal")
    before = {file: file.read_bytes() for file in folder.rglob("*.md")}
    assert write(folder, log) == 1
    assert not log.exists()
    assert {file: file.read_bytes() for file in folder.rglob("*.md")} == before
    with ProjectFolder.open(folder).journal as journal:
        assert journal.decisions.find() == []


def test_a_project_that_is_renamed_while_it_is_written_stops_and_forges_no_edit(
    tmp_path: Path, whole: tuple[str, list[str]]
) -> None:
    folder, log, renamed = tmp_path / "tale", tmp_path / "log", tmp_path / "renamed"
    ProjectFolder.create(folder, Brief("Write about Mara."), {"preset": "faithful"})
    assert write(folder, log, "rename", 4) == 1
    assert not folder.exists(), "nothing is written under the old name"
    assert write(renamed, log) == 0
    check(renamed, log, whole)
    with ProjectFolder.open(renamed).journal as journal:
        assert journal.decisions.find() == []


def test_killed_again_and_again_at_the_next_call(tmp_path: Path, whole: tuple[str, list[str]]) -> None:
    folder, log = tmp_path / "tale", tmp_path / "log"
    ProjectFolder.create(folder, Brief("Write about Mara."), {"preset": "faithful"})
    for _ in range(CALLS - 1):
        assert write(folder, log, "asked", 2) == -signal.SIGKILL
    assert write(folder, log) == 0
    check(folder, log, whole)


def test_killed_in_the_middle_of_a_call_asks_that_call_alone_again(
    tmp_path: Path, whole: tuple[str, list[str]]
) -> None:
    folder, log = tmp_path / "tale", tmp_path / "log"
    ProjectFolder.create(folder, Brief("Write about Mara."), {"preset": "faithful"})
    assert write(folder, log, "TextArrived", 1) == -signal.SIGKILL  # the reply had begun, and was not logged
    assert write(folder, log) == 0
    check(folder, log, whole)
