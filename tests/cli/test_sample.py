"""`fabula sample`, and every command on what it copies: nobody is asked, and nothing goes over a socket."""

from __future__ import annotations

import re
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from fabula.project import sample as samples

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SLIP = "from the kettle in his cab"
NOBODY = "A person wrote the texts here, so the role"


@pytest.fixture
def sample(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a copy; from then on a socket to anywhere is an error."""
    assert cli("sample", "mine").code == 0

    def refused(*_: object) -> None:
        raise AssertionError("A socket was to be connected.")

    monkeypatch.setattr(socket.socket, "connect", refused)
    return cli.folder / "mine"


def test_nothing_is_there_to_be_taken_back(cli: Cli, sample: Path) -> None:
    ran = cli("undo", sample.name)
    assert ran.code != 0
    assert "There is no decision to undo." in ran.err
    assert "There is nothing to redo" in cli("redo", sample.name).err


def mend(folder: Path) -> None:
    part = folder / "story" / "03-climax.md"
    text = part.read_text(encoding="utf-8")
    assert SLIP in text
    part.write_text(text.replace(SLIP, "in the lid of his flask"), encoding="utf-8")


def test_it_is_copied_and_says_what_to_try(cli: Cli) -> None:
    ran = cli("sample", "mine")
    assert ran.out.startswith('mine is ready: "Sufficient Knowledge", 3,234 words.')
    assert "fabula update mine --dry-run" in ran.out
    assert "fabula text edits mine " in ran.out
    assert not (cli.folder / "mine.fabula-part").exists()
    assert stat.S_IMODE((cli.folder / "mine" / ".fabula").stat().st_mode) == 0o700


def test_as_json(cli: Cli) -> None:
    data = cli("sample", "mine", "--json").json
    assert (data["title"], data["words"]) == ("Sufficient Knowledge", 3234)


def test_nothing_is_replaced(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "note.txt").write_text("Mine.")
    ran = cli("sample", "mine")
    assert ran.code == 1
    assert "mine already exists, and fabula does not replace anything in it. Specify a new folder." in ran.err
    assert [file.name for file in (cli.folder / "mine").iterdir()] == ["note.txt"]


def test_a_folder_of_ones_own_beside_it_stays_and_the_one_that_one_is_in_is_none(cli: Cli) -> None:
    (cli.folder / "mine.part").mkdir()
    (cli.folder / "mine.part" / "notes.md").write_text("Mine.")
    assert cli("sample", "mine").code == 0
    assert (cli.folder / "mine.part" / "notes.md").read_text() == "Mine."
    assert cli("sample", ".").err == "fabula: . is not the name of a new folder. Specify a new folder for the sample.\n"


def test_an_empty_folder_is_filled_and_what_a_killed_copy_left_goes(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine.fabula-part").mkdir()
    assert cli("sample", "mine").code == 0
    assert (cli.folder / "mine" / "story.md").is_file()
    assert not (cli.folder / "mine.fabula-part").exists()


def test_a_folder_that_cannot_be_made_and_an_installation_without_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("sample", "its/folders/are/made").code == 0
    ran = cli("sample", "brief.md/mine")
    assert "Cannot write brief.md/mine. A part of this path is a file" in ran.err
    monkeypatch.setattr(samples, "_PLACES", ())
    assert "has no sample project. Install fabula again." in cli("sample", "another").err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["show", "-C", "mine"], "The beginning has been read."),
        (["show", "drafts/climax", "--prompts", "-C", "mine"], "role climax, by hand"),
        (["show", "mine", "--timeline"], "By subtraction"),
        (["show", "--timeline", "-C", "mine", "--out", "time.svg"], "By subtraction"),
        (["status", "mine"], "Everything is up to date."),
        (["show", "falling-action", "--versions", "-C", "mine"], "534"),
        (["text", "edits", "mine"], "(refused)"),
        (["world", "mine"], "1 conflict:"),
        (["world", "mine", "--who", "Joanne"], "Joanne Starling believes 11 facts"),
        (["world", "mine", "--diff", "Climax", "Resolution"], "was 14720 kg (explained)"),
        (["world", "mine", "--import", "mine/world.yaml"], "37 unchanged"),
        (["check", "mine"], "story: 1 finding"),
        (["check", "mine", "--dismiss", "dcf5212a-ae60=a second kettle"], "1 dismissed"),
        (["plan", "mine/plan/plan.yaml"], "The plan is valid."),
        (["measure", "mine"], "words"),
        (["update", "mine", "--dry-run"], "No call is needed."),
        (["write", "mine"], "3,234 words"),
        (["export", "mine", "--format", "epub"], "sufficient-knowledge.epub: 3,234 words"),
        (["export", "mine", "--format", "docx"], "sufficient-knowledge.docx: 3,234 words"),
    ],
)
def test_every_command_works_without_a_model(cli: Cli, sample: Path, command: list[str], says: str) -> None:
    ran = cli(*command)
    assert (ran.code, says in ran.out + ran.err) == (0, True), ran.out + ran.err


def test_a_timeline_is_drawn_as_what_its_name_says(cli: Cli, sample: Path) -> None:
    ran = cli("show", "mine", "--timeline", "--out", "time.png")
    assert (ran.code, "Choose a file name that ends in .svg, not 'time.png'." in ran.err) == (2, True)
    assert not (sample.parent / "time.png").exists()


def test_what_depends_on_an_edit_is_named_and_taken_back(cli: Cli, sample: Path) -> None:
    mend(sample)
    stale = cli("update", "mine", "--dry-run")
    assert "3 calls to make, at most 10 (" in stale.out
    assert "Draft of Falling action, Draft of Resolution, Exposition, Rising action, Falling action" in stale.out
    assert "Draft of Exposition" not in stale.out  # only what the reader of the whole would change in it
    asked = cli("update", "mine", "--yes")
    assert asked.code == 1
    assert f"{NOBODY} 'falling_action' has no model." in asked.err
    assert cli("undo", "mine").code == 0
    assert "No call is needed." in cli("update", "mine", "--dry-run").out
    cli("update", "mine", "--yes")
    assert SLIP in (sample / "story.md").read_text(encoding="utf-8")


def test_an_edit_given_on_the_command_line(cli: Cli, sample: Path) -> None:
    cli("edit", "resolution", "--text", "The beginning has been read.", "-C", "mine")
    assert "To be rewritten: Changes of the final reading, " in cli("update", "mine", "--dry-run").out
    assert "Undone: edit of Resolution (" in cli("undo", "mine").out


def test_a_check_of_a_changed_story_says_who_could_read_it(cli: Cli, sample: Path) -> None:
    story = sample / "story.md"
    story.write_text(story.read_text(encoding="utf-8").replace(SLIP, "in his flask"), encoding="utf-8")
    assert f"{NOBODY} 'reader' has no model." in cli("check", "mine").err


def test_the_conversation_is_shown_and_goes_on_with_whoever_is_named(
    cli: Cli, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = cli("chat", "mine", stdin="Is there mustard?\n")
    assert "but you are going to sit there and eat a sandwich." in ran.out
    assert f"{NOBODY} 'npc'" in ran.err
    (cli.folder / "npc.py").write_text("def says(request):\n    return '[Wendy Clabburn: There is pickle.]'\n")
    ran = cli("chat", "mine", "--play", "npc=npc.py:says", stdin="Is there mustard?\n/quit\n")
    assert "Wendy Clabburn: There is pickle." in ran.out


def test_who_wrote_by_hand_is_a_model_by_name(cli: Cli) -> None:
    cli("new", "made", "--brief", "brief.md", "--model", "hand", "--system", "agents-room")
    ran = cli("write", "made", "--yes")
    assert (ran.code, f"{NOBODY} 'conflict'" in ran.err) == (1, True)
    assert "hand" in cli("models").out
    assert "Did you mean 'hand'?" in cli("new", "other", "--text", "A bell.", "--model", "hands").err


def test_a_renamed_project_is_checked_from_its_record(cli: Cli, sample: Path) -> None:
    sample.rename(cli.folder / "another")
    ran = cli("check", "another", "--json")
    assert (ran.code, ran.json["asked"], ran.json["replayed"]) == (0, 0, 2)
    assert (cli.folder / "another" / "evaluation" / "findings-story.md").is_file()
    assert not (cli.folder / "evaluation").exists()
    cli("check", "another", "--out", "elsewhere")
    assert "'reader'" in cli("check", "another", "--model", "hand", "--out", "elsewhere").err


def test_what_a_chat_goes_on_from_is_in_use(cli: Cli) -> None:
    cli("sample", "mine")
    ran = cli("status", "mine")
    assert re.search(r"^Witnesses +witnesses ", ran.out, re.MULTILINE)
    assert "not used" not in ran.out
    file = cli.folder / "mine/plan/witnesses.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("It hung over the heater.", "It hangs there."))
    assert "is not used" not in cli("status", "mine").out + cli("update", "mine", "--dry-run").out
