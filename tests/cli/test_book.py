"""The book by its titles: contents, status, notes, and changes of all of it, which one undo takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.app.contents import read_marks
from fabula.app.titles import HeadedText

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
    (lamp / "notes").mkdir()
    (lamp / "notes/status.yaml").write_text("- draft\n")
    assert "notes/status.yaml cannot be read: write one line for each" in cli("show", "lamp", "--contents").err
    assert "Correct the file first." in cli("text", "mark", "lamp", ONE, "--status", "done").err
    assert read_marks("a: [\n")[1].startswith("notes/status.yaml cannot be read: line 2: ")
    assert read_marks("") == ({}, "")


def test_a_title_below_a_volume_is_renamed_alone(cli: Cli, lamp: Path) -> None:
    assert cli("text", "rename", "lamp", THREE, "--title", "The Return").code == 0
    assert (lamp / f"story/03-{THREE}.md").read_text().startswith("# PART TWO\n\n## The Return\n\nIn the morning")
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
