"""The project that `fabula sample` copies: it replays to the letter, and names nothing of the machine it was made on.

A change of prompts makes its calls miss. If that is meant, `python tests/golden/test_sample_project.py` (`src` and
`tests/support` on PYTHONPATH) records them anew with the same replies; read the prompts then, and whether the replies
still answer them.
"""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula import Options, dry_run_in, write_in
from fabula.base.errors import UsageError
from fabula.cli.main import main
from fabula.engine.journal import Journal
from fabula.engine.replay import ReplayModel
from fabula.models.by_hand import HAND, ByHand
from fabula.project import sample
from fabula.project.sample import copy_sample
from fabula.story import Story
from fabula.verbs import home

if TYPE_CHECKING:
    from fabula.project.folder import ProjectFolder

SAMPLE = Path(__file__).parents[2] / "examples" / "projects" / "sufficient-knowledge"
MOST = 1_000_000  # bytes; it is part of the wheel
RUNS = (".fabula/journal.db", "evaluation/.fabula/journal.db")
REFUSED = "9a368b"
GIVEN = ("brief.md", "fabula.toml", "README.md", "plan/plan.yaml", "world.yaml")
FOREIGN = (
    *(f"/{name}/".encode() for name in ("work", "tmp", "home", "root", "Users")),
    b"program:",
    b"person:me",
    b".py",
)


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    return copy_sample(tmp_path / "sample")


async def test_it_replays_to_the_letter(project: ProjectFolder) -> None:
    before = project.story_file.read_bytes()
    expected, changes = await dry_run_in(project, project.settings, Options())
    assert (expected.planned, changes) == ([], []), "Prompts have changed; the head of this file says what to do."
    outcome = await write_in(project, project.settings, Options(frozen=True))
    assert outcome.story.words == 3234
    assert project.story_file.read_bytes() == before


def test_its_reader_has_nothing_to_take_back(project: ProjectFolder) -> None:
    workspace = home.Project(project.folder)
    assert (workspace.overview().undo, workspace.overview().redo) == ("", "")
    with pytest.raises(UsageError, match="There is no decision to undo"):
        workspace.undo()
    with project.journal as journal:
        assert [decision.path for decision in journal.decisions.find()] == ["plan", "drafts/refused"], "they stand"
    workspace.refuse_edits(accept=[REFUSED])
    assert workspace.overview().undo == "what you refused of the final reading"
    workspace.undo()
    assert workspace.overview().undo == ""
    assert workspace.final_edits().refused == {REFUSED}


def test_its_story_can_be_read_whatever_the_prompts_say(project: ProjectFolder) -> None:
    story = Story.parse(project.story_file.read_text(encoding="utf-8"))
    assert [scene.label for scene in story.scenes][0::4] == ["Exposition", "Resolution"]
    assert story.text.endswith("The beginning has been read.")
    with project.journal as journal:
        assert {call.performer for call in journal.calls.find(prompts=True)} == {HAND}
        assert [version.source for version in journal.artefacts.versions("falling-action")] == ["made", "made"]
        assert not project.changes(journal)


def test_nothing_in_it_is_of_the_machine_it_was_made_on() -> None:
    for file in (file for file in SAMPLE.rglob("*") if file.is_file()):
        data = file.read_bytes()
        found = [name for name in FOREIGN if name in data]
        assert not found, f"{file.relative_to(SAMPLE)} holds {found}."


def test_it_is_small_and_whole() -> None:
    files = [file for file in SAMPLE.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < MOST
    assert not [file.name for file in files if file.name == "lock" or file.suffix in {".tmp", ".db-wal", ".db-shm"}]


def test_a_wheel_holds_it_where_it_is_looked_for() -> None:
    settings = tomllib.loads((SAMPLE.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["examples/projects"] == "fabula/samples"
    assert sample._PLACES[0].parts[-2:] == ("fabula", "samples")


def test_its_calls_are_recorded_anew_with_the_same_replies(tmp_path: Path) -> None:
    again = tmp_path / "again"
    record(again)
    for name in RUNS:
        with Journal(SAMPLE / name) as before, Journal(again / name) as after:
            assert {call.path: call.reply.text for call in before.calls.find()} == {
                call.path: call.reply.text for call in after.calls.find()
            }
    assert (again / "story.md").read_bytes() == (SAMPLE / "story.md").read_bytes()


def record(folder: Path) -> None:
    """Make the sample anew in `folder`: what was given, and what each place of the old record says."""
    for name in GIVEN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLE / name, folder / name)
    log = next((SAMPLE / "chat").glob("*.jsonl")).read_text(encoding="utf-8").splitlines()
    head, turns = json.loads(log[0]), [json.loads(line) for line in log[1:]]
    lines = [turn["turn"]["said"] for turn in turns if turn["do"] == "turn" and turn["turn"]["said"]]
    names = ["--as", head["player"], "--with", head["others"][0]]
    where = str(folder)
    with tempfile.TemporaryDirectory() as old, pytest.MonkeyPatch.context() as patch:
        for name, commands in zip(
            RUNS,
            (
                [
                    ["write", where, "--quiet"],
                    ["text", "edits", "--refuse", REFUSED, "-C", where],
                    ["update", where, "--yes", "--quiet"],
                    ["world", where, "--import", str(folder / "world.yaml")],
                    ["chat", where, "--system", head["system"], *names],
                ],
                [["check", where, "--quiet"]],
            ),
            strict=True,
        ):
            record_of = Path(shutil.copyfile(SAMPLE / name, Path(old) / f"{name.count('/')}.db"))
            replay = ReplayModel(record_of)
            patch.setattr(ByHand, "ask", lambda _, *asked, replay=replay: replay.ask(*asked))
            for command in commands:
                patch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, "/quit\n"])))
                assert main(command) == 0, command
    for file in (*folder.rglob("lock"), *folder.rglob("*.tmp")):
        file.unlink()
    shutil.rmtree(folder / ".fabula" / "runs", ignore_errors=True)  # what is at work is said there, to nobody later
    for file in folder.rglob("*.db"):
        with closing(sqlite3.connect(file)) as database:
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'decision'").fetchone():
                database.execute(
                    "UPDATE decision SET command = NULL"
                )  # what its author decided is not the reader's to take back
                database.commit()
            database.execute("VACUUM")
    page = folder / "evaluation" / "atlas.html"
    page.write_text(page.read_text(encoding="utf-8").replace(where, SAMPLE.name), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        record(Path(made) / SAMPLE.name)
        shutil.rmtree(SAMPLE)
        shutil.copytree(Path(made) / SAMPLE.name, SAMPLE)
