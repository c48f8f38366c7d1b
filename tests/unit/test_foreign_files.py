"""Files of a project that somebody else has made: opening them runs, removes and waits for nothing."""

from __future__ import annotations

import os
import py_compile
import sqlite3
import struct
import sys
import tomllib
from pathlib import Path

import pytest

from fabula.base.errors import ConfigError, JournalDamagedError, ProjectError, UsageError
from fabula.base.files import read_text, remove_leftovers
from fabula.base.tomltext import parse
from fabula.craft.conversation import Log
from fabula.engine.journal import Journal
from fabula.engine.roles import load_function
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.project.trust import acts_in
from fabula.story import Brief
from fabula.story.world.store import WorldStore

_WITHOUT_END = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    made = ProjectFolder.create(tmp_path / "theirs", Brief("Write of a lamp."))
    with made.journal:
        pass
    return made


def test_compiled_code_beside_a_program_is_not_run(tmp_path: Path) -> None:
    """A person has read and allowed the program's text; a file in `__pycache__` may hold another one."""
    program, other = tmp_path / "mine.py", tmp_path / "other.py"
    program.write_text("def answer():\n    return 'as it is read'\n")
    other.write_text("def answer():\n    return 'something else'\n")
    compiled = tmp_path / "__pycache__" / f"mine.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(other), str(compiled), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert load_function(f"{program}:answer")() == "as it is read"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["__pycache__", "mine.py", "other.py"]


def test_a_half_done_change_of_a_journal_removes_no_other_file(project: ProjectFolder, tmp_path: Path) -> None:
    """SQLite removes the file that a rollback journal names as its super-journal, wherever it lies."""
    novel = tmp_path / "novel.md"
    novel.write_text("Years of work.")
    file = project.folder / ".fabula" / "journal.db"
    with sqlite3.connect(file, isolation_level=None) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        for _ in range(200):
            db.execute("INSERT INTO failure (path, run, at) VALUES (?, 1, '')", ("y" * 2000,))
        hot, half = file.with_name("journal.db-journal").read_bytes(), file.read_bytes()
        db.execute("ROLLBACK")
    db.close()
    name = str(novel).encode()
    hot = hot[:8] + b"\xff" * 4 + hot[12:] if hot[8:12] == b"\0" * 4 else hot
    end = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
    file.write_bytes(half)
    file.with_name("journal.db-journal").write_bytes(hot + end + bytes.fromhex("d9d505f920a163d7"))
    with pytest.raises(JournalDamagedError, match="would delete another file"), project.journal:
        pass
    assert novel.read_text() == "Years of work."


@pytest.mark.parametrize(
    "statements",
    [
        f"DROP TABLE call; CREATE VIEW call AS {_WITHOUT_END} SELECT n AS id FROM r",  # noqa: S608 - no data in it
        f"DROP VIEW active_decision; CREATE VIEW active_decision AS {_WITHOUT_END} SELECT n AS id FROM r",  # noqa: S608 - no data in it
        f"CREATE TRIGGER t AFTER INSERT ON run BEGIN INSERT INTO failure (path) {_WITHOUT_END} SELECT n FROM r; END",  # noqa: S608 - no data
        "CREATE INDEX slow ON version (length(hex(zeroblob(100000000))))",
        "CREATE TABLE own (a CHECK (length(hex(zeroblob(100000000))) > 0))",
    ],
)
def test_a_database_that_computes_is_refused(project: ProjectFolder, tmp_path: Path, statements: str) -> None:
    """A view without end kept even `fabula status` at work for ever, and Ctrl-C without effect."""
    with sqlite3.connect(project.folder / ".fabula" / "journal.db") as db:
        db.executescript(statements)
    db.close()
    with pytest.raises(JournalDamagedError, match=r"is not one of fabula's"), project.journal:
        pass
    world = WorldStore(tmp_path / "world.db")
    world.open()
    world.close()
    with sqlite3.connect(tmp_path / "world.db") as db:
        db.executescript("DROP TABLE fact; CREATE VIEW fact AS " + _WITHOUT_END + " SELECT n AS id FROM r")  # noqa: S608 - no data
    db.close()
    with pytest.raises(ProjectError, match=r"is not one of fabula's"):
        WorldStore(tmp_path / "world.db").open()


def test_a_journal_with_a_text_without_end_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db"):
        pass
    with sqlite3.connect(tmp_path / "journal.db") as db:
        db.execute("INSERT INTO text VALUES ('h', zeroblob(150000000))")
        db.execute("INSERT INTO version (path, text, source, run, at) VALUES ('story', 'h', 'edit', 1, '')")
    db.close()
    with Journal(tmp_path / "journal.db") as journal, pytest.raises(JournalDamagedError, match="too big"):
        journal.artefacts.newest("story")


@pytest.mark.parametrize(
    "name", ["fabula.toml", "story.md", ".fabula/written", ".fabula/journal.db-journal", "cards/x"]
)
def test_pipes_in_a_project_are_refused(project: ProjectFolder, name: str) -> None:
    """Reading a pipe waits for a writer that never comes."""
    file = project.folder / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(UsageError, match="is a pipe or a device, and"):
        ProjectFolder.open(project.folder)
    with pytest.raises(UsageError, match="is not a regular file"):
        read_text(file, 100)


def test_a_pipe_that_looks_left_over_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".fabula-0123456789abcdef.tmp")
    remove_leftovers([tmp_path])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["cards", "world"])
def test_folders_that_lead_elsewhere_are_refused(project: ProjectFolder, tmp_path: Path, name: str) -> None:
    (tmp_path / "private").mkdir()
    (project.folder / name).symlink_to(tmp_path / "private")
    with pytest.raises(UsageError, match="a link to a place outside"):
        ProjectFolder.open(project.folder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "{a=" * 20_000, "nested too deeply"),
        (".".join(["a"] * 200_000) + " = 1", "more than 50 parts"),
        ("[" + " . ".join(['"a"'] * 100_000) + "]", "more than 50 parts"),
        ("seed = " + "9" * 5000, "too many digits"),
        ("seed 1", "Expected"),
    ],
)
def test_what_is_wrong_with_settings_is_said_in_time(tmp_path: Path, text: str, why: str) -> None:
    """Python's reader took minutes for a key of many parts, and had errors of its own for the others."""
    (tmp_path / "fabula.toml").write_text(text)
    with pytest.raises(ConfigError, match=why):
        Settings.read(tmp_path / "fabula.toml")


def test_sentences_are_no_long_keys() -> None:
    said = "Mara counts. " * 100 + "One...two..." * 30
    assert parse(f"[replies]\nwriter = '''{said}'''")["replies"]["writer"] == said
    with pytest.raises(tomllib.TOMLDecodeError):
        parse("-" * 100_000 + "\n" + '"' * 99_999 + "'." * 50_000)


@pytest.mark.parametrize("play", ["a" * 100_000 + ".py:f", "~nobody-at-all/x.py:f", "\0.py:f"], ids=len)
def test_programs_that_no_file_can_hold(tmp_path: Path, play: str) -> None:
    found = Settings.of({"roles": {"writer": {"play": play}}, "prompts": "\0"}, "here").at(tmp_path)
    assert not acts_in(found.as_tables, tmp_path)
    with pytest.raises(ConfigError, match="does not name a Python function") as raised:
        load_function(found.roles["writer"].play)
    assert len(str(raised.value)) < 500


def test_a_script_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="is larger than 20,000,000 bytes"):
        ScriptedModel.read(Path("/dev/zero"))


@pytest.mark.parametrize(
    "record",
    ['{"do": "turn"}', '{"do": "turn", "turn": {"who": 1}}', '{"do": "retry", "turn": null}', "[]", "[" * 200_000],
    ids=len,
)
def test_a_record_of_a_chat_that_cannot_be_used_is_named(tmp_path: Path, record: str) -> None:
    """Such a line ended `fabula chat` in an unexpected error."""
    log = tmp_path / "talk.jsonl"
    log.write_text('{"format": 2, "player": "Jonas", "others": ["Elin"]}\n' + record + "\n")
    with pytest.raises(ProjectError, match=r"talk\.jsonl:2 is not a record"):
        Log.read(log)
