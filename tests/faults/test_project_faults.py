"""What can befall a project folder: damage, full disks, other processes, other programs, and the author's own hands."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.writing import Options, dry_run_in, write_in
from fabula.base.errors import JournalDamagedError, JournalError, JournalVersionError, ProjectError, UsageError
from fabula.cli.main import main
from fabula.engine.events import CallFinished, Kept
from fabula.engine.journal import FORMAT, CallFilter, Journal
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabula.engine.events import Event
    from fabula.story import Story

SCRIPT = f"scripted:{systems()['agents-room'].folder / 'script.toml'}"
ONE_SENTENCE_OR_TWO = re.compile(r"[^\n]{20,400}")


@pytest.fixture
def home(tmp_path: Path) -> ProjectFolder:
    return ProjectFolder.create(tmp_path / "tale", Brief("Write about Mara."), {"model": SCRIPT, "preset": "faithful"})


async def write(home: ProjectFolder, *listeners: Callable[[Event], None]) -> tuple[Story, list[str]]:
    """The story, and the paths of the calls that were made for it."""
    heard: list[Event] = []
    story = (await write_in(home, home.settings, Options(listeners=[heard.append, *listeners]))).story
    return story, [event.path for event in heard if isinstance(event, CallFinished) and not event.replayed]


def texts(home: ProjectFolder) -> dict[str, str]:
    """Every file of the author's and ours, but the journal's."""
    found = [path for path in home.folder.rglob("*") if path.is_file() and ".fabula" not in path.parts]
    return {str(path.relative_to(home.folder)): path.read_text(encoding="utf-8") for path in found}


def journal_file(home: ProjectFolder) -> Path:
    return home.folder / ".fabula" / "journal.db"


# the journal ----------------------------------------------------------------------------------------------------------


def garbage(file: Path) -> None:
    file.write_bytes(b"This is not a database at all. " * 400)


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size * 2 // 3)


def scribbled(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    file.write_bytes(data)


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE songs (name TEXT)")
        db.commit()


@pytest.mark.parametrize(
    ("damage", "kind", "expected"),
    [
        (garbage, JournalDamagedError, r"is damaged .*Move it away: your texts stay in plan/ and story/"),
        (truncated, JournalDamagedError, r"is damaged .*Move it away"),
        (scribbled, JournalDamagedError, r"is damaged .*Move it away"),
        (newer, JournalVersionError, r"A newer fabula wrote .*Upgrade fabula\."),
        (foreign, JournalDamagedError, r"is a database, but not a fabula journal\. Move it away\."),
    ],
)
async def test_a_journal_that_cannot_be_used_is_named_and_nothing_is_touched(
    home: ProjectFolder, damage: Callable[[Path], None], kind: type[Exception], expected: str
) -> None:
    await write(home)
    damage(journal_file(home))
    before, journal = texts(home), journal_file(home).read_bytes()
    for work in (write_in, dry_run_in):
        with pytest.raises(kind, match=expected) as caught:
            await work(home, home.settings, Options())
        assert ONE_SENTENCE_OR_TWO.fullmatch(str(caught.value))
    assert texts(home) == before
    assert journal_file(home).read_bytes() == journal


@pytest.mark.parametrize("gone", [lambda file: file.unlink(), lambda file: os.truncate(file, 0)])
async def test_without_its_journal_texts_stay_and_nothing_is_asked_or_taken_for_an_edit_before_a_word_is_said(
    home: ProjectFolder, gone: Callable[[Path], None]
) -> None:
    story, asked = await write(home)
    assert len(asked) == 9
    before = texts(home)
    gone(journal_file(home))
    message = (
        r"The journal of .*tale is missing, and with it the calls for plan/characters.md, plan/conflict.md, "
        r"plan/plot.md and "
        r"6 more\. If you continue, you pay for them again\. To keep the texts as they are, run `fabula text pin "
        r"--all` or restore"
    )
    for work in (write_in, dry_run_in):
        with pytest.raises(JournalError, match=message) as caught:
            await work(home, home.settings, Options())
        assert ONE_SENTENCE_OR_TWO.fullmatch(str(caught.value))
    with home.journal as journal:
        assert journal.decisions.find() == []
    assert texts(home) == before
    assert main(["text", "pin", "--all", "-C", str(home.folder)]) == 0
    assert await write(home) == (story, [])
    assert texts(home) == before
    with home.journal as journal:
        assert [decision.kind for decision in journal.decisions.find()] == ["pin-all", *["pin"] * 9]


async def test_texts_moved_away_after_their_journal_are_written_anew(home: ProjectFolder) -> None:
    story, asked = await write(home)
    journal_file(home).unlink()
    for name in ("plan", "story", "story.md"):
        (home.folder / name).rename(home.folder / f"old-{name}")
    assert await write(home) == (story, asked)
    with home.journal as journal:
        assert journal.decisions.find() == []


async def test_without_its_journal_an_edited_story_is_not_lost(home: ProjectFolder) -> None:
    await write(home)
    journal_file(home).unlink()
    edited = home.story_file.read_text(encoding="utf-8").replace("The boat came in", "No boat came in")
    home.story_file.write_text(edited, encoding="utf-8")
    assert main(["text", "pin", "--all", "-C", str(home.folder)]) == 0
    story, asked = await write(home)
    assert asked == []
    assert "No boat came in" in story.text
    with home.journal as journal:
        assert [(one.path, one.kind) for one in journal.decisions.find() if one.kind == "edit"] == [
            ("resolution", "edit")
        ]


# the disk -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, r"Cannot write .*\. The disk or quota is full\. Free some space and run the command again"),
        (
            errno.EACCES,
            r"Cannot write .*\. You do not have permission to write there\. Change the permissions or choose",
        ),
        (errno.EROFS, r"Cannot write .*\. The disk is read-only\. Make it writable or choose another folder"),
    ],
)
async def test_a_disk_that_takes_no_file_ends_the_run_and_nothing_is_lost(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch, code: int, expected: str
) -> None:
    full = False

    def synced(handle: int) -> None:
        record = {file.stat().st_ino for file in (home.folder / ".fabula").glob("journal.db*")}
        if full and os.fstat(handle).st_ino not in record:
            raise OSError(code, os.strerror(code))
        real(handle)

    def fill(event: Event) -> None:
        nonlocal full
        full = full or (isinstance(event, Kept) and event.path == "plot")

    real = os.fsync
    monkeypatch.setattr(os, "fsync", synced)
    with pytest.raises(ProjectError, match=expected) as caught:
        await write(home, fill)
    assert ONE_SENTENCE_OR_TWO.fullmatch(str(caught.value))
    with home.journal as journal:
        assert len(journal.calls) == 5  # the call whose file could not be written is paid for, and kept
        assert journal.runs()[0]["error"] == str(caught.value)
    full = False
    story, asked = await write(home)
    assert len(asked) == 4
    assert len(story.scenes) == 5


async def test_a_disk_too_full_for_the_journal_ends_the_run_and_nothing_is_lost(
    home: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Journal] = []

    class Watched(Journal):
        def open(self) -> None:
            super().open()
            opened.append(self)

    def fill(event: Event) -> None:
        database = opened[-1]._store._db
        if isinstance(event, Kept) and event.path == "setting" and database is not None:
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            database.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr("fabula.project.folder.Journal", Watched)
    with pytest.raises(JournalError, match=r"database or disk is full.*Check free space") as caught:
        await write(home, fill)
    assert ONE_SENTENCE_OR_TWO.fullmatch(str(caught.value))
    with home.journal as journal:
        kept = len(journal.calls)
        assert kept >= 3
        assert journal.runs()[0]["ended"] is None  # there was no room for it
    story, asked = await write(home)
    assert len(asked) == 9 - kept
    assert len(story.scenes) == 5


async def test_a_folder_without_permission_is_named(home: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(ProjectError, match=r"Cannot write to .*tale/\.fabula: Permission denied\. Check its perm"):
        await write(home)


async def test_a_journal_that_cannot_be_written_is_named(home: ProjectFolder) -> None:
    journal_file(home).mkdir(parents=True)
    with pytest.raises(JournalError, match=r"journal.db cannot be used .*Check free space and permissions"):
        await write(home)


# other processes ------------------------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from fabula.project.folder import ProjectFolder
with ProjectFolder.open(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(home: ProjectFolder) -> Iterator[subprocess.Popen[str]]:
    """A second process that holds the project."""
    command = [sys.executable, "-c", HOLDER, str(home.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


async def test_the_second_of_two_processes_is_told_who_holds_the_project(
    home: ProjectFolder, holder: subprocess.Popen[str]
) -> None:
    message = rf"The project .*tale is in use by process {holder.pid}\. Wait for it to finish, or stop it\."
    with pytest.raises(ProjectError, match=message):
        await write(home)
    assert (await dry_run_in(home, home.settings, Options()))[0].planned, "an estimate disturbs nobody"


@pytest.mark.parametrize("killed", [False, True])
async def test_a_project_is_free_when_its_holder_ends_in_whatever_way(
    home: ProjectFolder, holder: subprocess.Popen[str], *, killed: bool
) -> None:
    if killed:
        holder.kill()
        holder.wait()
    else:
        holder.communicate("\n")
    assert (await write(home))[0].words > 50


# the author's hands ---------------------------------------------------------------------------------------------------


async def test_an_edit_made_while_the_run_goes_is_not_overwritten(home: ProjectFolder) -> None:
    await write(home)
    mine = home.folder / "plan" / "setting.md"
    mine.write_text("A lighthouse on the moon.\n", encoding="utf-8")
    climax = home.folder / "story" / "03-climax.md"

    def edit(event: Event) -> None:
        if isinstance(event, Kept) and event.path == "exposition":
            climax.write_text("She waits.\n", encoding="utf-8")

    await write(home, edit)
    assert climax.read_text(encoding="utf-8") == "She waits.\n"
    _, changes = await dry_run_in(home, home.settings, Options())
    assert [(change.path, change.text) for change in changes] == [("climax", "She waits.")]
    story, asked = await write(home)
    assert story.scenes[2].text == "She waits."
    assert asked == ["falling-action/section", "resolution/section"]


@pytest.mark.parametrize("data", [b"Mara.\r\n\r\nTobias.\r\n", b"\xef\xbb\xbfMara.\n\nTobias.", b"Mara.\n\nTobias.\n"])
async def test_characters_laid_by_hand_before_the_first_run_are_used(home: ProjectFolder, data: bytes) -> None:
    (home.folder / "plan" / "characters.md").write_bytes(data)
    _, asked = await write(home)
    assert "characters/character" not in asked
    assert len(asked) == 8
    with home.journal as journal:
        prompt = journal.calls.find(CallFilter(under="setting"), prompts=True)[0].messages[-1][1]
    assert "[Character Descriptions] Mara.\n\nTobias.\n\n" in prompt + "\n\n"
    assert (await write(home))[1] == []


async def test_other_line_ends_and_byte_order_marks_are_no_edits(home: ProjectFolder) -> None:
    story, _ = await write(home)
    for file in home.folder.rglob("*.md"):
        text = file.read_text(encoding="utf-8").replace("\n", "\r\n")
        file.write_text(f"\ufeff{text}\r\n", encoding="utf-8", newline="")
    expected, changes = await dry_run_in(home, home.settings, Options())
    assert (expected.planned, changes) == ([], [])
    assert await write(home) == (story, [])


async def test_an_edit_in_the_whole_story_is_kept_and_what_follows_it_is_written_again(home: ProjectFolder) -> None:
    await write(home)
    text = home.story_file.read_text(encoding="utf-8")
    home.story_file.write_text(text.replace("At nine the order said dark.", "At ten it was dark."), encoding="utf-8")
    story, asked = await write(home)
    assert asked == ["falling-action/section", "resolution/section"]
    assert story.scenes[2].text.startswith("At ten it was dark.")
    assert (home.folder / "story/03-climax.md").read_text(encoding="utf-8").startswith("At ten it was dark.")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda text: re.sub(r"<!-- .* -->\n", "", text),
            r"story.md lacks the scene 'climax'\. Restore its lines <!-- scene",
        ),
        (lambda text: text.replace("<!-- scene: Climax -->\n", ""), r"story.md lacks the scene 'climax'"),
        (lambda text: text.replace("scene: Climax", "scene: The Lamp"), r"story.md lacks the scene 'climax'"),
        (
            lambda text: text + "<!-- scene: Conflict -->\nMore.\n",
            r"story\.md has a new scene 'conflict', the name of plan/con",
        ),
    ],
)
async def test_a_whole_story_whose_scenes_are_lost_is_named_and_left(
    home: ProjectFolder, change: Callable[[str], str], expected: str
) -> None:
    await write(home)
    home.story_file.write_text(change(home.story_file.read_text(encoding="utf-8")), encoding="utf-8")
    before = texts(home)
    for work in (write_in, dry_run_in):
        with pytest.raises(UsageError, match=expected):
            await work(home, home.settings, Options())
    assert texts(home) == before
    home.story_file.rename(home.folder / "old.txt")  # as the message says
    assert (await write(home))[1] == []


async def test_part_and_whole_story_edited_differently_is_an_error_that_touches_neither(home: ProjectFolder) -> None:
    await write(home)
    text = home.story_file.read_text(encoding="utf-8")
    home.story_file.write_text(text.replace("At nine the order said dark.", "At ten."), encoding="utf-8")
    (home.folder / "story/03-climax.md").write_text("At eleven.", encoding="utf-8")
    before = texts(home)
    with pytest.raises(UsageError, match=r"story/03-climax.md and story.md were both changed and differ in 'climax'"):
        await write(home)
    assert texts(home) == before


async def test_deleted_files_are_written_again_without_a_call(home: ProjectFolder) -> None:
    await write(home)
    before = texts(home)
    for name in ("plan/plot.md", "story/03-climax.md", "story.md"):
        (home.folder / name).unlink()
    assert (await write(home))[1] == []
    assert texts(home) == before


SECRET = "sk-test-not-a-key-1234567890"  # noqa: S105 - made up


async def test_a_key_is_nowhere_in_the_folder(home: ProjectFolder) -> None:
    environ: dict[str, Any] = {"OPENAI_API_KEY": SECRET}
    await write_in(home, home.settings, Options(environ=environ))
    for path in home.folder.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
