"""Nothing that the author does to the files of a story is ignored: it has a meaning, or a sentence says it has none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.story import Story

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

LABELS = ["Exposition", "Rising Action", "Climax", "Falling Action", "Resolution"]
EPILOGUE = "Years later the lamp was electric, and Mara missed the matches."


def story(project: Path) -> Story:
    return Story.parse((project / "story.md").read_text())


def labels(project: Path) -> list[str]:
    return [scene.label for scene in story(project).scenes]


def update(cli: Cli) -> None:
    data = cli("update", "lamp", "--yes", "--json").json
    assert data["asked"] == 0


def said_everywhere(cli: Cli, sentence: str) -> None:
    """Status, a dry run and the update say it; the next status, with everything done, does not."""
    here = re.sub("`fabula (text [^`]*|update)`", r"`fabula \1 -C lamp`", sentence)  # as typed in a terminal
    assert here in cli("status", "lamp").out
    assert sentence in cli("status", "lamp", "--json").json["estimate"]["of_files"]
    assert here in cli("update", "lamp", "--dry-run").out
    ran = cli("update", "lamp", "--yes")
    assert ran.out.count(here) + ran.err.count(here) == 1
    assert sentence not in cli("status", "lamp").out


@pytest.mark.parametrize(
    ("name", "place"),
    [("06-epilogue.md", 5), ("00-epilogue.md", 0), ("03a-epilogue.md", 3), ("epilogue.md", 5), ("02-z.md", 2)],
)
def test_a_new_file_stands_in_the_story_at_its_place(cli: Cli, project: Path, name: str, place: int) -> None:
    (project / "story" / name).write_text(EPILOGUE + "\n")
    said_everywhere(
        cli,
        f"story/{name} is your own text: its name determines its place in the story, and no model rewrites it.",
    )
    assert story(project).scenes[place].text == EPILOGUE
    assert len(story(project).scenes) == 6
    cli("export", "lamp", "--format", "md", "--out", "book.md")
    assert EPILOGUE in (cli.folder / "book.md").read_text()
    (project / "plan/setting.md").write_text("A mill by a river.\n")
    cli("update", "lamp", "--yes")
    assert story(project).scenes[place].text == EPILOGUE
    state = {a["file"]: ", ".join(a["states"]) for a in cli("status", "lamp", "--json").json["artefacts"]}
    assert state[f"story/{name}"] == "edited, your own"


def test_an_own_text_is_edited_renamed_and_deleted_like_any_file(cli: Cli, project: Path) -> None:
    own = project / "story/06-epilogue.md"
    own.write_text(EPILOGUE)
    update(cli)
    (project / "story.md").write_text((project / "story.md").read_text().replace("electric", "gone"))
    update(cli)
    assert "gone" in own.read_text()
    own.rename(project / "story/00-prologue.md")
    said_everywhere(
        cli, ("story/00-prologue.md, formerly story/06-epilogue.md, is placed in the story according to its name.")
    )
    assert labels(project)[0] == "Epilogue"
    (project / "story/00-prologue.md").unlink()
    said_everywhere(cli, "story/00-prologue.md, your own text, was deleted and is removed from the story.")
    assert labels(project) == LABELS


@pytest.mark.parametrize("own", [True, False])
def test_a_file_that_was_renamed_and_written_anew_is_one_file(cli: Cli, project: Path, *, own: bool) -> None:
    """Two files of one artefact would be refused at the next edit, and the author has made only one."""
    before, after = ("06-epilogue", "00-epilogue") if own else ("03-climax", "36-climax")
    if own:
        (project / f"story/{before}.md").write_text(EPILOGUE)
        update(cli)
    (project / f"story/{before}.md").unlink()
    (project / f"story/{after}.md").write_text("All of it otherwise.\n")
    cli("update", "lamp", "--yes")
    there = [name for name in (before, after) if (project / f"story/{name}.md").exists()]
    assert there == ["00-epilogue" if own else "03-climax"]
    assert (project / f"story/{there[0]}.md").read_text() == "All of it otherwise.\n"
    assert labels(project)[0 if own else 2] == ("Epilogue" if own else LABELS[2])
    (project / f"story/{there[0]}.md").write_text("And again.\n")
    cli("update", "lamp", "--yes")
    assert "And again." in story(project).text


def test_an_own_text_that_was_taken_back_is_said_to_be_out_of_the_story(cli: Cli, project: Path) -> None:
    own = project / "story/06-epilogue.md"
    own.write_text(EPILOGUE)
    assert "Undone: your change to Epilogue (" in cli("undo", "lamp").out
    said = "story/06-epilogue.md is not in the story because you undid it."
    assert said in cli("status", "lamp").out
    assert said in cli("update", "lamp", "--yes").out
    assert labels(project) == LABELS
    assert own.read_text().strip() == EPILOGUE.strip()
    own.write_text("After all: the trees were sold.\n")
    assert said not in cli("status", "lamp").out
    cli("update", "lamp", "--yes")
    assert labels(project) == [*LABELS, "Epilogue"]
    assert said not in cli("status", "lamp").out


@pytest.mark.parametrize("command", ["retake", "continue"])
def test_nobody_else_writes_an_own_text(cli: Cli, project: Path, command: str) -> None:
    (project / "story/06-epilogue.md").write_text(EPILOGUE)
    update(cli)
    said = "epilogue is your own text, and only you can change it. Edit its file, or delete it."
    assert said in cli("text", command, "epilogue", "-C", "lamp").err
    assert said not in cli("text", command, "climax", "-C", "lamp").err


def test_a_new_scene_in_story_md_is_an_own_text_and_a_split_one_two(cli: Cli, project: Path) -> None:
    whole = (project / "story.md").read_text()
    first, second = "The storm broke the window.", "Mara held the flame with both her hands."
    assert f"{first} {second}" in whole
    (project / "story.md").write_text(
        whole.replace(f"{first} {second}", f"{first}\n\n<!-- scene: The flame -->\n{second}")
    )
    assert "story/03a-the-flame.md" in cli("update", "lamp", "--dry-run").out
    cli("update", "lamp", "--yes")
    assert (project / "story/03-climax.md").read_text() == first + "\n"
    assert (project / "story/03a-the-flame.md").read_text() == second + "\n"
    assert [scene.text for scene in story(project).scenes[2:4]] == [first, second]
    assert cli("update", "lamp", "--dry-run", "--json").json["changed"] == []


def test_a_new_scene_is_not_taken_for_a_plan_file(cli: Cli, project: Path) -> None:
    with (project / "story.md").open("a") as file:
        file.write("\n<!-- scene: Setting -->\nA mill.\n")
    assert (
        "story.md has a new scene 'setting', the name of lamp/plan/setting.md. Give it another"
        in cli("update", "lamp").err
    )


def test_a_title_changed_in_story_md_is_the_title(cli: Cli, project: Path) -> None:
    file = project / "story.md"
    file.write_text(file.read_text().replace("# The Lamp", "# The Dark Lamp"))
    assert "story.md (the title)" in cli("update", "lamp", "--dry-run").out
    update(cli)
    (project / "plan/setting.md").write_text("A mill by a river.\n")
    cli("update", "lamp", "--yes")
    assert story(project).title == "The Dark Lamp"
    assert cli("status", "lamp", "--json").json["changed"] == []
    cli("undo", "lamp")
    cli("undo", "lamp")
    cli("update", "lamp", "--yes")
    assert story(project).title == "The Lamp"


def test_scenes_moved_in_story_md_stay_where_they_are(cli: Cli, project: Path) -> None:
    whole = story(project)
    moved = Story(whole.title, (whole.scenes[4], *whole.scenes[:4]))
    (project / "story.md").write_text(moved.manuscript())
    assert "story.md (the order of its scenes)" in cli("update", "lamp", "--dry-run").out
    update(cli)
    (project / "plan/setting.md").write_text("A mill by a river.\n")
    cli("update", "lamp", "--yes")
    assert labels(project) == ["Resolution", *LABELS[:4]]
    (project / "story/06-epilogue.md").write_text(EPILOGUE)
    update(cli)
    assert labels(project) == ["Resolution", "Epilogue", *LABELS[:4]]


def test_a_deleted_file_gets_its_text_back_and_that_is_said(cli: Cli, project: Path) -> None:
    for name in ("story/03-climax.md", "plan/setting.md"):
        before = (project / name).read_text()
        (project / name).unlink()
        path = name.partition("/")[2].removeprefix("03-").removesuffix(".md")
        said_everywhere(
            cli,
            f"{name} was deleted, which has no effect: the next run restores it. Run `fabula text retake {path}` for "
            "another version. To leave something out of the story, remove it from the plan or brief.",
        )
        assert (project / name).read_text() == before


def test_an_emptied_file_gets_its_text_back_and_that_is_said(cli: Cli, project: Path) -> None:
    (project / "story/03-climax.md").write_text("\n")
    said_everywhere(
        cli,
        "story/03-climax.md is empty, but this has no effect: its text is kept, and `fabula update` writes it again.",
    )


@pytest.mark.parametrize("added", ["", " And then a gull cried."])
def test_a_renamed_file_gets_its_name_back_and_that_is_said(cli: Cli, project: Path, added: str) -> None:
    text = (project / "story/03-climax.md").read_text().rstrip() + added
    (project / "story/03-climax.md").unlink()
    (project / "story/03-the-storm.md").write_text(text + "\n")
    said_everywhere(
        cli,
        (
            "story/03-the-storm.md gets its old name story/03-climax.md back, because the files are named after the "
            "parts in the order of writing. To tell the parts in another order, move them in story.md."
        ),
    )
    assert not (project / "story/03-the-storm.md").exists()
    assert (project / "story/03-climax.md").read_text() == text + "\n"
    assert labels(project) == LABELS


def test_other_numbers_move_nothing_and_that_is_said(cli: Cli, project: Path) -> None:
    (project / "story/02-rising-action.md").rename(project / "story/03-rising-action.md")
    (project / "story/03-climax.md").rename(project / "story/02-climax.md")
    said_everywhere(
        cli,
        (
            "story/02-climax.md gets its old name story/03-climax.md back, because the files are named after the parts "
            "in the order of writing. To tell the parts in another order, move them in story.md."
        ),
    )
    assert labels(project) == LABELS
    assert (project / "story/02-rising-action.md").exists()


@pytest.mark.parametrize("name", ["story/06-epilogue.txt", "plan/old"])
def test_what_is_not_read_is_said(cli: Cli, project: Path, name: str) -> None:
    target = project / name
    target.write_text(EPILOGUE) if target.suffix else target.mkdir()
    sentence = f"{name} is not read. Only .md, .yaml and .csv files are read, and subfolders are ignored."
    assert sentence in cli("status", "lamp").out
    assert sentence in cli("update", "lamp").out


@pytest.mark.parametrize("name", ["plan/notes.md", "drafts/climax.md", "story/notes.yaml"])
def test_a_text_that_the_story_does_not_use_is_said(cli: Cli, project: Path, name: str) -> None:
    target = project / name
    target.parent.mkdir(exist_ok=True)
    target.write_text("Mara is left-handed.\n")
    sentence = f"{name} is not part of the current story, so your text in it has no effect."
    assert sentence in cli("update", "lamp", "--dry-run").out
    update(cli)
    assert sentence in cli("status", "lamp").out
    assert "left-handed" not in (project / "story.md").read_text()


def test_texts_of_another_way_of_writing_are_marked(cli: Cli, project: Path) -> None:
    assert cli("write", "lamp", "--anew", "--set", "variant=write").code == 0
    states = {a["file"]: ", ".join(a["states"]) for a in cli("status", "lamp", "--json").json["artefacts"]}
    assert states["plan/characters.md"] == "not used any more"
    assert states["story/03-climax.md"] == ""
    (project / "plan/characters.md").write_text("Mara, eighty.\n")
    sentence = "plan/characters.md is not part of the current story, so your text in it has no effect."
    assert sentence in cli("update", "lamp", "--dry-run").out
