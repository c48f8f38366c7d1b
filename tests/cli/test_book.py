"""The book by its titles: contents, status, notes, and changes of all of it, which one undo takes back."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from fabula.app.contents import read_marks
from fabula.app.plan_cards import moved_volumes, plan_cards
from fabula.app.replacing import Search
from fabula.app.titles import HeadedText
from fabula.base.errors import UsageError
from fabula.project.folder import ProjectFolder
from fabula.verbs.home import Project
from killed import kill_in_writing

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

NOVEL = """\
# The Lamp

# PART ONE

## Chapter 1: The Letter

The letter had lain on the table since Monday. Mara knew it by heart.

* * *

Ivan came at noon. Mara's lamp was out.

## Chapter 2: The Storm

On Saturday the wind turned, and *the boat* was late.

# PART TWO

## Chapter 3: The Boat

In the morning the boat came home. Nobody asked Mara who had kept the light.
"""
SCRIPT = """\
[replies]
"writer:account" = "It is Monday. Mara has told nobody."
writer = "Mara went down to the quay. Ivan took the rope from her hand, and neither of them spoke of the letter."
"""
ONE, TWO, THREE = "chapter-1-the-letter", "chapter-2-the-storm", "chapter-3-the-boat"


@pytest.fixture
def lamp(cli: Cli) -> Path:
    """The project `lamp`, made of a novel in two volumes."""
    (cli.folder / "novel.md").write_text(NOVEL, encoding="utf-8")
    (cli.folder / "script.toml").write_text(SCRIPT, encoding="utf-8")
    assert cli("import", "novel.md", "--out", "lamp", "--model", "scripted:script.toml").code == 0
    return cli.folder / "lamp"


def files(folder: Path) -> dict[str, str]:
    """The texts of a project, by file."""
    found = [*folder.glob("story/*"), *folder.glob("plan/*"), *folder.glob("notes/*"), folder / "story.md"]
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in found}


def told(folder: Path) -> list[str]:
    """The lines of `story.md` that a reader sees."""
    lines = (folder / "story.md").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("<!-- scene:")]


# contents -------------------------------------------------------------------------------------------------------------


def test_the_book_is_shown_by_volumes_and_chapters(cli: Cli, lamp: Path) -> None:
    found = cli("show", "lamp", "--contents", "--json").json
    assert [(line["volume"], line["title"], line["words"]) for line in found["lines"]] == [
        ("PART ONE", "Chapter 1: The Letter", 28),
        ("PART ONE", "Chapter 2: The Storm", 14),
        ("PART TWO", "Chapter 3: The Boat", 21),
    ]
    (lamp / "plan/chapters.md").write_text(
        (lamp / "plan/chapters.md").read_text()
        + "Point of view: Mara\nPresent: Mara, Ivan\nNobody asks.\n\n## The Ferry (about 1500 words)\nTobias comes.\n"
    )
    shown = cli("show", "lamp", "--contents").out
    assert "PART ONE\n  Chapter 1: The Letter" in shown
    assert "Mara           Nobody asks.\n" in shown
    assert "  The Ferry              not written" in shown
    assert cli("show", "lamp", ONE, "--contents").err == (
        "fabula: --contents lists all parts of the story. Leave the name of the text out.\n"
    )


def test_a_text_without_a_heading_is_a_scene_of_the_chapter_before_it_and_an_epilogue_is_in_no_volume(
    cli: Cli, lamp: Path
) -> None:
    (lamp / "story/03b-later.md").write_text("Later the tide turned.\n")
    (lamp / "story/04-epilogue.md").write_text("# Epilogue\n\nYears later.\n")
    lines = cli("show", "lamp", "--contents", "--json").json["lines"]
    assert [(line["volume"], line["is_scene"]) for line in lines[-2:]] == [("PART TWO", True), ("", False)]


def test_status_and_target_are_noted_in_a_plain_file_and_undone(cli: Cli, lamp: Path) -> None:
    assert cli("text", "mark", "lamp", TWO, "--status", "revised", "--words", "2000").code == 0
    assert (lamp / "notes/status.yaml").read_text() == f"{TWO}: revised (2000 words)\n"
    assert "Chapter 2: The Storm      14   2,000  revised\n" in cli("show", "lamp", "--contents").out
    assert cli("text", "mark", "lamp", TWO, "--status", "", "--words", "0").code == 0
    assert not (lamp / "notes/status.yaml").exists()
    assert cli("undo", "lamp").code == 0
    assert (lamp / "notes/status.yaml").read_text() == f"{TWO}: revised (2000 words)\n"
    assert cli("undo", "lamp").out.startswith("Undone: edit of Status of the texts")
    assert not (lamp / "notes/status.yaml").exists()
    assert cli("redo", "lamp").code == 0
    assert (lamp / "notes/status.yaml").exists()
    assert "No call is needed" in cli("update", "lamp", "--dry-run").out


def test_what_cannot_be_marked_is_said(cli: Cli, lamp: Path) -> None:
    assert (
        "'chapters' is not a part of the story. `fabula show --contents -C lamp`"
        in cli("text", "mark", "lamp", "chapters").err
    )
    assert "ends like a target. Set the target" in cli("text", "mark", "lamp", ONE, "--status", "x (9 words)").err
    (lamp / "notes").mkdir()
    (lamp / "notes/status.yaml").write_text("- draft\n")
    assert "notes/status.yaml cannot be read: write one line for each" in cli("show", "lamp", "--contents").err
    assert "Correct the file first." in cli("text", "mark", "lamp", ONE, "--status", "done").err
    assert "A status has at most 40 characters" in cli("text", "mark", "lamp", ONE, "--status", "x" * 41).err
    assert read_marks("a: [\n")[1].startswith("notes/status.yaml cannot be read: line 2: ")
    assert read_marks("") == ({}, "")


def test_a_title_below_a_volume_is_renamed_alone(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    assert cli("text", "rename", "lamp", THREE, "--title", "The Return").code == 0
    assert (lamp / f"story/03-{THREE}.md").read_text().startswith("# PART TWO\n\n## The Return\n\nIn the morning")
    assert f"\n\n## 3. The Return (about 21 words) {{#{THREE}}}" in (lamp / "plan/chapters.md").read_text()
    assert "The Return" in told(lamp)[-2]
    for shown in (("show", "lamp", "--contents"), ("status", "lamp")):
        assert "The Return" in cli(*shown).out
        assert "The Boat" not in cli(*shown).out
    assert "No call is needed" in cli("update", "lamp", "--dry-run").out
    assert cli("text", "rename", "lamp", THREE, "--title", "The Return").out.endswith("already has that title.\n")
    assert cli("text", "rename", "lamp", THREE, "--title", "7 Days").code == 0
    assert "## 3. 7 Days (about" in (lamp / "plan/chapters.md").read_text()
    assert cli("undo", "lamp").code == cli("undo", "lamp").code == 0
    assert files(lamp) == before
    assert str(HeadedText.of("No heading.")) == "No heading."
    assert HeadedText.of("#" * 6 + " A\n" * 100_000).title == "A"


# notes ----------------------------------------------------------------------------------------------------------------


def test_notes_stand_beside_a_text_and_can_be_taken_away(cli: Cli, lamp: Path) -> None:
    ran = cli("text", "note", "lamp", TWO, "--text", "Cut the second letter?")
    assert ran.out == f"Your notes are in notes/{TWO}.md. No model sees them.\n"
    assert (lamp / f"notes/{TWO}.md").read_text() == "Cut the second letter?\n"
    assert f"Notes on Chapter 2: The Storm  notes/{TWO}" in cli("status", "lamp").out
    assert "has no effect" not in cli("status", "lamp").out
    assert cli("text", "note", "lamp", TWO, "--text", "").out == f"There is no notes/{TWO}.md.\n"
    assert not (lamp / f"notes/{TWO}.md").exists()
    assert cli("undo", "lamp").code == 0
    assert cli("show", "lamp", f"notes/{TWO}").out == "Cut the second letter?\n"


NUMBERED = "# Nov\n\n## 1. One\n\nMara's sea-mist rose at dawn.\n\n## 2. Two\n\nIvan came.\n\n## 3. Three\n\nEnd.\n"


@pytest.fixture
def nov(cli: Cli) -> Path:
    """The project `nov`, whose chapters have numbers."""
    (cli.folder / "nov.md").write_text(NUMBERED, encoding="utf-8")
    assert cli("import", "nov.md", "--out", "nov", "--model", "scripted:script.toml").code == 0
    return cli.folder / "nov"


def test_what_stands_in_the_place_of_a_text_or_a_status_is_explained(
    cli: Cli, nov: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Unknown artefact '3'. Did you mean '3-three'?" in cli("text", "mark", "nov", "3", "--status", "draft").err
    assert "Unknown artefact '9'. Known: 1-one" in cli("text", "mark", "nov", "9", "--status", "draft").err
    for words in (("nov", "3-three", "draft"), ("nov", "draft", "3-three")):
        ran = cli("text", "mark", *words)
        assert ran.code == 2
        assert f"There are too many arguments: {', '.join(words)}. Specify a project and one of its texts. " in ran.err
        assert "Anything else is an option, such as `--status draft`; `--help` lists the options." in ran.err
    ran = cli("text", "mark", "nov", "3-three")
    assert "There is nothing to note. Specify a status, such as draft, or a number of words." in ran.err
    monkeypatch.chdir(nov)
    assert "There are too many arguments: 3-three, draft. Specify" in cli("text", "mark", "3-three", "draft").err


def test_a_status_and_notes_are_written_again_after_an_undo(cli: Cli, nov: Path) -> None:
    for command in (("mark", "nov", "1-one", "--status", "draft"), ("note", "nov", "1-one", "--text", "Cut this?")):
        for _ in range(2):
            assert cli("text", *command).code == 0
            assert cli("text", *command).code == 0, "the same again is no change"
            undo = cli("status", "nov", "--json").json["undo"]
            assert undo in ("edit of Status of the texts", "edit of Notes on 1. One")
            assert cli("undo", "nov").code == 0
            assert cli("status", "nov", "--json").json["undo"] == ""
            assert not list((nov / "notes").glob("*"))


def test_notes_have_no_notes_and_go_with_a_text_that_is_merged(cli: Cli, nov: Path) -> None:
    for name in ("1-one", "2-two"):
        assert cli("text", "note", "nov", name, "--text", f"Of {name}.").code == 0
    ran = cli("text", "note", "nov", "notes/1-one", "--text", "Of notes.")
    assert ran.code == 2
    assert "notes/1-one.md is itself a file of your notes. Change it with `fabula edit notes/1-one -C nov`." in ran.err
    before = files(nov)
    assert cli("text", "merge", "nov", "2-two").code == 0
    assert files(nov)["notes/2-two.md"] == "Of 2-two.\n"
    assert cli("text", "merge", "nov", "1-one").code == 0
    assert {name: text for name, text in files(nov).items() if name.startswith("notes/")} == {
        "notes/1-one.md": "Of 1-one.\n\nOf 2-two.\n"
    }
    assert cli("show", "nov", "--contents", "--json").json["lines"][0]["note"] == "notes/1-one"
    for _ in range(2):
        assert cli("undo", "nov").code == 0
    assert files(nov) == before
    assert cli("undo", "nov").code == 0
    assert cli("text", "merge", "nov", "1-one").code == 0
    assert files(nov)["notes/1-one.md"] == "Of 1-one.\n", "only the first has notes"
    assert cli("undo", "nov").code == 0
    assert cli("undo", "nov").code == 0
    assert cli("text", "note", "nov", "2-two", "--text", "Of 2-two.").code == 0
    assert cli("text", "merge", "nov", "1-one").code == 0
    assert files(nov)["notes/1-one.md"] == "Of 2-two.\n", "only the second has notes"


@pytest.mark.parametrize("before", ["Ma", "Mara", "Mara'", "Mara's se", "Mara's sea", "Mara's sea-"])
def test_no_text_is_split_inside_a_word(cli: Cli, nov: Path, before: str) -> None:
    text = (nov / "story/01-1-one.md").read_text()
    at = text.index("Mara") + len(before)
    stands = files(nov)
    ran = cli("text", "split", "nov", "1-one", "--at", str(at))
    assert (ran.code, "That place is inside a word. Choose a place between two words." in ran.err) == (2, True)
    assert files(nov) == stands
    assert cli("text", "split", "nov", "1-one", "--at", str(text.index("sea-mist"))).code == 0


# find and replace -----------------------------------------------------------------------------------------------------


def test_words_are_found_with_their_places_and_replaced_with_their_capitals(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    shown = cli("text", "replace", "mara", "nora", "-C", "lamp", "--dry-run")
    assert (
        "1. Chapter 1: The Letter, line 5:\n   The letter had lain on the table since Monday. [Mara → Nora] knew"
        in shown.out
    )
    assert shown.out.startswith("3 places in 2 texts.\n1. Chapter 1")
    assert files(lamp) == before
    done = cli("text", "replace", "mara's", "Nora\u2019s", "-C", "lamp").out
    assert done == "Replaced 1 of 1 place in 1 text.\n"
    assert "Nora\u2019s lamp was out." in (lamp / "story.md").read_text()
    assert cli("undo", "lamp").code == 0
    assert (
        cli("text", "replace", "Mara", "Nora", "-C", "lamp", "--skip", "3").out
        == "Replaced 2 of 3 places in 2 texts.\n"
    )
    assert "Nobody asked Mara" in (lamp / "story.md").read_text()
    assert cli("undo", "lamp").out.startswith("Undone: edit of Chapter 1: The Letter")
    assert {name: text for name, text in files(lamp).items() if name.startswith("story")} == {
        name: text for name, text in before.items() if name.startswith("story")
    }


@pytest.mark.parametrize(
    ("old", "options", "count"),
    [
        ("boat", (), 3),
        ("boat", ("--case",), 2),
        ("boa", ("--whole-word",), 0),
        ("on  saturday\nthe", (), 1),
        ("boat", ("--in", TWO), 1),
        ("storm", ("--everywhere",), 2),
        (" on ", (), 2),
        ("the boat was", (), 0),
    ],
)
def test_what_is_found(cli: Cli, lamp: Path, old: str, options: tuple[str, ...], count: int) -> None:
    del lamp
    assert cli("text", "replace", old, "x", "-C", "lamp", "--dry-run", "--json", *options).json["count"] == count


def test_everywhere_is_also_the_codex_and_the_style_sheet_and_one_undo_takes_it_back(cli: Cli, lamp: Path) -> None:
    entry = ("--aliases", "Mara Holm", "--description", "Mara keeps the lamp.", "--facts", "fear: Mara's father")
    assert cli("codex", "set", "lamp", "--name", "Mara", *entry).code == 0
    (lamp / "style.md").write_text("Mara speaks in short sentences.\n")
    before = files(lamp) | {"style.md": (lamp / "style.md").read_text()}
    assert "Style, line 1:" in cli("text", "replace", "Mara", "Nora", "-C", "lamp", "--everywhere", "--dry-run").out
    done = cli("text", "replace", "Mara", "Nora", "-C", "lamp", "--everywhere").out
    assert done == "Replaced 8 of 8 places in 4 texts.\n"
    after = files(lamp) | {"style.md": (lamp / "style.md").read_text()}
    assert "Mara" not in "".join(after.values())
    assert after["style.md"] == "Nora speaks in short sentences.\n"
    assert "Nora Holm" in cli("codex", "show", "lamp", "--name", "Nora").out
    assert cli("undo", "lamp").code == 0
    assert files(lamp) | {"style.md": (lamp / "style.md").read_text()} == before
    assert cli("redo", "lamp").code == 0
    assert files(lamp) | {"style.md": (lamp / "style.md").read_text()} == after


def test_places_inside_longer_words_are_said(cli: Cli, lamp: Path) -> None:
    del lamp
    shown = cli("text", "replace", "oat", "x", "-C", "lamp", "--dry-run").out
    said = "3 of 3 are parts of longer words; to leave them out, add --whole-word."
    assert shown.startswith(f"3 places in 2 texts. {said}\n")
    assert cli("text", "replace", "oat", "oak", "-C", "lamp").out == f"Replaced 3 of 3 places in 2 texts. {said}\n"
    assert "longer words" not in cli("text", "replace", "boak", "x", "-C", "lamp", "--dry-run").out
    assert cli("text", "replace", "oak", "x", "-C", "lamp", "--whole-word").out.startswith("“oak” was not found.")
    for old, text, inside in (
        ("'s", "Mara's", False),
        ("船", "一船人", False),
        ("Kr", "Kra", True),
        ("ra", "Kra", True),
    ):
        assert [*map(Search(old, "").is_inside, Search(old, "").spans(text))] == [inside]


def test_the_names_of_texts_in_the_list_stay(cli: Cli, lamp: Path) -> None:
    assert cli("text", "replace", "Storm", "Gale", "-C", "lamp", "--everywhere").code == 0
    assert f"## Chapter 2: The Gale (about 14 words) {{#{TWO}}}" in (lamp / "plan/chapters.md").read_text()
    assert "No call is needed" in cli("update", "lamp", "--dry-run").out


def test_what_cannot_be_replaced_is_said_and_nothing_changes(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    assert (
        "There is nothing to look for. Specify the words to find." in cli("text", "replace", " ", "x", "-C", "lamp").err
    )
    whole = (lamp / f"story/02-{TWO}.md").read_text().strip()
    assert f"The new text of '{TWO}' is empty." in cli("text", "replace", whole, "", "-C", "lamp").err
    assert "Unknown artefact 'nothing'" in cli("text", "replace", "a", "b", "--in", "nothing", "-C", "lamp").err
    assert files(lamp) == before
    project = Project.open(lamp)
    seen = project.replace("Mara", "Nora", dry_run=True)
    project.edit(TWO, "## Chapter 2: The Storm\n\nMara slept.", None)
    with pytest.raises(UsageError, match="have changed since these places were listed"):
        project.replace("Mara", "Nora", base=seen.base)
    assert project.replace("Mara", "Nora", base=project.replace("Mara", "Nora", dry_run=True).base).replaced == 4


def test_places_to_skip_that_are_not_there_are_refused(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    for old, dry_run, there in (("Mara", (), 3), ("Ivan", ("--dry-run",), 1)):
        ran = cli("text", "replace", old, "Nora", "-C", "lamp", "--skip", "99", *dry_run)
        assert (ran.code, ran.out) == (2, "")
        assert f"There is no place 99 to skip: {there} found. List the places with `--dry-run`." in ran.err
    assert files(lamp) == before


def test_what_changes_nothing_says_so_and_undoes_nothing(cli: Cli, lamp: Path) -> None:
    assert cli("text", "note", "lamp", TWO, "--text", "Keep this.").code == 0
    assert cli("codex", "set", "lamp", "--name", "Mara").code == 0
    before, undo = files(lamp), cli("status", "lamp", "--json").json["undo"]
    for arguments, said in (
        (("text", "move", "lamp", ONE), "Nothing has changed: the text is already there.\n"),
        (("text", "move", "lamp", TWO, "--after", ONE), "Nothing has changed: the text is already there.\n"),
        (("text", "replace", "Mara", "Mara", "-C", "lamp"), "0 of 3 places in 2 texts. Nothing has changed.\n"),
        (("text", "replace", "Zora", "x", "-C", "lamp"), "“Zora” was not found. Nothing has changed.\n"),
        (("codex", "set", "lamp", "--name", "Mara"), "Mara already reads like that.\n"),
    ):
        ran = cli(*arguments)
        assert ran.out.endswith(said)
        assert "undo" not in ran.err
    assert (files(lamp), cli("status", "lamp", "--json").json["undo"]) == (before, undo)


def test_what_is_said_of_a_models_reading_is_true_after_the_story_has_changed(cli: Cli, lamp: Path) -> None:
    reading = {"entries": [{"kind": "person", "name": "Ivan", "aliases": [], "description": "He rows."}]}
    line = f'"labeller:read_codex" = {json.dumps(json.dumps(reading))}\n'
    (lamp.parent / "script.toml").write_text(SCRIPT + line, encoding="utf-8")
    advice = "for names. To see the cost: `fabula codex read --dry-run lamp`.\n"
    assert f"No model has read the story as it is now {advice}" in cli("codex", "show", "lamp").err
    assert cli("codex", "read", "lamp").code == 0
    assert "has read the story" not in cli("codex", "show", "lamp").err
    assert cli("text", "replace", "Mara", "Nora", "-C", "lamp").code == 0
    ran = cli("codex", "show", "lamp")
    assert "Ivan (person)" in ran.out
    assert f"The story has changed since a model read it {advice}" in ran.err
    assert "Accept a proposed entry with" in ran.err


def test_after_undo_an_update_is_advised_only_if_it_has_something_to_do(cli: Cli, lamp: Path) -> None:
    assert cli("text", "replace", "Mara", "Nora", "-C", "lamp").code == 0
    ran = cli("undo", "lamp")
    assert "fabula update" not in ran.err
    assert "`fabula redo lamp` redoes it." in ran.err


def test_the_length_asked_of_a_continued_text_stays_when_it_is_edited_or_pinned(cli: Cli, lamp: Path) -> None:
    assert cli("text", "continue", "lamp", THREE, "--words", "20").code == 0
    assert cli("update", "lamp", "--yes").code == 0

    def asked() -> tuple[list[int] | None, int | None]:
        rows = {one["name"]: one["asked"] for one in cli("status", "lamp", "--json").json["artefacts"]}
        lines = {one["name"]: one["target"] for one in cli("show", "lamp", "--contents", "--json").json["lines"]}
        return rows[THREE], lines[THREE]

    before = asked()
    assert before[0] is not None
    assert before[0][0] < 21 + 20 < before[0][1], "of the whole text"
    assert before[1] == sum(before[0]) // 2
    assert cli("text", "replace", "quay", "pier", "-C", "lamp").code == 0
    assert asked() == before
    assert cli("text", "pin", "lamp", THREE).code == 0
    assert asked() == before
    for _ in range(3):
        assert cli("undo", "lamp").code == 0
    assert asked() == (None, None), "nobody asked for a length of the imported text"


def test_undo_and_redo_write_story_md_also_beside_a_text_that_was_written_for_you(cli: Cli, lamp: Path) -> None:
    assert cli("text", "continue", "lamp", THREE).code == 0
    assert cli("update", "lamp", "--yes").code == 0
    before = files(lamp)
    assert "went down to the quay" in before["story.md"]
    assert cli("text", "replace", "Mara", "Nora", "-C", "lamp").code == 0
    after = files(lamp)
    assert "Mara" not in after["story.md"]
    ran = cli("undo", "lamp")
    assert files(lamp) == before
    assert "fabula update" not in ran.err
    assert cli("redo", "lamp").code == 0
    assert files(lamp) == after


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("replace", "Mara", "Nora", "-C", "lamp"),
        ("split", "lamp", ONE, "--passage", "Ivan came at noon."),
        ("move", "lamp", THREE),
    ],
    ids=lambda command: command[0],
)
def test_status_says_that_a_command_was_killed_and_an_update_finishes_it(
    cli: Cli, lamp: Path, command: tuple[str, ...]
) -> None:
    fresh = lamp.rename(cli.folder / "fresh")
    shutil.copytree(fresh, lamp)
    assert cli("text", *command).code == 0
    whole = files(lamp)
    for written in range(20):
        shutil.rmtree(lamp)
        shutil.copytree(fresh, lamp)
        if not kill_in_writing(written, ("text", *command), cli.folder):
            break
        ran = cli("status", "lamp")
        assert ran.code == 0
        assert "Next: run `fabula update lamp` to write the files that are behind. No call is needed." in ran.out
        killed = "A command was killed before it had written" in ran.out
        assert killed or written, "no file was written"
        assert cli("update", "lamp", "--json").json["asked"] == 0
        assert files(lamp) == whole
        assert "Everything is up to date." in cli("status", "lamp").out
        assert cli("undo", "lamp").code == 0
        assert told(lamp) == told(fresh)
    assert written > 2


def test_status_says_which_file_is_empty_and_what_writes_it_again(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    for file in (f"story/01-{ONE}.md", "story.md", "plan/chapters.md"):
        (lamp / file).write_text(" \n")
        ran = cli("status", "lamp")
        assert ran.code == 0
        assert f"{file} is empty" in ran.out
        assert "Next: run `fabula update lamp` to write the files that are behind. No call is needed." in ran.out
        assert cli("update", "lamp").code == 0
        assert files(lamp) == before
        assert "Everything is up to date." in cli("status", "lamp").out


def test_names_that_nobody_has_are_said(cli: Cli, lamp: Path) -> None:
    ran = cli("codex", "set", "lamp", "--name", "Mara", "--secret", "S", "--known-to", "Ivna", "--known-to", "Mara")
    said = "Your codex says that “Ivna” knows the secret of “Mara”, but nobody has that name."
    assert f"{said} Correct it there, or add an entry for “Ivna”." in ran.err
    assert "Ivna" not in [one["name"] for one in cli("codex", "show", "lamp", "--json").json["entries"]]
    assert said in cli("codex", "show", "lamp").err
    shown = cli("codex", "show", "lamp", "--name", "Mara").out
    assert re.search(r"Mentioned in:\n- .+ \(\d+\): .*\bMara\b", shown), shown
    assert cli("codex", "set", "lamp", "--name", "Ivan").code == 0
    assert "Did you mean “Ivan”? Otherwise, add an entry" in cli("codex", "show", "lamp").err
    (lamp / "plan/codex.yaml").write_text("entries:\n- name: Mara\n  facts: {eyes: grey}\n")
    ran = cli("update", "lamp", "--dry-run")
    assert "has no effect" not in ran.out + ran.err, "writers get the codex"
    assert "not used any more" not in cli("status", "lamp").out


def test_a_codex_that_cannot_be_read_stops_a_run_and_can_be_corrected(cli: Cli, lamp: Path) -> None:
    (lamp / "plan/codex.yaml").write_text("entries:\n- nme: Mara\n")
    ran = cli("update", "lamp", "--dry-run")
    assert (ran.code, "lamp/plan/codex.yaml:2: entry 1: There is no 'nme' here. Did you mean 'name'?" in ran.err) == (
        2,
        True,
    )
    assert cli("edit", "codex", "-C", "lamp", "--text", "entries: [{nme: Mara}]").code == 2
    assert cli("edit", "codex", "-C", "lamp", "--text", "entries: [{name: Mara}]").code == 0
    assert cli("update", "lamp", "--dry-run").code == 0


def test_looking_takes_linear_time() -> None:
    for old in (" a", "a a", "'", "a" * 500):
        for sign in (" ", "a", "'", "\n", "{", "#"):
            assert Search(old, "b").spans(sign * 100_000) is not None


# splitting and merging ------------------------------------------------------------------------------------------------


def test_a_text_is_split_and_put_together_again_and_nothing_is_asked(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    assert cli("text", "split", "lamp", ONE, "--passage", "Ivan came").code == 0
    assert [*sorted((lamp / "story").iterdir())][1].name == f"02-{ONE}-2.md"
    assert told(lamp) == [line for line in NOVEL.split("\n") if line], "word for word"
    after = files(lamp)
    ran = cli("update", "lamp", "--json")
    assert (ran.json["asked"], ran.json["replayed"]) == (0, 0)
    assert files(lamp) == after
    assert cli("undo", "lamp").code == 0
    assert files(lamp) == before
    assert cli("redo", "lamp").code == 0
    assert files(lamp) == after
    assert cli("text", "merge", "lamp", ONE).code == 0
    assert files(lamp) == before, "a scene without a heading is joined as it was"


def test_a_chapter_with_a_title_of_its_own_is_split_off_and_merged_with_a_break(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    assert cli("text", "split", "lamp", ONE, "--passage", "Ivan came", "--title", "Noon").code == 0
    assert (lamp / "story/02-noon.md").read_text() == "## Noon\n\nIvan came at noon. Mara's lamp was out.\n"
    assert (lamp / f"story/01-{ONE}.md").read_text().endswith("Mara knew it by heart.\n")
    assert "## 2. Noon (about 9 words) {#noon}" in (lamp / "plan/chapters.md").read_text()
    assert cli("text", "merge", "lamp", ONE).code == 0
    assert files(lamp) == before
    assert cli("text", "split", "lamp", ONE, "--at", "85", "--title", "Noon").code == 0, (
        "a name that a text had is free"
    )


def test_the_next_chapter_is_written_after_a_split_and_no_text_of_the_author_changes(cli: Cli, lamp: Path) -> None:
    assert cli("text", "split", "lamp", THREE, "--passage", "Nobody asked", "--title", "The Light").code == 0
    with (lamp / "plan/chapters.md").open("a") as file:
        file.write("\n## The Ferry (about 22 words)\nTobias comes.\n")
    before = files(lamp)
    assert cli("update", "lamp", "--yes").code == 0
    after = files(lamp)
    assert {name: text for name, text in after.items() if name in before and name != "story.md"} == {
        name: text for name, text in before.items() if name != "story.md"
    }
    assert "Mara went down to the quay" in after["story/05-the-ferry.md"]
    refused = cli("text", "split", "lamp", ONE, "--passage", "Ivan came")
    assert "“The Ferry” was written for you, so the next run would write it again" in refused.err
    assert "run `fabula text pin --all -C lamp`. Then repeat this." in refused.err
    assert cli("text", "pin", "--all", "-C", "lamp").code == 0
    assert cli("text", "merge", "lamp", THREE).code == 0
    assert cli("text", "move", "lamp", "the-ferry").code == 0
    ran = cli("update", "lamp", "--json")
    assert (ran.json["asked"], ran.json["replayed"]) == (0, 0)
    for _ in range(3):
        assert cli("undo", "lamp").code == 0
    assert {name: text for name, text in files(lamp).items() if name != "story.md"} == {
        name: text for name, text in after.items() if name != "story.md"
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("split", "lamp", ONE), "Specify where the second text begins, by its first words"),
        (("split", "lamp", ONE, "--passage", "PART ONE"), "There are no words before or after that place."),
        (("split", "lamp", ONE, "--at", "87"), "That place is inside a word."),
        (("split", "lamp", ONE, "--at", "999999"), "There is no place after character 999,999"),
        (("split", "lamp", TWO, "--passage", "On Saturday"), "There are no words before or after that place."),
        (("split", "lamp", "chapters", "--at", "3"), "chapters is not listed in lamp/plan/chapters.md."),
        (("merge", "lamp", TWO), "“Chapter 3: The Boat” begins the volume “PART TWO”. Move its heading first"),
        (("merge", "lamp", THREE), f"{THREE} cannot be merged with the next text: it is the last one."),
        (("move", "lamp", TWO, "--after", TWO), f"{TWO} cannot come after itself. Specify another text."),
        (("move", "lamp", TWO, "--after", "chapters"), "chapters is not listed in lamp/plan/chapters.md."),
    ],
)
def test_what_cannot_be_arranged_is_said(cli: Cli, lamp: Path, arguments: tuple[str, ...], message: str) -> None:
    before = files(lamp)
    ran = cli("text", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert files(lamp) == before


def test_a_story_that_follows_a_plan_is_not_arranged(cli: Cli, written: Path) -> None:
    del written
    assert cli("sample", "demo").code == 0
    for arguments in (("merge", "demo", "climax"), ("move", "demo", "climax")):
        assert "The parts of this story are not listed in plan/chapters.md" in cli("text", *arguments).err


# moving ---------------------------------------------------------------------------------------------------------------


def test_a_chapter_is_moved_and_files_and_story_follow(cli: Cli, lamp: Path) -> None:
    before = files(lamp)
    assert cli("text", "move", "lamp", TWO).code == 0
    assert sorted(file.name for file in (lamp / "story").iterdir()) == [
        f"01-{TWO}.md",
        f"02-{ONE}.md",
        f"03-{THREE}.md",
    ]
    assert (lamp / f"story/01-{TWO}.md").read_text().startswith("# PART ONE\n\n## Chapter 2")
    assert told(lamp)[1:3] == ["# PART ONE", "## Chapter 2: The Storm"]
    assert told(lamp).count("# PART ONE") == 1
    after = files(lamp)
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert files(lamp) == after
    assert cli("undo", "lamp").code == 0
    assert files(lamp) == before
    assert cli("redo", "lamp").code == 0
    assert files(lamp) == after


def test_the_only_text_of_a_volume_takes_its_heading_along(cli: Cli, lamp: Path) -> None:
    assert cli("text", "move", "lamp", THREE).code == 0
    assert [line for line in told(lamp) if line.startswith("#")] == [
        *("# The Lamp", "# PART TWO", "## Chapter 3: The Boat", "# PART ONE", "## Chapter 1: The Letter"),
        "## Chapter 2: The Storm",
    ]


def test_an_order_of_story_md_is_gone_on_from(cli: Cli, lamp: Path) -> None:
    story = (lamp / "story.md").read_text()
    head, one, two, three = story.split("<!-- scene: ")
    (lamp / "story.md").write_text("<!-- scene: ".join([head, three, one.rstrip() + "\n\n", two]))
    assert [line["name"] for line in cli("show", "lamp", "--contents", "--json").json["lines"]] == [ONE, TWO, THREE]
    assert cli("text", "move", "lamp", TWO).code == 0
    assert [line["name"] for line in cli("show", "lamp", "--contents", "--json").json["lines"]] == [TWO, THREE, ONE]
    assert next(line for line in told(lamp) if line.startswith("## ")) == "## Chapter 2: The Storm"


def test_a_list_of_chapters_on_the_plan_page_moves_the_book_and_keeps_its_volumes(cli: Cli, lamp: Path) -> None:
    del cli
    project = Project.open(lamp)
    text = project.text("chapters").text
    project.edit("chapters", text.replace("## Chapter 3", "# Two\n\n## Chapter 3"), None)
    cards = plan_cards({"chapters": project.text("chapters").text}, ())
    assert [card.volume for card in cards.cards] == ["", "", "# Two"]
    moved = cards.moved(2, 1)
    assert (
        moved.index("## Chapter 2") < moved.index("## Chapter 1") < moved.index("# Two") < moved.index("## Chapter 3")
    )
    project.edit("chapters", moved, None)
    assert (lamp / f"story/01-{TWO}.md").exists()
    assert project.undo().artefacts == ("chapters",)
    assert (lamp / f"story/01-{ONE}.md").exists()


@pytest.mark.parametrize(
    ("volumes", "order", "expected"),
    [
        ("AABB", [1, 2, 3, 0], "ABBB"),
        ("AABB", [2, 0, 1, 3], "AAAB"),
        ("AABB", [0, 2, 1, 3], "AAAB"),
        ("ABB", [1, 2, 0], "BBA"),
        ("AB", [0, 1], "AB"),
    ],
)
def test_a_text_goes_over_to_the_volume_that_it_is_moved_into(volumes: str, order: list[int], expected: str) -> None:
    found = moved_volumes([volumes[place] for place in order], order)
    assert "".join(found) == expected


# snapshots ------------------------------------------------------------------------------------------------------------


def test_a_snapshot_is_named_compared_and_restored_and_undo_goes_over_it(cli: Cli, lamp: Path) -> None:
    assert cli("text", "snapshot", "-C", "lamp").out == "There is no snapshot yet.\n"
    before = files(lamp)
    assert cli("text", "note", "lamp", ONE, "--text", "Keep.").code == 0
    first = files(lamp)
    assert "       1  before the cut  " in cli("text", "snapshot", "before the cut", "-C", "lamp").out
    assert cli("text", "split", "lamp", ONE, "--passage", "Ivan came", "--title", "Noon").code == 0
    assert cli("text", "merge", "lamp", "noon").code == 0
    assert cli("text", "mark", "lamp", ONE, "--status", "done").code == 0
    assert cli("text", "note", "lamp", ONE, "--text", "").code == 0
    later = files(lamp)
    found = cli("text", "snapshot", "--compare", "1", "-C", "lamp", "--json").json["changes"]
    assert {one["name"]: one["change"] for one in found} == {
        "chapters": "changed",
        ONE: "changed",
        TWO: "gone",
        "noon": "added",
        f"notes/{ONE}": "gone",
        "notes/status": "added",
    }
    assert "These texts are restored." in cli("text", "snapshot", "--restore", "1", "-C", "lamp").out
    assert files(lamp) == first
    assert cli("text", "snapshot", "--compare", "1", "-C", "lamp").out == "No text differs from “before the cut”.\n"
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert files(lamp) == first
    assert cli("undo", "lamp").code == 0
    assert files(lamp) == later
    for _ in range(5):
        assert cli("undo", "lamp").code == 0
    assert files(lamp) == before
    assert len(cli("text", "snapshot", "-C", "lamp", "--json").json["snapshots"]) == 1


def test_one_text_of_a_snapshot_is_restored(cli: Cli, lamp: Path) -> None:
    assert cli("text", "snapshot", "one", "-C", "lamp").code == 0
    assert cli("text", "replace", "Mara", "Nora", "-C", "lamp").code == 0
    ran = cli("text", "snapshot", "--restore", "1", "--in", THREE, "-C", "lamp")
    assert "Chapter 3: The Boat  changed " in ran.out
    assert [line.count("Nora") for line in told(lamp)].count(1) == 2
    assert "Use only one of NAME, --compare N" in cli("text", "snapshot", "x", "--restore", "1", "-C", "lamp").err
    assert "Unknown snapshot '7'. Known: 1." in cli("text", "snapshot", "--restore", "7", "-C", "lamp").err
    with pytest.raises(UsageError, match="The snapshot has no name"):
        Project.open(lamp).snapshot("  ")
    with pytest.raises(UsageError, match="The name of a snapshot has at most 80 characters; this one has 81"):
        Project.open(lamp).snapshot("x" * 81)


def test_a_written_story_has_snapshots_too(cli: Cli) -> None:
    assert cli("sample", "demo").code == 0
    assert cli("text", "snapshot", "first", "-C", "demo").code == 0
    assert cli("edit", "climax", "--text", "Short.", "-C", "demo").code == 0
    assert "Climax  changed" in cli("text", "snapshot", "--restore", "1", "-C", "demo").out
    assert cli("text", "snapshot", "--compare", "1", "-C", "demo").out == "No text differs from “first”.\n"


# cards read from the texts --------------------------------------------------------------------------------------------

VIEW, PLANTED = ["Point of view: Mara"], ["Planted: What the letter says. Why the lamp is out."]
CARDS = {
    f"cards/{ONE}/read_card": {
        "synopsis": "Mara does not open\nthe letter.",
        "viewpoint": "Mara",
        "present": ["Mara", "Ivan"],
        "when": "Monday to Saturday",
        "planted": ["What the letter says.", "Why the lamp is out."],
    },
    f"cards/{TWO}/read_card": {"synopsis": "The boat is late.", "where": "the harbour", "due": ["The lamp is out."]},
    f"cards/{THREE}/read_card": {"synopsis": "The boat comes home."},
}


def test_cards_are_read_proposed_and_accepted_one_by_one_and_paid_once(cli: Cli, lamp: Path) -> None:
    replies = "".join(f"{json.dumps(path)} = {json.dumps(json.dumps(card))}\n" for path, card in CARDS.items())
    (cli.folder / "script.toml").write_text(f"{SCRIPT}{replies}")
    before = (lamp / "plan/chapters.md").read_text()
    assert cli("text", "outline", "lamp", "--dry-run", "--json").json["total_calls"] == 3
    ran = cli("text", "outline", "lamp")
    assert "Chapter 1: The Letter (chapter-1-the-letter)\n  Mara does not open the letter.\n" in ran.out
    assert "Nothing is saved yet." in ran.err
    assert (lamp / "plan/chapters.md").read_text() == before
    calls = cli("status", "lamp", "--json").json["calls"]
    assert calls == 3
    asked = cli("show", "lamp", "--prompts", "--json").json["calls"]
    assert "Planted: What the letter says. Why the lamp is out." in asked[1]["messages"][-1]["text"]
    assert cli("text", "outline", "lamp", "--accept", ONE).code == 0
    block = (lamp / "plan/chapters.md").read_text().partition("\n\n")[0].split("\n")
    assert block[:3] == [
        f"## Chapter 1: The Letter (about 28 words) {{#{ONE}}}",
        "Mara does not open the letter.",
        *VIEW,
    ]
    assert block[3:] == ["Present: Mara, Ivan", "When: Monday to Saturday", *PLANTED]
    assert cli("text", "outline", "lamp", "--accept-all").code == 0
    assert cli("status", "lamp", "--json").json["calls"] == calls, "nothing is paid again"
    assert "Every card is filled." in cli("text", "outline", "lamp").out
    line = cli("show", "lamp", "--contents", "--json").json["lines"][0]
    assert (line["synopsis"], line["viewpoint"]) == ("Mara does not open the letter.", "Mara")
    card = plan_cards({"chapters": (lamp / "plan/chapters.md").read_text()}, ()).cards[1]
    assert (card.scene.place, card.due, card.outline) == ("the harbour", "The lamp is out.", ("The boat is late.",))
    assert cli("update", "lamp", "--json").json["asked"] == 0
    for _ in range(2):
        assert cli("undo", "lamp").code == 0
    assert (lamp / "plan/chapters.md").read_text() == before


def test_a_card_that_was_refused_is_proposed_again_only_by_name(cli: Cli, lamp: Path) -> None:
    replies = "".join(f"{json.dumps(path)} = {json.dumps(json.dumps(card))}\n" for path, card in CARDS.items())
    (cli.folder / "script.toml").write_text(f"{SCRIPT}{replies}")
    card = cli("text", "outline", "lamp", "--json").json["cards"][1]
    with ProjectFolder.open(lamp).recorded() as journal:
        journal.decisions.add(card["name"], "refuse", card["text"])
    ran = cli("text", "outline", "lamp")
    assert f"Refused before, so not proposed again: {TWO}." in ran.out
    assert "The boat is late." not in ran.out
    assert "Nothing is saved yet." in ran.err
    assert "The boat is late." in cli("text", "outline", "lamp", "--only", TWO).out
    assert cli("text", "outline", "lamp", "--accept-all").code == 0
    assert "The boat is late." not in (lamp / "plan/chapters.md").read_text()
    assert cli("text", "outline", "lamp", "--accept", TWO).code == 0
    assert "The boat is late." in (lamp / "plan/chapters.md").read_text()


def test_what_cannot_be_outlined_is_said(cli: Cli, lamp: Path) -> None:
    assert "chapters is not listed in lamp/plan/chapters.md" in cli("text", "outline", "lamp", "--only", "chapters").err
    assert cli("sample", "demo").code == 0
    assert "This story has no list of chapters, whose cards could be filled." in cli("text", "outline", "demo").err
    replies = "".join(f"{json.dumps(path)} = {json.dumps(json.dumps(card))}\n" for path, card in CARDS.items())
    (cli.folder / "script.toml").write_text(f"{SCRIPT}{replies}")
    ran = cli("text", "outline", "lamp", "--only", ONE, "--accept", TWO)
    assert f"The card of {TWO!r} was not read now. Repeat this with `--only {TWO}`." in ran.err
