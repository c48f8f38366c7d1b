"""A project folder: made, opened, locked; what an author changes in files is found and never overwritten."""

from __future__ import annotations

import operator
import os
import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base import files
from fabula.base.errors import BriefError, ConfigError, ProjectError, UnknownNameError, UsageError
from fabula.cli.main import main
from fabula.engine.events import Kept
from fabula.models.base import Message, Reply, Request
from fabula.project.folder import MAX_FILE, STORY, FileChange, ProjectFolder
from fabula.project.sample import copy_sample
from fabula.project.settings import Settings
from fabula.story import Brief, Story

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.engine.journal import Journal

BRIEF = Brief("Write about Mara.", "The Lamp")
PARTS = ("exposition", "climax")


@pytest.fixture
def home(tmp_path: Path) -> ProjectFolder:
    return ProjectFolder.create(tmp_path / "tale", BRIEF)


@pytest.fixture
def journal(home: ProjectFolder) -> Iterator[Journal]:
    with home.journal as journal:
        yield journal


def written(home: ProjectFolder, journal: Journal, suffix: str = "") -> None:
    """A run that keeps one plan and two parts, as `write_in` would."""
    home.begin(journal)
    story = Story("The Lamp")
    for path, folder in (("conflict", "plan"), *((part, "story") for part in PARTS)):
        override = journal.decisions.override(path)
        text, source = override or (f"Text of {path}{suffix}.", "made")
        journal.artefacts.keep(path, text, source)
        home.write_kept(journal, Kept(path, folder, text, source))
        if folder == "story":
            story = story.add(path.capitalize(), text)
    home.write_story(journal, story)


def read(home: ProjectFolder, name: str) -> str:
    return (home.folder / name).read_text(encoding="utf-8")


def put(home: ProjectFolder, name: str, text: str) -> None:
    (home.folder / name).write_text(text, encoding="utf-8")


# making and opening ---------------------------------------------------------------------------------------------------


def test_a_new_project_has_its_brief_and_settings(tmp_path: Path) -> None:
    given = {"seed": 4, "roles": {"plot": {"temperature": 0.5, "stop": ["a", "b"]}}, "config": {"final_reading": True}}
    home = ProjectFolder.create(tmp_path / "deep" / "tale", BRIEF, given)
    assert home.brief == BRIEF
    assert home.settings == Settings.of(given, "here")
    assert ProjectFolder.open(home.folder).brief == BRIEF
    assert (home.folder / "plan").is_dir()


def test_a_project_is_not_made_twice(home: ProjectFolder) -> None:
    with pytest.raises(
        ProjectError, match=r"tale is already a project\. Use it with `fabula write .*`, or choose another folder"
    ):
        ProjectFolder.create(home.folder, BRIEF)
    assert home.brief == BRIEF


@pytest.mark.parametrize("killed_at", [1, 2])
def test_a_project_whose_making_was_killed_is_finished_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    renames: list[Path] = []
    real = os.replace

    def killed(old: Path, new: Path) -> None:
        renames.append(new)
        if len(renames) == killed_at:
            raise KeyboardInterrupt
        real(old, new)

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        ProjectFolder.create(tmp_path, BRIEF, {"seed": 4})
    with pytest.raises(ProjectError, match=r"has no brief\.md\. To make a project, run `fabula new"):
        ProjectFolder.open(tmp_path)
    assert ProjectFolder.create(tmp_path, BRIEF, {"seed": 4}).settings.seed == 4
    assert ProjectFolder.open(tmp_path).brief == BRIEF


def test_settings_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "fabula.toml").write_text("seed = 4\n", encoding="utf-8")
    with pytest.raises(
        ProjectError, match=r"has a fabula\.toml with other settings but no brief\.md\. Remove that file"
    ):
        ProjectFolder.create(tmp_path, BRIEF)
    assert (tmp_path / "fabula.toml").read_text(encoding="utf-8") == "seed = 4\n"


def test_the_record_of_a_project_is_its_owners_alone(home: ProjectFolder) -> None:
    with home.recorded() as journal:
        written(home, journal)
    assert (home.folder / ".fabula").stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in (home.folder / ".fabula").iterdir()}
    assert modes == dict.fromkeys(["journal.db", "lock", "written"], 0o600)


@pytest.mark.parametrize("closed", ["", ".fabula", "plan", "story.md"])
@pytest.mark.parametrize("command", ["status", "write"])
def test_a_folder_or_file_without_permission_is_named(
    home: ProjectFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, closed: str, command: str
) -> None:
    with home.recorded() as journal:
        written(home, journal)
    there = home.folder / closed

    def refusing(real: Any) -> Any:  # noqa: ANN401 - any function of a path
        def refused(path: Any = ".", *args: Any, **more: Any) -> Any:  # noqa: ANN401 - as each of them
            within = isinstance(path, (str, os.PathLike)) and there in Path(path).parents
            looked_at = isinstance(path, (str, os.PathLike)) and Path(path) == there and real is not stat
            if within or looked_at:  # root may do everything, so the system does not refuse it
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **more)

        return refused

    stat = os.stat
    for name in ("os.stat", "os.open", "os.listdir", "os.scandir", "io.open"):
        monkeypatch.setattr(name, refusing(operator.attrgetter(name[3:])(sys.modules[name[:2]])))
    assert main([command, str(home.folder)]) in {1, 2}
    said = capsys.readouterr().err
    assert "permission" in said.lower()
    assert "did not expect" not in said


def test_wrong_settings_make_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the command line: There is no field 'sede'"):
        ProjectFolder.create(tmp_path / "tale", BRIEF, {"sede": 1})
    assert not (tmp_path / "tale").exists()


def test_a_folder_without_a_brief_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(
        ProjectError, match=r"is not a fabula project: it has no brief.md\. To make a project, run `fabula new"
    ):
        ProjectFolder.open(tmp_path)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "tale").write_text("I am a file.")
    with pytest.raises(ProjectError, match=r"Cannot make the folder .*tale: .*\. Choose another one\."):
        ProjectFolder.create(tmp_path / "tale", BRIEF)


def test_an_emptied_brief_is_told_so(home: ProjectFolder) -> None:
    put(home, "brief.md", "# Only a title\n")
    with pytest.raises(BriefError, match=r"brief.md is empty"):
        _ = home.brief


SETTINGS: list[dict[str, Any]] = [
    {},
    {"seed": -3, "preset": "faithful"},
    {"model": 'a "quoted" \\ name\nwith\ttabs\x07\x7f\u2028 and ünïcode'},
    {"prices": {"openai:x y/z": {"input": 0.5, "output": 1e16}}},
    {"config": {"deep": {"er": {"value": True}}, "list": [1, 2.5, "x", False, {"a b": "c"}], "none": []}},
    {"adapters": {"plot.x": "a.gguf"}, "models": {"m y": {"context": 900}}, "sampling": {"stop": ("one", "two")}},
]


@pytest.mark.parametrize("given", SETTINGS)
def test_settings_are_written_as_they_are_read(tmp_path: Path, given: dict[str, Any]) -> None:
    home = ProjectFolder.create(tmp_path / "tale", BRIEF, given)
    assert Settings.read(home.settings_file) == Settings.of(given, "here")
    tomllib.loads(read(home, "fabula.toml"))


def test_saved_settings_are_laid_over_those_that_stand(home: ProjectFolder) -> None:
    home.save_settings({"seed": 4, "sampling": {"top_p": 0.5}})
    home.save_settings({"model": "smollm2", "sampling": {"temperature": 0.7, "top_p": None}})
    settings = home.settings
    assert (settings.seed, settings.model) == (4, "smollm2")
    assert (settings.sampling.temperature, settings.sampling.top_p) == (0.7, None)
    with pytest.raises(ConfigError, match="the command line: `seed` must be"):
        home.save_settings({"seed": "x"})
    assert home.settings == settings


# locking --------------------------------------------------------------------------------------------------------------


def test_a_held_project_names_the_holder(home: ProjectFolder) -> None:
    with (
        home.lock(),
        pytest.raises(ProjectError, match=rf"is in use by process {os.getpid()}\. Wait for it to finish, or stop it\."),
        ProjectFolder(home.folder).lock(),
    ):
        pass
    with home.lock():  # it was given back
        pass


def test_a_holder_that_left_no_number_is_another_process(home: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.ftruncate", full)
    with home.lock(), pytest.raises(ProjectError, match="in use by another process"), home.lock():
        pass


def test_a_disk_that_cannot_lock_is_named(home: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fabula.base.files.lock", refuse)
    with pytest.raises(ProjectError, match=r"Cannot lock .*lock: No locks available\. Move the folder to a disk"):
        home.lock().__enter__()


def test_a_lock_that_cannot_be_made_is_named(home: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(ProjectError, match=r"Cannot write to .*tale/\.fabula: Permission denied\. Check its perm"):
        home.lock().__enter__()


# finding edits --------------------------------------------------------------------------------------------------------


def test_what_fabula_wrote_is_no_change(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    assert home.changes(journal) == []
    assert journal.artefacts.places() == {
        "conflict": "plan/conflict.md",
        "exposition": "story/01-exposition.md",
        "climax": "story/02-climax.md",
    }
    assert Story.parse(read(home, STORY)).text == "Text of exposition.\n\nText of climax."


def test_a_changed_file_is_an_edit_and_changed_blanks_are_none(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, "plan/conflict.md", "\ufeff\r\nText of conflict.  \r\n\r\n")
    put(home, "story/02-climax.md", "She waits.\r\n")
    assert home.changes(journal) == [FileChange("climax", "story/02-climax.md", "She waits.")]


def test_a_taken_over_edit_stands_and_is_in_file_and_versions(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, "story/02-climax.md", "\r\nShe waits.\r\n")
    home.take_over(journal, home.changes(journal))
    assert journal.decisions.override("climax") == ("She waits.", "edited")
    assert read(home, "story/02-climax.md") == "She waits.\n"
    assert home.changes(journal) == []
    written(home, journal)
    assert "She waits." in read(home, STORY)


def test_a_file_laid_before_the_first_run_is_an_edit(home: ProjectFolder, journal: Journal) -> None:
    put(home, "plan/Conflict.md", "Mine.")
    home.take_over(journal, home.changes(journal))
    written(home, journal)
    assert journal.artefacts.newest("conflict") == "Mine."
    assert read(home, journal.artefacts.places()["conflict"]) == "Mine.\n"


def test_editors_files_and_folders_are_no_artefacts(home: ProjectFolder, journal: Journal) -> None:
    put(home, f"plan/{files.TEMP_PREFIX}1.tmp", "half")
    put(home, f"plan/{files.TEMP_PREFIX}1.md", "half")
    put(home, "plan/notes.txt", "A note.")
    (home.folder / "plan" / "drafts.md").mkdir()
    (home.folder / "plan" / ".#conflict.md").symlink_to("nobody@nowhere")
    put(home, "plan/empty.md", "\n")
    assert home.changes(journal) == []


def test_two_files_of_one_artefact_are_named(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, "story/07-climax.md", "Another.")
    message = (
        r"story/02-climax.md and story/07-climax.md both belong to 'climax'\. "
        r"Keep only one of the files, or rename story/07"
    )
    with pytest.raises(UsageError, match=message):
        home.changes(journal)
    (home.folder / "story/02-climax.md").unlink()  # the author has renamed it
    assert home.changes(journal) == [FileChange("climax", "story/07-climax.md", "Another.")]


def test_two_new_files_of_one_artefact_are_named(home: ProjectFolder, journal: Journal) -> None:
    put(home, "plan/conflict.md", "One.")
    put(home, "plan/01-conflict.md", "Two.")
    message = (
        r"plan/01-conflict.md and plan/conflict.md were both changed and differ in 'conflict', "
        r'first in "Two\." and "One\."\. Make them equal\. Or, to keep plan/01-conflict.md, move plan/conflict.md away'
    )
    with pytest.raises(UsageError, match=message):
        home.changes(journal)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"caf\xe9", r"conflict.md is not UTF-8 text"),
        (b"a\0b", r"conflict.md contains binary data"),
        (b"x" * (MAX_FILE + 1), r"conflict.md is larger than 2,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_named(home: ProjectFolder, journal: Journal, data: bytes, expected: str) -> None:
    (home.folder / "plan" / "conflict.md").write_bytes(data)
    with pytest.raises(UsageError, match=expected):
        home.changes(journal)


# interrupted ----------------------------------------------------------------------------------------------------------


def no_rename(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_old_text_under_a_newer_version_is_no_edit_and_the_next_command_writes_the_new_one(
    home: ProjectFolder,
) -> None:
    with home.recorded() as journal:
        written(home, journal)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.replace", no_rename)
            with pytest.raises(ProjectError, match="disk or quota is full"):
                written(home, journal, " again")
    assert read(home, "plan/conflict.md") == "Text of conflict.\n"
    with home.journal as journal:
        assert home.changes(journal) == []
    with home.recorded() as journal:
        assert journal.decisions.find() == []
    assert read(home, "plan/conflict.md") == "Text of conflict again.\n"


def test_an_edit_that_could_not_be_written_is_done_by_the_next_command(home: ProjectFolder) -> None:
    with home.recorded() as journal:
        written(home, journal)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.replace", no_rename)
            with pytest.raises(ProjectError, match="disk or quota is full"):
                home.edit(journal, "climax", "She waits.")
    with home.recorded() as journal:
        assert [(one.path, one.kind, one.text) for one in journal.decisions.find()] == [
            ("climax", "edit", "She waits.")
        ]
    assert read(home, "story/02-climax.md") == "She waits.\n"


def test_a_text_that_the_author_put_back_is_an_edit(home: ProjectFolder) -> None:
    with home.recorded() as journal:
        written(home, journal)
        written(home, journal, " again")
    put(home, "story/02-climax.md", "Text of climax.\n")  # from a backup, say
    with home.journal as journal:
        assert home.changes(journal) == [FileChange("climax", "story/02-climax.md", "Text of climax.")]


def test_texts_that_the_journal_lost_are_no_edits_and_stay_in_its_history(home: ProjectFolder) -> None:
    told: list[str] = []
    home.tell = told.append
    with home.recorded() as journal:
        home.begin(journal)
        journal.calls.record("k", Request((Message("user", "Begin."),)), 0, Reply("Text.", model="m"))
        shutil.copyfile(home.folder / ".fabula/journal.db", home.folder / "early.db")
        shutil.copyfile(home.folder / ".fabula/journal.db-wal", home.folder / "early.db-wal")
        written(home, journal)
    (home.folder / "early.db").replace(home.folder / ".fabula/journal.db")  # as it was before: its end is cut off
    (home.folder / "early.db-wal").replace(home.folder / ".fabula/journal.db-wal")
    with home.journal as journal:
        assert home.changes(journal) == []
    with home.recorded() as journal:
        assert journal.decisions.find() == []
        assert [version.text for version in journal.artefacts.versions("climax")] == ["Text of climax."]
    assert told[0].startswith(
        "The journal has lost the calls that produced plan/conflict.md, story/01-exposition.md, story/02-climax.md. "
        "A run will make the required calls again. Existing texts are kept (see"
    )


def test_a_record_that_a_kill_cut_off_counts_up_to_there(home: ProjectFolder) -> None:
    with home.recorded() as journal:
        written(home, journal)
    record = home.folder / ".fabula" / "written"
    whole = record.read_bytes()
    record.write_bytes(whole[:-20])
    with home.recorded() as journal:
        assert home.changes(journal) == []
        written(home, journal, " again")
        assert home.changes(journal) == []
    record.write_bytes(b"\0\xff[" * 9)
    with home.journal as journal:
        assert home.changes(journal) == [], "without a record the journal alone says what is an edit"


def test_the_record_stays_short(home: ProjectFolder) -> None:
    with home.recorded() as journal:
        for number in range(200):
            written(home, journal, f" {number}")
    with home.recorded() as journal:
        assert len((home.folder / ".fabula" / "written").read_bytes().split()) < 60
        assert home.changes(journal) == []
    put(home, "story/02-climax.md", "Text of climax 198.\n")
    with home.journal as journal:
        assert [change.path for change in home.changes(journal)] == ["climax"]


def test_an_emptied_file_is_not_filled_again_without_a_word(home: ProjectFolder) -> None:
    told: list[str] = []
    home.tell = told.append
    with home.recorded() as journal:
        written(home, journal)
    put(home, "story/02-climax.md", " \n")
    with home.recorded() as journal:
        written(home, journal)
    assert told == [
        "story/02-climax.md is empty, but this has no effect: its text is kept, and `fabula update` writes it again."
    ]
    assert read(home, "story/02-climax.md") == "Text of climax.\n"


# the whole story ------------------------------------------------------------------------------------------------------


def test_a_scene_changed_in_the_whole_story_is_an_edit_of_its_part(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("Text of climax.", "She waits.").replace("\n", "\r\n"))
    changes = home.changes(journal)
    assert changes == [FileChange("climax", STORY, "She waits.")]
    home.take_over(journal, changes)
    assert read(home, "story/02-climax.md") == "She waits.\n"
    assert home.changes(journal) == []


def test_an_edit_that_was_taken_back_does_not_come_again_from_the_whole_story(
    home: ProjectFolder, journal: Journal
) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("Text of climax.", "She waits."))
    home.take_over(journal, home.changes(journal))
    journal.decisions.add("climax", "unedit")
    journal.artefacts.keep("climax", "Text of climax.", "made")
    home.write_newest(journal, ["climax"])
    assert home.changes(journal) == []
    written(home, journal)
    assert "Text of climax." in read(home, STORY)


def test_the_same_edit_in_both_places_is_one(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("Text of climax.", "She waits."))
    put(home, "story/02-climax.md", "She waits.")
    assert home.changes(journal) == [FileChange("climax", "story/02-climax.md", "She waits.")]


def test_different_edits_in_both_places_are_named(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("Text of climax.", "She waits."))
    put(home, "story/02-climax.md", "She runs.")
    message = r"story/02-climax.md and story.md were both changed and differ in 'climax', first in .*move story.md away"
    with pytest.raises(UsageError, match=message):
        home.changes(journal)


def test_a_lost_scene_mark_is_named_and_no_text_moves_to_another_part(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("<!-- scene: Climax -->\n", ""))
    with pytest.raises(UsageError, match=r"story.md lacks the scene 'climax'\. Restore its lines <!-- scene: ... -->"):
        home.changes(journal)


def test_a_renamed_scene_mark_is_named(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    put(home, STORY, read(home, STORY).replace("<!-- scene: Climax -->", "<!-- scene: The storm -->"))
    message = r"story.md lacks the scene 'climax'\. .* or move story.md away and let fabula write it again"
    with pytest.raises(UsageError, match=message):
        home.changes(journal)


def test_a_story_that_was_there_before_the_journal_is_not_overwritten(home: ProjectFolder, journal: Journal) -> None:
    put(home, STORY, "My own story.")
    with pytest.raises(UsageError, match=r"story.md has a scene that story/ lacks: 'story'"):
        home.changes(journal)


def test_an_emptied_story_or_scene_is_written_again(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    whole = read(home, STORY)
    for text in ("\n", whole.replace("Text of climax.", "")):
        put(home, STORY, text)
        assert home.changes(journal) == []
        written(home, journal)
        assert read(home, STORY) == whole


def test_parts_written_again_since_the_whole_story_are_no_edits(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    journal.artefacts.keep("climax", "Newer.", "made")  # a run that was stopped before it came to story.md
    put(home, "story/02-climax.md", "Newer.\n")
    assert home.changes(journal) == []


def test_an_agent_that_spoke_twice_is_no_edit(home: ProjectFolder, journal: Journal) -> None:
    home.begin(journal)
    story = Story()
    for text in ("First.", "Second."):
        journal.artefacts.keep("climax", text, "made")
        home.write_kept(journal, Kept("climax", "story", text, "made"))
        story = story.add("Climax", text)
    home.write_story(journal, story)
    assert home.changes(journal) == []


# writing --------------------------------------------------------------------------------------------------------------


def test_a_new_text_replaces_the_file_and_the_story(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    written(home, journal, " again")
    assert read(home, "story/02-climax.md") == "Text of climax again.\n"
    assert "Text of climax again." in read(home, STORY)


def test_an_edit_made_while_the_run_goes_is_left_and_found_afterwards(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    home.begin(journal)
    put(home, "story/01-exposition.md", "Mine meanwhile.")
    put(home, STORY, read(home, STORY).replace("Text of climax.", "Mine too."))
    for path in PARTS:
        journal.artefacts.keep(path, "New.", "made")
        home.write_kept(journal, Kept(path, "story", "New.", "made"))
    home.write_story(journal, Story().add("Exposition", "New.").add("Climax", "New."))
    assert read(home, "story/01-exposition.md") == "Mine meanwhile."
    assert "Mine too." in read(home, STORY)
    found = {change.path: change.text for change in home.changes(journal)}
    assert found == {"exposition": "Mine meanwhile.", "climax": "Mine too."}


def test_a_file_laid_while_the_run_goes_is_left(home: ProjectFolder, journal: Journal) -> None:
    home.begin(journal)
    put(home, "plan/conflict.md", "Mine meanwhile.")
    journal.artefacts.keep("conflict", "New.", "made")
    home.write_kept(journal, Kept("conflict", "plan", "New.", "made"))
    assert home.changes(journal) == [FileChange("conflict", "plan/conflict.md", "Mine meanwhile.")]


def test_a_part_that_moves_takes_its_file_along(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    home.begin(journal)
    home.write_kept(journal, Kept("climax", "story", "Text of climax.", "made"))
    assert journal.artefacts.places()["climax"] == "story/02-climax.md"  # the story is not whole yet
    home.write_kept(journal, Kept("exposition", "story", "Text of exposition.", "made"))
    home.write_story(journal, Story().add("Climax", "Text of climax.").add("Exposition", "Text of exposition."))
    assert journal.artefacts.places()["climax"] == "story/01-climax.md"
    assert not (home.folder / "story/02-climax.md").exists()
    assert read(home, "story/02-exposition.md") == "Text of exposition.\n"


def test_parts_have_the_numbers_of_their_scenes_in_whatever_order_they_were_kept(
    home: ProjectFolder, journal: Journal
) -> None:
    written(home, journal)
    files = journal.artefacts.places()
    home.begin(journal)
    for path in reversed(PARTS):  # as a part that the author edited is kept before those that are read as a whole
        home.write_kept(journal, Kept(path, "story", f"Text of {path}.", "edited"))
        assert journal.artefacts.places() == files
    home.write_story(journal, Story().add("Exposition", "Text of exposition.").add("Climax", "Text of climax."))
    assert journal.artefacts.places() == files


def test_a_part_does_not_move_onto_another_file(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    home.begin(journal)
    put(home, "story/01-climax.md", "The author's.")
    home.write_kept(journal, Kept("climax", "story", "Text of climax.", "made"))
    assert read(home, "story/01-climax.md") == "The author's."


def test_a_part_that_cannot_be_moved_is_named(
    home: ProjectFolder, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(home, journal)
    home.begin(journal)

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(home.folder), "replace", refuse)
    home.write_kept(journal, Kept("climax", "story", "Text of climax.", "made"))
    with pytest.raises(ProjectError, match=r"Cannot write .*01-climax.md\. You do not have permission to write there."):
        home.write_story(journal, Story().add("Climax", "Text of climax."))


# decisions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["climax", "story/02-climax.md", "02-climax.md", "02-climax", "./story/02-climax.md"])
def test_an_artefact_is_known_by_path_and_file(home: ProjectFolder, journal: Journal, name: str) -> None:
    written(home, journal)
    assert home.artefact(journal, name) == "climax"
    assert home.artefact(journal, f"{home.folder}/story/02-climax.md") == "climax"


def test_an_unknown_artefact_names_the_nearest(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    with pytest.raises(UnknownNameError, match=r"Unknown artefact 'climx'. Did you mean 'climax'\?"):
        home.artefact(journal, "climx")


def test_an_unknown_artefact_lists_the_nearest_five_in_natural_order(home: ProjectFolder, journal: Journal) -> None:
    home.begin(journal)
    for number in range(1, 13):
        journal.artefacts.keep(f"chapter-{number}", "Text.", "made")
        home.write_kept(journal, Kept(f"chapter-{number}", "story", "Text.", "made"))
    with pytest.raises(UnknownNameError) as error:
        home.artefact(journal, "the 9th")
    listed = str(error.value).partition("Known: ")[2].partition(", and ")
    names = listed[0].split(", ")
    assert (len(names), listed[2]) == (5, "7 more.")
    assert "chapter-9" in names
    assert names == sorted(names, key=lambda name: int(name.removeprefix("chapter-")))


def test_an_edit_is_recorded_and_in_the_file(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    home.edit(journal, "climax", "She waits.\n")
    assert journal.decisions.override("climax") == ("She waits.", "edited")
    assert read(home, "story/02-climax.md") == "She waits.\n"
    assert home.changes(journal) == []


def test_an_edit_to_nothing_is_refused(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    with pytest.raises(
        UsageError, match=r"The new text of 'climax' is empty\. Write some text, or run `fabula text retake climax`"
    ):
        home.edit(journal, "climax", " \n")


def test_an_edit_of_what_is_pinned_is_pinned_and_stays_when_the_pin_goes(home: ProjectFolder, journal: Journal) -> None:
    written(home, journal)
    journal.decisions.add("climax", "pin", "Text of climax.")
    put(home, "story/02-climax.md", "She waits.")
    home.take_over(journal, home.changes(journal))
    assert journal.decisions.override("climax") == ("She waits.", "pinned")
    written(home, journal)
    assert read(home, "story/02-climax.md") == "She waits.\n"
    journal.decisions.add("climax", "unpin")
    assert journal.decisions.override("climax") == ("She waits.", "edited")


def test_files_found_twice_in_one_command_are_taken_back_apart_and_gone_ones_as_the_last_saved(
    home: ProjectFolder, journal: Journal
) -> None:
    def taken_back() -> list[str]:
        done = journal.decisions.last_done()
        assert done is not None
        assert done.found
        for one in done.decisions:
            journal.decisions.add(one.path, "undo", target=one.id)
        return [one.path for one in done.decisions]

    written(home, journal)
    put(home, "story/02-climax.md", "She waits.")
    put(home, "plan/conflict.md", "She leaves.")
    changes = home.changes(journal)
    (home.folder / "story/02-climax.md").unlink()
    home.take_over(journal, changes, found=True)
    put(home, "story/01-exposition.md", "She comes.")
    home.take_over(journal, home.changes(journal), found=True)
    assert [taken_back() for _ in range(3)] == [["exposition"], ["climax"], ["conflict"]]
    assert journal.decisions.last_done() is None


# plans and role-plays -------------------------------------------------------------------------------------------------


def test_a_plan_laid_into_a_project_is_the_authors_edit(home: ProjectFolder, journal: Journal) -> None:
    home.write_given("plan/plan.yaml", "title: The Lamp\n\n")
    assert read(home, "plan/plan.yaml") == "title: The Lamp\n"
    changes = home.changes(journal)
    assert changes == [FileChange("plan", "plan/plan.yaml", "title: The Lamp")]
    home.take_over(journal, changes)
    assert journal.decisions.override("plan") == ("title: The Lamp", "edited")
    assert journal.artefacts.places() == {"plan": "plan/plan.yaml"}
    home.begin(journal)
    home.write_kept(journal, Kept("plan", "plan", "title: The Lamp", "edited", "yaml"))
    assert home.changes(journal) == []
    assert sorted(file.name for file in (home.folder / "plan").iterdir()) == ["plan.yaml"]


def test_a_plan_that_lies_there_already_is_not_written_again(home: ProjectFolder) -> None:
    put(home, "plan/plan.yaml", "title: The Lamp\r\n\r\n\r\n")
    home.write_given("plan/plan.yaml", "title: The Lamp")
    assert read(home, "plan/plan.yaml").count("\n") == 3
    home.write_given("plan/plan.yaml", "title: The Light")
    assert read(home, "plan/plan.yaml") == "title: The Light\n"


def test_files_of_other_kinds_are_no_artefacts(home: ProjectFolder, journal: Journal) -> None:
    for name in ("plan/notes.txt", "plan/plan.yml", "plan/.plan.yaml"):
        put(home, name, "Nothing of ours.")
    assert home.changes(journal) == []


def test_a_role_play_has_a_folder_that_comes_with_its_first_file(home: ProjectFolder, journal: Journal) -> None:
    assert not (home.folder / "role-play").exists()
    home.begin(journal)
    journal.artefacts.keep("role-play/the-letter", "**Mara:** She waits.", "made")
    home.write_kept(journal, Kept("role-play/the-letter", "role-play", "**Mara:** She waits.", "made"))
    assert read(home, "role-play/the-letter.md") == "**Mara:** She waits.\n"
    put(home, "role-play/the-letter.md", "**Mara:** She leaves.\n")
    assert home.changes(journal) == [
        FileChange("role-play/the-letter", "role-play/the-letter.md", "**Mara:** She leaves.")
    ]


def test_a_role_play_that_the_author_wrote_has_its_path_without_a_record(home: ProjectFolder, journal: Journal) -> None:
    (home.folder / "role-play").mkdir()
    put(home, "role-play/02-The storm.md", "**Mara:** She lights it.\n")
    (change,) = home.changes(journal)
    assert change == FileChange("role-play/the-storm", "role-play/02-The storm.md", "**Mara:** She lights it.")
    home.take_over(journal, [change])
    assert journal.decisions.override("role-play/the-storm") == ("**Mara:** She lights it.", "edited")


@pytest.mark.parametrize("name", ["~", "~/tale", "a/~"])
def test_a_folder_that_a_shell_takes_for_home_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = r"'~', which a shell interprets as your home folder, so .* full path"
    with pytest.raises(ProjectError, match=said):
        ProjectFolder.create(Path(name), Brief("A tale."))
    with pytest.raises(ProjectError, match=said):
        copy_sample(Path(name))
    assert not list(tmp_path.iterdir())
    ProjectFolder.create(Path("~draft"), Brief("A tale."))
