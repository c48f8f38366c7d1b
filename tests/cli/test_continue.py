from __future__ import annotations

import json
import tomllib
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from fabula.app.writing import Options, PreparedMethod, recorded_run
from fabula.engine.context import RunContext
from fabula.engine.journal import CallFilter, Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import REACHED
from fabula.project.settings import Settings
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

CHARACTERS = "**Character:** Mara **Description:** Mara keeps the lamp.\n**END**"
MORE = "**Character:** Jonas **Description:** Jonas is afraid of fire.\n**END**"
FIRST = "\nMARA\nSit down, if you have come to stay.\n**END**"
SECOND = "\nMARA\nThe kettle is on.\n**END**"
THIRD = "\nMARA\nAnd it boils.\n**END**"


def _replies(**more: str) -> dict[str, str | list[str]]:
    script = tomllib.loads((find("dramatron").folder / "script.toml").read_text(encoding="utf-8"))
    return {**script["replies"], "characters": CHARACTERS, "dialogue": FIRST, **more}


@pytest.fixture
def play(cli: Cli) -> Path:
    """A written play `play`, whose script has what follows its characters and its first scene, twice."""
    (cli.folder / "brief.md").write_text("A girl lights a lighthouse against her father's will.\n", encoding="utf-8")
    texts = dict.fromkeys(("characters", "scene-1"), "")
    follows: dict[str, str] = {}
    command = ("write", "brief.md", "--system", "dramatron", "--preset", "faithful", "--model", "scripted:play.toml")
    for said in ({}, {"characters": MORE, "scene-1": SECOND}, {"scene-1": THIRD}):
        for path, reply in said.items():
            base = texts[path]
            prompt = "dialogue" if path == "scene-1" else path
            follows[f"{path}/more/{sha256(base.encode()).hexdigest()[:8]}/{prompt}"] = reply
            texts[path] = f"{base}\n\n{_bare(reply)}"
        lines = (f"{json.dumps(name)} = {json.dumps(said)}\n" for name, said in _replies(**follows).items())
        (cli.folder / "play.toml").write_text("[replies]\n" + "".join(lines), encoding="utf-8")
        if not follows:
            assert cli(*command, "--out", "first").code == 0
            texts = {path: cli("show", path, "-C", "first").out.rstrip("\n") for path in texts}
    assert cli(*command, "--out", "play").code == 0
    return cli.folder / "play"


def _bare(reply: str) -> str:
    return reply.removesuffix("**END**").strip("\n")


def scene(play: Path) -> str:
    return (play / "story/01-scene-1.md").read_text(encoding="utf-8").rstrip("\n")


def test_a_text_is_continued_by_the_next_update(cli: Cli, play: Path) -> None:
    before = scene(play)
    ran = cli("text", "continue", "scene-1", "-C", "play")
    assert (ran.code, ran.out) == (0, "More will be added at the end of scene-1: 1 call.\n")
    assert ran.err == "Next: `fabula update play`.\n"
    assert scene(play) == before
    assert cli("update", "play", "--yes", "--json").json["asked"] == 1
    assert scene(play) == f"{before}\n\n{_bare(SECOND)}"
    assert "The kettle is on." in (play / "story.md").read_text()
    assert cli("update", "play", "--json").json["asked"] == 0


def test_a_dry_run_says_what_more_takes_and_decides_nothing(cli: Cli, play: Path) -> None:
    ran = cli("text", "continue", "scene-1", "play", "--dry-run")
    assert (ran.code, ran.out) == (0, "More will be added at the end of scene-1: 1 call.\n")
    assert ran.err == "No decision was recorded. To record it, run the command without `--dry-run`.\n"
    assert cli("update", "play", "--json").json["asked"] == 0
    assert cli("text", "continue", "scene-1", "play").code == 0, "it does not wait to be continued already"


def test_a_text_is_continued_twice(cli: Cli, play: Path) -> None:
    before = scene(play)
    for _ in range(2):
        assert cli("text", "continue", "scene-1", "-C", "play").code == 0
        cli("update", "play", "--yes")
    assert scene(play) == f"{before}\n\n{_bare(SECOND)}\n\n{_bare(THIRD)}"


def test_what_stands_on_a_continued_text_is_asked_again(cli: Cli, play: Path) -> None:
    data = cli("text", "continue", "characters", "-C", "play", "--json").json
    assert data == {"artefact": "characters", "words": None, "calls": 7, "decided": True}
    paths = [call["path"] for call in cli("update", "play", "--dry-run", "--json").json["calls"]]
    assert paths[0].startswith("characters/more/")
    assert "scenes/scenes" in paths
    cli("update", "play", "--yes")
    names = [line.split("**")[2].strip() for line in (play / "plan/characters.md").read_text().splitlines() if line]
    assert names == ["Mara", "Jonas"]


def test_an_edited_text_is_continued_as_it_was_edited(cli: Cli, play: Path) -> None:
    cli("edit", "scene-1", "--text", "My own beginning.", "-C", "play")
    cli("text", "continue", "scene-1", "-C", "play")
    cli("update", "play", "--yes")
    assert scene(play) == f"My own beginning.\n\n{_bare(FIRST)}"
    cli("undo", "play")
    assert scene(play) == "My own beginning."


def test_undo_brings_the_text_before_back(cli: Cli, play: Path) -> None:
    texts = [scene(play)]
    for _ in range(2):
        cli("text", "continue", "scene-1", "-C", "play")
        cli("update", "play", "--yes")
        texts.append(scene(play))
    for before in reversed(texts[:2]):
        assert "Undone: continue of Scene 1" in cli("undo", "play").out
        assert scene(play) == before
        assert cli("update", "play", "--yes", "--json").json["asked"] == 0
        assert scene(play) == before


def test_undo_of_an_edit_brings_the_continued_text_back(cli: Cli, play: Path) -> None:
    before = scene(play)
    cli("text", "continue", "scene-1", "-C", "play")
    cli("edit", "scene-1", "--text", "By hand.", "-C", "play")
    cli("undo", "play")
    assert scene(play) == before  # nothing was written after it yet
    cli("update", "play", "--yes")
    continued = scene(play)
    assert continued == f"{before}\n\n{_bare(SECOND)}"
    cli("edit", "scene-1", "--text", "By hand.", "-C", "play")
    cli("undo", "play")
    assert scene(play) == continued
    assert cli("update", "play", "--json").json["asked"] == 0


def test_a_retake_forgets_the_continuation(cli: Cli, play: Path) -> None:
    cli("text", "continue", "scene-1", "-C", "play")
    cli("update", "play", "--yes")
    assert cli("text", "retake", "scene-1", "-C", "play").code == 0
    cli("update", "play", "--yes")
    assert scene(play).count("MARA") == 1


def test_a_continued_text_can_be_approved(cli: Cli, play: Path) -> None:
    cli("text", "approve", "-C", "play")
    cli("text", "continue", "scene-1", "-C", "play")
    assert cli("write", "play", "--approve", "all", "--json").json["paused"]["artefact"] == "scene-1"
    assert cli("text", "approve", "-C", "play").out == "Approved: scene-1.\n"
    assert "words" in cli("write", "play", "--approve", "all", "--json").json


def test_what_cannot_be_continued_is_told_and_stays_as_it_was(cli: Cli, play: Path) -> None:
    ran = cli("text", "continue", "title", "-C", "play")
    assert ran.code == 2
    assert ran.err == (
        "fabula: title is not a part of the story, and dramatron cannot continue it. Extend its file, or run "
        "`fabula "
        "text retake title -C play`.\n"
    )
    assert cli("update", "play", "--json").json["asked"] == 0
    assert cli("undo", "play").code == 2  # no decision is left


@pytest.mark.usefixtures("same_model")
def test_the_story_goes_on_after_its_last_part_where_none_is_named(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    script = {"resolution:continue": "In spring a letter came. Nobody had thought of it."}
    write_script(**script)
    ran = cli("text", "continue", "-C", "lamp", "--words", "10")
    assert ran.out.startswith("About 10 words more will be added at the end of resolution: ")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 1
    assert script["resolution:continue"] in (project / "story.md").read_text(encoding="utf-8")
    assert (project / "story/05-resolution.md").read_text(encoding="utf-8").endswith("thought of it.\n")
    with Journal(project / ".fabula/journal.db") as journal:
        (call,) = journal.calls.find(CallFilter(under="resolution/more"), prompts=True)
    asked = call.messages[-1][1]
    assert "Here the story ended, and its author wants it to go on." in asked
    assert "Write at most 15 words." in asked
    assert cli("undo", "lamp").code == 0
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert "letter came" not in (project / "story.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("same_model")
def test_a_part_in_the_middle_goes_on_without_ending_the_story(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{"climax:continue": "The wind dropped, and nobody spoke for an hour."})
    assert cli("text", "continue", "climax", "-C", "lamp", "--words", "10").code == 0
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 3  # and the two parts after it
    with Journal(project / ".fabula/journal.db") as journal:
        (call,) = journal.calls.find(CallFilter(under="climax/more"), prompts=True)
    assert "do not bring the story to an end" in call.messages[-1][1]


def test_what_is_planned_cannot_be_continued_in_most_systems(cli: Cli, project: Path) -> None:
    ran = cli("text", "continue", "plot", "-C", "lamp")
    said = "plot is not a part of the story, and agents-room cannot continue it. Extend its file, or run "
    assert (ran.code, ran.err) == (2, f"fabula: {said}`fabula text retake plot -C lamp`.\n")


def test_a_pinned_or_unknown_text_and_one_that_waits_already_are_not_continued(cli: Cli, play: Path) -> None:
    cli("text", "pin", "scene-1", "-C", "play")
    ran = cli("text", "continue", "scene-1", "-C", "play")
    assert (ran.code, ran.err) == (2, "fabula: scene-1 is pinned. Run `fabula text unpin scene-1 -C play` first.\n")
    cli("text", "unpin", "scene-1", "-C", "play")
    assert cli("text", "continue", "scene-1", "-C", "play").code == 0
    again = cli("text", "continue", "scene-1", "-C", "play")
    assert again.code == 2
    said = (
        "scene-1 is already waiting to be continued. `fabula update -C play` continues it, "
        "`fabula undo -C play` cancels it."
    )
    assert said in again.err
    assert "Unknown artefact 'scene1'" in cli("text", "continue", "scene1", "-C", "play").err


def test_the_help_names_the_command(cli: Cli) -> None:
    assert "Add a continuation to a text." in cli("text", "-h").out
    assert "fabula text continue" in cli("text", "continue", "--help").out


def test_only_a_run_that_went_over_the_whole_story_says_what_the_story_is_made_of() -> None:
    """A plan that is read from a story runs in its project, and reaches no part of it."""
    prepared = PreparedMethod(Settings(system="vanilla", model="scripted:none"), Options())
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(find("vanilla").prompts), Cast.of(ScriptedModel({})))
        context.dry_run.reached.add("plan")
        with recorded_run(prepared, context):
            pass
        assert journal.last_settings(REACHED) is None
        context.inputs = "all of it"
        with recorded_run(prepared, context):
            pass
        assert (journal.last_settings(REACHED) or {})[REACHED] == ["plan"]
