"""A project that the first version wrote: it opens, says in one sentence that it is older, and goes on."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabula import Options, Project, dry_run_in, write_in
from fabula.base.errors import JournalVersionError
from fabula.engine.journal import FORMAT, Journal
from fabula.models.base import NOTHING_USED, Message, Reply, Request
from fabula.project.folder import STORY
from fabula.story import Story

OLD = Path(__file__).parent / "projects" / "first-version"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.open(Path(shutil.copytree(OLD, tmp_path / "old")))


def test_everything_that_was_recorded_can_be_read(project: Project) -> None:
    with project.journal as journal:
        assert len(journal.calls()) == journal.count() > 20
        assert [version.source for version in journal.versions("exposition")] == ["made", "edited"]
        assert sum(journal.spent().values(), NOTHING_USED).reply > 3000
        assert not project.changes(journal)
    assert Story.parse(project.story_file.read_text(encoding="utf-8")).words == 245


async def test_going_on_would_pay_again_and_is_refused_in_one_sentence(project: Project) -> None:
    with pytest.raises(JournalVersionError, match=r"An older fabula wrote .*`fabula text pin --all`"):
        await write_in(project, project.settings, Options())
    with pytest.raises(JournalVersionError):
        await dry_run_in(project, project.settings, Options())


def test_with_its_texts_pinned_it_goes_on(project: Project) -> None:
    before = project.story_file.read_text(encoding="utf-8")
    with project.journal as journal:
        journal.pin_all(sorted(set(journal.places()) - {STORY}))
    expected, changes = asyncio.run(dry_run_in(project, project.settings, Options()))
    assert (expected.planned, changes) == ([], [])
    outcome = asyncio.run(write_in(project, project.settings, Options()))
    assert outcome.story.words == 245
    assert project.story_file.read_text(encoding="utf-8") == before


def test_a_new_journal_has_todays_format(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        assert not journal.older
    with closing(sqlite3.connect(tmp_path / "journal.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (FORMAT,)


def test_an_older_journal_without_calls_is_todays(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    with Journal(file):
        pass
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 1")
    with Journal(file) as journal:
        request = Request((Message("user", "Say it."),), path="verse/say", role="poet")
        journal.record("key", request, 0, Reply("It."))
    with Journal(file) as journal:
        assert not journal.older
