"""What stands is not written again, and not paid again, because a command names other settings: a person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fabula
from commandline import BY_PARTS
from fabula.base.errors import WrittenBeforeError
from fabula.systems import systems

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

CLIMAX = "story/03-climax.md"


@pytest.mark.parametrize(
    ("options", "name", "texts"),
    [
        (("--seed", "9"), "seed", "9 existing texts"),
        (("--sampling", "climax.temperature=1"), "roles.climax", "3 existing texts"),
        (("--sampling", "resolution.temperature=1"), "roles.resolution", "story/05-resolution.md"),
        (("--set", "variant=write"), "config.variant", "5 existing texts"),
    ],
)
@pytest.mark.parametrize("also", [(), ("--yes",), ("--quiet",), ("--json",), ("--save",)])
def test_without_a_terminal_it_is_refused_and_says_what_to_do(
    cli: Cli, project: Path, options: tuple[str, ...], name: str, texts: str, also: tuple[str, ...]
) -> None:
    before, settings = (project / "story.md").read_text(), (project / "fabula.toml").read_text()
    ran = cli("write", "lamp", *options, *also)
    assert ran.code == 2
    assert f"The story is finished. With other settings ({name}" in ran.err
    assert f"{texts} would be rewritten: about " in ran.err
    assert (
        "To do so, add --anew (you can still see the current texts with `fabula show --versions NAME -C lamp`). "
    ) in ran.err
    assert "next to this one, run `fabula write lamp/brief.md --out OTHER`. " in ran.err
    assert "To rewrite a single text, run `fabula text retake NAME -C lamp`." in ran.err
    assert (project / "story.md").read_text() == before
    assert (project / "fabula.toml").read_text() == settings
    assert cli("status", "lamp", "--json").json["estimate"]["total_calls"] == 0


def test_a_finished_story_is_said_to_be_finished_and_costs_nothing(cli: Cli, project: Path) -> None:
    assert cli("write", "lamp", "--json").json["asked"] == 0


def test_anew_writes_it_and_the_old_texts_are_in_the_history(cli: Cli, project: Path) -> None:
    assert cli("write", "lamp", "--seed", "9", "--anew", "--json").json["asked"] == 9
    assert cli("write", "lamp", "--json").json["asked"] == 0, "from now on it is written with that"
    assert cli("write", "lamp", "--seed", "9", "--json").json["asked"] == 0


def test_at_a_terminal_a_person_is_asked(cli: Cli, project: Path) -> None:
    cli.at_terminal()
    ran = cli("write", "lamp", "--seed", "9", stdin="n\n")
    assert ran.code == 0
    assert "The story is finished. With other settings (seed), 9 existing texts would be rewritten" in ran.err
    assert "Write it again? [y]es or [n]o: " in ran.err
    assert "No model was called, and your files are unchanged." in ran.err
    assert cli("status", "lamp", "--json").json["estimate"]["total_calls"] == 0
    ran = cli("write", "lamp", "--seed", "9", stdin="y\n")
    assert ran.code == 0
    assert "story.md: 69 words" in ran.out


def test_the_authors_own_edits_and_retakes_are_taken_over_as_ever(cli: Cli, project: Path) -> None:
    (project / CLIMAX).write_text("The storm broke the door.\n")
    assert cli("write", "lamp", "--json").code == 0
    assert cli("text", "retake", "resolution", "-C", "lamp").code == 0
    ran = cli("write", "lamp", "--sampling", "resolution.temperature=1", "--json")
    assert (ran.code, ran.json["asked"]) == (0, 1), "it was to be written again in any case"


def test_of_a_story_that_is_not_whole_what_stands_is_kept_too(cli: Cli) -> None:
    options = ("--model", "scripted:script.toml", *BY_PARTS, "--budget-tokens", "1300")
    assert cli("write", "brief.md", "--out", "lamp", *options).code == 1
    ran = cli("write", "lamp", "--seed", "9")
    assert ran.code == 2
    assert "Part of the story has been written. With other settings (seed), " in ran.err
    assert (
        "To keep the current texts and use these settings only for the rest, run `fabula text pin --all -C lamp`."
    ) in ran.err
    assert cli("text", "pin", "--all", "-C", "lamp").code == 0
    ran = cli("write", "lamp", "--seed", "9", "--json")
    assert (ran.code, ran.json["asked"]) == (0, 6), "three of nine were written"


def test_a_setting_of_what_is_not_written_yet_is_no_reason_to_ask(cli: Cli) -> None:
    options = ("--model", "scripted:script.toml", *BY_PARTS, "--budget-tokens", "2500")
    assert cli("write", "brief.md", "--out", "lamp", *options).code == 1
    assert cli("write", "lamp", "--sampling", "resolution.temperature=1").code == 0


def test_a_conversation_in_between_changes_nothing(cli: Cli, here: Path) -> None:
    """Its run has settings, too, and they are no settings of the story's."""
    assert cli("sample", "demo").code == 0
    cli("chat", "demo", stdin="")
    ran = cli("write", "demo", "--model", "scripted:script.toml")
    assert ran.code == 2
    assert "The story is finished. With other settings (model" in ran.err


def test_other_prompts_are_no_reason_either(cli: Cli, project: Path, here: Path) -> None:
    (here / "mine").mkdir()
    ours = systems()["agents-room"].folder / "prompts" / "conflict.jinja"
    (here / "mine" / "conflict.jinja").write_text(ours.read_text().replace("conflict", "great conflict"))
    ran = cli("write", "lamp", "--prompts", "mine")
    assert ran.code == 2
    assert "With other settings (prompts), " in ran.err


def test_from_python_it_is_refused_too(cli: Cli, project: Path) -> None:
    with pytest.raises(WrittenBeforeError, match=r"The story is finished.*`anew=True` rewrites them.*Another `folder`"):
        fabula.write("lamp", seed=9)
    assert fabula.write("lamp", seed=9, anew=True).to_dict()["asked"] == 9
    assert fabula.write("lamp").to_dict()["asked"] == 0
