"""Settings that have no meaning are refused in one sentence; those that have no effect are named with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

AIDED = ("--model", "scripted:script.toml", "--aids", "on")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--system", "chosen-draft", "--set", "revisions=-1"),
            "chosen-draft.revisions = '-1' does not fit: it must be a number, 0 or more.",
        ),
        (("--set", "max_steps=-1"), "agents-room.max_steps = '-1' does not fit: it must be a number, 0 or more."),
        (
            ("--system", "magnet", "--set", "state_max=-3"),
            "magnet.state_max = '-3' does not fit: it must be a number, 0",
        ),
        (
            ("--system", "magnet", "--set", "actor_temperature=nan"),
            "magnet.actor_temperature = 'nan' does not fit: it must be a number, from 0 to 5.",
        ),
        (("--system", "magnet", "--set", "actor_temperature=inf"), "it must be a number, from 0 to 5."),
        (("--system", "snap", "--set", "weights=nan,1,1"), "snap.weights = 'nan,1,1' does not fit: it must be a"),
        (("--sampling", "temperature=nan"), "`sampling.temperature` must be a finite number"),
        (("--sampling", "presence_penalty=nan"), "`sampling.presence_penalty` must be a finite number"),
        (("--sampling", "climax.repeat_penalty=inf"), "climax.repeat_penalty` must be a finite number"),
        (("--seed", "9" * 23), "`seed` must be less than 9,223,372,036,854,775,808"),
        (
            ("--words", "0"),
            "'0' is not a length that can be written. Give 1 to 1,000,000 words, such as 950 or 1300-1350.",
        ),
        (
            ("--words", "3000000"),
            "'3000000' is not a length that can be written. Give 1 to 1,000,000 words, such as 950 or 1300-1350.",
        ),
        (("--words", "500-20"), "'500-20' is not a range of words: the smaller number comes first, as in 20-500."),
        (
            ("--set", "words=abc"),
            "'abc' is not a number of words. Give 1 to 1,000,000 words: 1300-1350, 950 (about that), <=500 or >=2000.",
        ),
        (
            ("--play", "climax=player.py"),
            (
                "'player.py' is a file without the name of a function. Use player.py:function, or me to play the role "
                "yourself."
            ),
        ),
        (("--play", "climax=smollm2"), "'smollm2' is a model, not a player. Use --model ROLE=smollm2, or"),
    ],
)
@pytest.mark.parametrize("command", [("write", "--dry-run"), ("write",)], ids=" ".join)
def test_what_has_no_meaning_is_refused(
    cli: Cli, command: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    ran = cli(*command, "brief.md", *options)
    assert ran.code == 2
    assert said in ran.err
    assert not (cli.folder / "brief").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("words = 0", "/fabula.toml: '0' is not a length that can be written."),
        ("max_steps = -1", "agents-room.max_steps = -1 does not fit: it must be a number, 0 or more."),
    ],
)
def test_fabula_toml_is_checked_alike(cli: Cli, project: Path, line: str, said: str) -> None:
    settings = project / "fabula.toml"
    settings.write_text(settings.read_text().replace("[config]", f"[config]\n{line}"))
    assert said in cli("update", "lamp").err


def test_a_player_in_fabula_toml_needs_its_function(cli: Cli, project: Path) -> None:
    with (project / "fabula.toml").open("a") as file:
        file.write('\n[roles.climax]\nplay = "player.py"\n')
    assert "'player.py' is a file without the name of a function. Use player.py:function" in cli("update", "lamp").err


def test_a_length_without_quotes_and_several_numbers_are_read(cli: Cli, project: Path) -> None:
    settings = project / "fabula.toml"
    settings.write_text(settings.read_text().replace("[config]", "[config]\nwords = 300"))
    assert cli("status", "lamp", "--json").json["words_asked"] == [270, 330]
    assert cli("write", "--dry-run", "brief.md", "--system", "snap", "--set", "weights=1,2,3").code == 0


def test_an_empty_setting_gives_the_length_back_to_the_brief(cli: Cli, project: Path) -> None:
    cli("write", "lamp", "--words", "60-80", "--anew")
    assert cli("status", "lamp", "--json").json["words_asked"] == [60, 80]
    cli("write", "lamp", "--set", "words=", "--anew")
    assert cli("status", "lamp", "--json").json["words_asked"] is None


@pytest.mark.parametrize("asked", ["Write 0 words.", "In 0 Wörtern."])
def test_a_length_that_no_story_can_have_is_said(cli: Cli, asked: str) -> None:
    (cli.folder / "brief.md").write_text(f"A girl lights a lighthouse. {asked}\n")
    said = "is not a possible length, so it is ignored: use 1 to 1,000,000 words."
    assert said in cli("write", "--dry-run", "brief.md").err
    (cli.folder / "brief.md").write_text(f"A girl lights a lighthouse in 300 words. {asked}\n")
    assert said not in cli("write", "--dry-run", "brief.md").err


CHOSEN = ("--system", "agents-room", "--set", "final_reading=true")


def test_a_setting_that_a_small_model_does_not_get_is_named(cli: Cli) -> None:
    said = "The setting final_reading has no effect: finalizer is played by a small model, which gets different"
    assert said in cli("write", "--dry-run", "brief.md", *AIDED, *CHOSEN).err
    assert "has no effect" not in cli("write", "--dry-run", "brief.md", *AIDED, *CHOSEN[:2]).err  # the preset's
    assert "has no effect" not in cli("write", "--dry-run", "brief.md", *AIDED[:2], "--aids", "off", *CHOSEN).err


def test_it_stands_at_the_end_of_write_and_in_status_too(cli: Cli) -> None:
    ran = cli("write", "brief.md", "--out", "lamp", *AIDED, *CHOSEN)
    assert ran.code == 0
    assert "Not as asked:\n  The setting final_reading has no effect: finalizer" in ran.out
    assert "The setting final_reading has no effect" in cli("status", "lamp").out


def test_a_draft_of_a_long_story_is_refused_and_what_to_take_is_said(cli: Cli) -> None:
    ran = cli("write", "--dry-run", "brief.md", *AIDED[:2], "--system", "chosen-draft", "--words", "6000")
    assert ran.code == 2
    assert (
        "A chosen draft writes one reply of at most 5,000 words, but the story needs about 6000 words, between 5400 and"
        in ran.err
    )
    assert "--system agents-room" in ran.err


def test_a_character_with_the_name_of_a_role_is_named(cli: Cli, playhouse: tuple[str, ...]) -> None:
    plan = cli.folder / "plan.yaml"
    plan.write_text(plan.read_text().replace("Tobias", "Director"))
    script = cli.folder / "play.toml"
    script.write_text(script.read_text().replace("Tobias", "Director"))
    cli("write", "--plan", "plan.yaml", "--out", "play", *playhouse)
    said = "The character 'Director' has the same name as the role 'director', so whoever plays that role plays both."
    assert said in " ".join(cli("write", "play").err.split()) + " ".join(cli("status", "play").out.split())
