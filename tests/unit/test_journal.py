"""The journal: what is recorded comes back, decisions stand until they are undone, and errors say what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import JournalDamagedError, JournalError, JournalVersionError
from fabula.engine.journal import FORMAT, CallFilter, Journal, Version, call_key, spent_by_role
from fabula.models.base import Message, Reply, Request, Sampling, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REQUEST = Request(
    (Message("system", "You write."), Message("user", "Begin.")),
    Sampling(temperature=0.7, seed=3),
    role="exposition",
    path="exposition/section",
)
REPLY = Reply(
    "The lamp was lit.",
    Usage(prompt=12, cached=4, reply=5, seconds=0.5, first=0.1, cost=0.002),
    "length",
    "scripted",
    {"temperature": 0.7},
    ("dry_base",),
    {"The": -0.1},
)


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal(now=lambda: "2026-01-02T03:04:05+00:00") as journal:
        yield journal


def test_a_call_comes_back_whole(journal: Journal) -> None:
    key = call_key(REQUEST, "scripted", 0)
    assert journal.calls.reply(key) is None
    journal.calls.record(key, REQUEST, 0, REPLY)
    assert journal.calls.reply(key) == REPLY
    (call,) = journal.calls.find(prompts=True)
    assert (call.path, call.role, call.performer, call.ordinal) == ("exposition/section", "exposition", "scripted", 0)
    assert call.reply == REPLY
    assert call.messages == (("system", "You write."), ("user", "Begin."))
    assert call.at == "2026-01-02T03:04:05+00:00"


def test_a_reply_without_log_probabilities_has_none(journal: Journal) -> None:
    journal.calls.record("k", REQUEST, 0, Reply("Text.", model="m"))
    recorded = journal.calls.reply("k")
    assert recorded is not None
    assert recorded.logprobs is None


def test_the_first_record_of_a_call_stays(journal: Journal) -> None:
    journal.calls.record("k", REQUEST, 0, REPLY)
    journal.calls.record("k", REQUEST, 0, Reply("Another text.", model="m"))
    assert journal.calls.reply("k") == REPLY
    assert len(journal.calls) == 1


def test_the_newest_reply_at_a_place_is_found_whatever_was_asked(journal: Journal) -> None:
    assert journal.calls.last("exposition/section", 0) is None
    journal.calls.record("a", REQUEST, 0, REPLY)
    journal.calls.record("b", REQUEST, 0, Reply("Newer.", model="m"))
    journal.calls.record("c", REQUEST, 1, Reply("Another ordinal.", model="m"))
    newest = journal.calls.last("exposition/section", 0)
    assert newest is not None
    assert newest.text == "Newer."


def test_calls_can_be_listed_below_a_path(journal: Journal) -> None:
    for n, path in enumerate(["scene/1/turn", "scene/1", "scene/10/turn", "plot"]):
        journal.calls.record(str(n), Request(REQUEST.messages, path=path), 0, REPLY)
    assert [call.path for call in journal.calls.find(CallFilter(under="scene/1"), prompts=True)] == [
        "scene/1/turn",
        "scene/1",
    ]
    assert len(journal.calls.find(prompts=True)) == 4


def test_the_bill_is_kept_by_role_and_an_unknown_cost_stays_unknown(journal: Journal) -> None:
    costs = {"a": ("plot", 0.5), "b": ("plot", 0.25), "c": ("climax", None)}
    for key, (role, cost) in costs.items():
        request = Request(REQUEST.messages, role=role, path=role)
        journal.calls.record(key, request, 0, Reply("Text.", Usage(prompt=10, reply=2, cost=cost), model="m"))
    spent = spent_by_role(journal.calls)
    assert spent["plot"] == Usage(prompt=20, reply=4, cost=0.75)
    assert spent["climax"].cost is None


def test_runs_are_listed_with_how_they_ended(journal: Journal) -> None:
    assert journal.start_run("agents-room", {"seed": 1, "words": "größer \udc80"}) == 1
    journal.end_run("stopped")
    assert journal.start_run("end-to-end", {}) == 2
    first, second = journal.runs()
    assert (first["system"], first["error"], first["settings"]["seed"]) == ("agents-room", "stopped", 1)
    assert first["settings"]["words"] == "größer \udc80"
    assert (second["ended"], second["error"]) == (None, None)


def test_versions_are_numbered_and_the_same_text_twice_is_one(journal: Journal) -> None:
    assert journal.artefacts.newest("plot") is None
    for text in ("One.", "One.", "Two.", "One."):
        journal.artefacts.keep("plot", text, "made")
    at = "2026-01-02T03:04:05+00:00"
    assert journal.artefacts.versions("plot") == [
        Version("plot", 1, "One.", "made", at),
        Version("plot", 2, "Two.", "made", at),
        Version("plot", 3, "One.", "made", at),
    ]
    assert journal.artefacts.newest("plot") == "One."
    journal.artefacts.keep("chat/evening/cell-1/plan", "#1. One.", "made")
    assert journal.artefacts.paths() == ["chat/evening/cell-1/plan", "plot"]


def test_a_place_belongs_to_one_artefact_and_an_artefact_has_one_place(journal: Journal) -> None:
    journal.artefacts.place("climax", "story/03-climax.md")
    journal.artefacts.place("climax", "story/02-climax.md")
    assert journal.artefacts.places() == {"climax": "story/02-climax.md"}
    journal.artefacts.place("turn", "story/02-climax.md")
    assert journal.artefacts.places() == {"turn": "story/02-climax.md"}


def test_a_pin_wins_over_an_edit_until_it_is_taken_out(journal: Journal) -> None:
    assert journal.decisions.override("plot") is None
    journal.decisions.add("plot", "edit", "Edited.")
    assert journal.decisions.override("plot") == ("Edited.", "edited")
    journal.decisions.add("plot", "pin", "Pinned.")
    assert journal.decisions.override("plot") == ("Pinned.", "pinned")
    journal.decisions.add("plot", "unpin")
    assert journal.decisions.override("plot") == ("Edited.", "edited")
    journal.decisions.add("plot", "unedit")
    assert journal.decisions.override("plot") is None


def test_a_continuation_goes_with_edits_and_below_pins(journal: Journal) -> None:
    assert journal.decisions.override("plot") is None
    journal.decisions.add("plot", "continue", "Made.")
    assert journal.decisions.override("plot") == ("Made.", "continued")
    journal.decisions.add("plot", "edit", "Edited.")
    assert journal.decisions.override("plot") == ("Edited.", "edited")
    journal.decisions.add("plot", "continue", "Edited, and more.")
    assert journal.decisions.override("plot") == ("Edited, and more.", "continued")
    journal.decisions.add("plot", "undo", target=journal.decisions.find()[-1].id)
    assert journal.decisions.override("plot") == ("Edited.", "edited")
    journal.decisions.add("plot", "continue", "Again.")
    journal.decisions.add("plot", "pin", "Pinned.")
    assert journal.decisions.override("plot") == ("Pinned.", "pinned")
    journal.decisions.add("plot", "unpin")
    assert journal.decisions.override("plot") == ("Again.", "continued")
    journal.decisions.add("plot", "unedit")
    assert journal.decisions.override("plot") is None


def test_an_undone_decision_no_longer_stands(journal: Journal) -> None:
    journal.decisions.add("plot", "edit", "First.")
    journal.decisions.add("plot", "edit", "Second.")
    journal.decisions.add("plot", "undo", target=journal.decisions.find()[-1].id)
    assert [(d.kind, d.text) for d in journal.decisions.find()] == [("edit", "First.")]
    assert journal.decisions.override("plot") == ("First.", "edited")


def test_approvals_hold_for_one_text(journal: Journal) -> None:
    journal.decisions.add("plot", "approve", "This text.")
    assert journal.decisions.approved("plot", "This text.")
    assert not journal.decisions.approved("plot", "That text.")


def test_half_a_character_in_a_prompt_is_no_reason_to_lose_the_reply(journal: Journal) -> None:
    request = Request((Message("user", "Mara \ud83d waits."),), choices=("\udc80",), path="p")
    journal.calls.record("k", request, 0, REPLY)
    assert journal.calls.reply("k") == REPLY
    assert journal.calls.find(prompts=True)[0].messages == (("user", "Mara ? waits."),)


def test_what_is_committed_is_there_in_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.calls.record("k", REQUEST, 0, REPLY)
        with Journal(path) as other:  # as a second process would read it now
            assert other.calls.reply("k") == REPLY
    with Journal(path) as again:
        assert len(again.calls) == 1


def test_time_stamps_are_utc_by_default() -> None:
    with Journal() as journal:
        journal.start_run("s", {})
        assert journal.runs()[0]["at"].endswith("+00:00")


def test_a_closed_journal_says_so_for_reading_and_writing(journal: Journal) -> None:
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match=r"The journal is closed\. Open it before use\."):
        len(journal.calls)
    with pytest.raises(JournalError, match=r"The journal is closed\. Open it before use\."):
        journal.calls.give_up("p")


def test_a_file_that_cannot_be_opened_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"journal.db cannot be used .* Check free space and permissions"):
        Journal(tmp_path / "missing" / "journal.db").open()


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path):
        pass
    _execute(path, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(JournalVersionError, match=rf"A newer fabula wrote .*format {FORMAT + 1}.*Upgrade fabula\."):
        Journal(path).open()


def test_a_journal_of_an_unreleased_format_is_refused_and_says_how_its_texts_continue(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path):
        pass
    _execute(path, f"PRAGMA user_version = {FORMAT - 1}")
    continues = r"texts remain in plan/ and story/: continue from them with `fabula import story\.md"
    expected = rf"An older fabula wrote .*format {FORMAT - 1}.*{continues}"
    with pytest.raises(JournalVersionError, match=expected):
        Journal(path).open()


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    _execute(path, "CREATE TABLE songs (name TEXT)")
    with pytest.raises(JournalDamagedError, match=r"is a database, but not a fabula journal\. Move it away\."):
        Journal(path).open()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM songs").fetchone() == (0,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.artefacts.keep("plot", "Kept.", "made")
        assert journal._store._db is not None
        pages = journal._store._db.execute("PRAGMA page_count").fetchone()[0]
        journal._store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match=r"database or disk is full.*Check free space.*continues from there\."):
            journal.artefacts.keep("climax", "Too much. " * 100_000, "made")
    with Journal(path) as again:
        assert again.artefacts.newest("plot") == "Kept."
        assert again.artefacts.newest("climax") is None


def test_a_failing_statement_leaves_no_half_transaction(journal: Journal) -> None:
    with pytest.raises(JournalError, match="The journal in memory cannot be used"):
        journal._store.write(
            ("INSERT INTO failure (path, run, at) VALUES ('p', 1, 'a')", ()),
            ("INSERT INTO nowhere VALUES (1)", ()),
        )


def test_a_begin_that_fails_has_nothing_to_roll_back(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal, Journal(path) as other:
        assert journal._store._db is not None
        assert other._store._db is not None
        other._store._db.execute("PRAGMA busy_timeout = 0")
        journal._store._db.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="database is locked"):
            other.calls.give_up("p")


def _execute(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


# trust ----------------------------------------------------------------------------------------------------------------


def recorded(path: Path) -> None:
    """A journal with one call, one text and one run."""
    with Journal(path) as journal:
        journal.start_run("agents-room", {})
        journal.calls.record("k", REQUEST, 0, REPLY)
        journal.artefacts.keep("exposition", "Text.", "made")


def test_a_commit_is_on_the_disk_when_it_returns(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        assert journal._store.connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_journal_and_its_files_are_their_owners_alone(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        journal.artefacts.keep("plot", "One.", "made")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["journal.db", "journal.db-wal", "journal.db-shm"], 0o600)


def test_what_belongs_together_is_recorded_together_or_not_at_all(tmp_path: Path) -> None:
    def decide(journal: Journal) -> None:
        with journal.transaction():
            journal.decisions.add("plot", "edit", "One.")
            journal.artefacts.keep("plot", "One.", "edited")
            raise KeyboardInterrupt

    with Journal(tmp_path / "journal.db") as journal:
        with pytest.raises(KeyboardInterrupt):
            decide(journal)
        assert (journal.decisions.find(), journal.artefacts.newest("plot")) == ([], None)
        journal.artefacts.keep("plot", "Two.", "made")
    with Journal(tmp_path / "journal.db") as again:
        assert again.artefacts.newest("plot") == "Two."


def test_another_process_that_ends_takes_no_log_away_under_a_journal_opened_twice(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    other = (
        f"import pathlib, fabula.engine.journal as j; k = j.Journal(pathlib.Path({str(path)!r})); k.open(); k.close()"
    )
    with Journal(path) as journal:
        journal.artefacts.keep("plot", "One.", "made")
        with Journal(path) as again:
            assert again.artefacts.newest("plot") == "One."
            subprocess.run([sys.executable, "-c", other], check=True)
            journal.artefacts.keep("plot", "Two.", "made")
    with Journal(path) as journal:
        assert journal.artefacts.newest("plot") == "Two."


def deleted(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()


def replaced(path: Path) -> None:
    deleted(path)
    with Journal(path) as other:
        other.artefacts.keep("plot", "Another project's.", "made")


def without_its_log(path: Path) -> None:
    path.with_name("journal.db-wal").unlink()


@pytest.mark.parametrize("taken_away", [deleted, replaced, without_its_log])
def test_a_journal_that_is_taken_away_under_a_run_is_noticed_and_saved(
    tmp_path: Path, taken_away: Callable[[Path], None]
) -> None:
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.calls.record("k", REQUEST, 0, REPLY)
        taken_away(path)
        with pytest.raises(JournalError, match=r"journal.db was moved, replaced or deleted while it was in use\. Its"):
            journal.artefacts.keep("plot", "One.", "made")
    (saved,) = tmp_path.glob("journal-*.db")
    with Journal(saved) as whole:
        assert whole.calls.reply("k") == REPLY
        assert whole.artefacts.newest("plot") == "One."


def test_a_journal_whose_folder_is_renamed_under_a_run_is_noticed_and_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with Journal(tmp_path / "a" / "journal.db") as journal:
        journal.calls.record("k", REQUEST, 0, REPLY)
        (tmp_path / "a").rename(tmp_path / "b")
        with pytest.raises(JournalError, match=r"Put it, or its folder, back where it was and run the command again\."):
            journal.artefacts.keep("plot", "One.", "made")
    with Journal(tmp_path / "b" / "journal.db") as whole:
        assert whole.calls.reply("k") == REPLY
        assert whole.artefacts.newest("plot") == "One."


READ: list[Callable[[Journal], object]] = [
    lambda journal: journal.calls.reply("k"),
    lambda journal: journal.calls.last("exposition/section", 0),
    lambda journal: journal.calls.find(prompts=True),
    lambda journal: spent_by_role(journal.calls),
    lambda journal: journal.runs(),
    lambda journal: journal.last_settings(),
    lambda journal: journal.artefacts.made("plot"),
]
DAMAGE = {
    "UPDATE text SET body = body || ' And more.' WHERE hash = (SELECT reply FROM call)": (0, 1, 2),
    "DELETE FROM text WHERE hash = (SELECT reply FROM call)": (0, 1, 2),
    "UPDATE text SET body = x'ff' WHERE hash = (SELECT reply FROM call)": (0, 1, 2),
    "UPDATE text SET body = cast(x'ff41' AS TEXT) WHERE hash = (SELECT reply FROM call)": (0, 1, 2),
    "UPDATE call SET detail = '{'": (0, 1, 2, 3),
    "UPDATE call SET detail = '[]'": (0, 1, 2, 3),
    'UPDATE call SET detail = \'{"usage": {"prompt": 1, "more": 2}}\'': (0, 1, 2, 3),
    "UPDATE call SET detail = ''": (0, 1, 2, 3),
    "UPDATE call SET request = 'null'": (1, 2),
    "UPDATE call SET request = '{\"messages\": [1]}'": (2,),
    'UPDATE call SET request = \'{"messages": [["user", "gone"]]}\'': (2,),
    "UPDATE run SET settings = 'x'": (4, 5),
    "INSERT INTO made SELECT 1, 'plot', 'x', hash, 'made', '[', '[]' FROM text LIMIT 1": (6,),
    "INSERT INTO made SELECT 1, 'plot', 'x', hash, 'made', '[]', '[1, 2]' FROM text LIMIT 1": (6,),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_found_where_it_is_read_and_nothing_else_suffers(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "journal.db"
    recorded(path)
    _execute(path, damage)
    for number, read in enumerate(READ):
        with Journal(path) as journal:
            if number not in DAMAGE[damage]:
                read(journal)
                continue
            with pytest.raises(JournalDamagedError, match=r"journal.db is damaged \(.*\)\. Move it away: your texts"):
                read(journal)


@pytest.fixture
def nothing_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is mounted for reading alone; root may write everywhere else."""
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)


@pytest.mark.usefixtures("nothing_writable")
@pytest.mark.parametrize("killed", [False, True])
def test_where_nothing_can_be_written_a_journal_is_read_with_what_a_killed_run_left(
    tmp_path: Path, *, killed: bool
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    with Journal(here / "journal.db") as writing:  # it is new, so that it is made
        writing.calls.record("k", REQUEST, 0, REPLY)
        if killed:  # its newest commits are in their own file
            shutil.copytree(here, there)
            (there / "journal.db-shm").unlink()
    where = there if killed else here
    before = {file.name: file.read_bytes() for file in where.iterdir()}
    with Journal(where / "journal.db") as journal:
        assert journal.calls.reply("k") == REPLY
        if not killed:
            with pytest.raises(JournalError, match="attempt to write a readonly database"):
                journal.artefacts.keep("plot", "One.", "made")
    assert {file.name: file.read_bytes() for file in where.iterdir()} == before


def test_what_is_read_of_all_artefacts_at_once_is_what_is_read_of_each() -> None:
    with Journal() as journal:
        for path in ("a", "b", "c", "d"):
            for text in ("first", "second"):
                journal.artefacts.keep(path, f"{path} {text}", "made" if text == "first" else "edited")
        journal.decisions.add("a", "edit", "a second")
        journal.decisions.add("b", "pin", "b first")
        journal.decisions.add("b", "edit", "b second")
        journal.decisions.add("c", "edit", "c second")
        journal.decisions.add("c", "unedit")
        journal.decisions.add("d", "continue", "d second", 100)
        journal.decisions.add("d", "pin", "d first")
        journal.decisions.add("d", "unpin")
        every = {
            path: found for path in journal.artefacts.paths() if (found := journal.decisions.override(path)) is not None
        }
        assert journal.decisions.overrides() == every
        assert set(every) == {"a", "b", "d"}
        newest = journal.artefacts.newest_versions()
        assert newest == {path: journal.artefacts.versions(path)[-1] for path in journal.artefacts.paths()}
        assert [*newest] == sorted(newest, key=lambda path: newest[path].id)
        assert len(journal.artefacts.versions()) == sum(version.number for version in newest.values())
        journal.decisions.add("a", "undo", target=journal.decisions.find()[0].id)
        assert "a" not in journal.decisions.overrides()
