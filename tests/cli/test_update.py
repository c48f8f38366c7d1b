from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

BELOW_CHARACTERS = {
    "setting/setting", "plot/plot", "exposition/section", "rising-action/section", "climax/section",
    "falling-action/section", "resolution/section",
}  # fmt: skip


@pytest.fixture
def edited(project: Path) -> Path:
    (project / "plan/characters.md").write_text("Mara, seventeen. Jonas is her uncle.\n")
    return project


def test_a_dry_run_names_changes_and_dependants_and_does_nothing(cli: Cli, edited: Path) -> None:
    data = cli("update", "lamp", "--dry-run", "--json").json
    assert data["done"] is False
    assert data["changed"] == [{"artefact": "characters", "file": "plan/characters.md"}]
    assert {call["path"] for call in data["calls"]} == BELOW_CHARACTERS
    assert data["cost"] == 0.0
    assert cli("status", "lamp", "--json").json["runs"] == 1


def test_update_asks_exactly_the_dependants(cli: Cli, edited: Path) -> None:
    data = cli("update", "lamp", "--yes", "--json").json
    assert data["asked"] == len(BELOW_CHARACTERS)
    assert data["replayed"] == 1
    assert set(data["bill"]) == {
        "setting", "plot", "exposition", "rising_action", "climax", "falling_action", "resolution",
    }  # fmt: skip
    assert (edited / "plan/characters.md").read_text() == "Mara, seventeen. Jonas is her uncle.\n"
    again = cli("update", "lamp", "--json")
    assert again.json["asked"] == 0


def test_without_a_terminal_update_says_the_plan_and_stops(cli: Cli, edited: Path) -> None:
    ran = cli("update", "lamp")
    assert ran.code == 0
    assert "Changed by you:\n  plan/characters.md" in ran.out
    assert "climax/section" in ran.out
    assert "Run `fabula update lamp --yes`." in ran.err
    assert cli("status", "lamp", "--json").json["runs"] == 1


def test_at_a_terminal_update_asks(cli: Cli, edited: Path) -> None:
    cli.at_terminal()
    assert "No model was called, and your files are unchanged." in cli("update", "lamp", stdin="n\n").err
    assert "No model was called" in cli("update", "lamp", stdin="").err  # the input ended: that is no yes
    ran = cli("update", "lamp", stdin="what\ny\n")
    assert "story.md: 69 words" in ran.out


def test_an_edit_in_story_md_is_taken_over(cli: Cli, project: Path) -> None:
    story = project / "story.md"
    story.write_text(story.read_text().replace("The storm broke the window.", "The wind broke the door."))
    data = cli("update", "lamp", "--yes", "--json").json
    assert set(data["bill"]) == {"falling_action", "resolution"}
    assert "The wind broke the door." in (project / "story/03-climax.md").read_text()
    assert "The wind broke the door." in story.read_text()


def test_a_stopped_update_does_not_turn_the_old_story_into_edits(
    cli: Cli, edited: Path, write_script: Callable[..., None]
) -> None:
    write_script(setting="A mill by a river.", exposition="The wheel stood still.", climax=None)
    assert cli("update", "lamp", "--yes").code == 1  # no reply for the climax: stopped midway
    assert (edited / "story/01-exposition.md").read_text() == "The wheel stood still.\n"
    data = cli("update", "lamp", "--dry-run", "--json").json
    assert data["changed"] == []


def test_nothing_to_do_is_said(cli: Cli, project: Path) -> None:
    ran = cli("update", "lamp")
    assert ran.code == 0
    assert "No call is needed." in ran.out


def test_a_deleted_story_comes_back_from_the_journal(cli: Cli, project: Path) -> None:
    before = (project / "story.md").read_text()
    (project / "story.md").unlink()
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert (project / "story.md").read_text() == before


def test_a_changed_brief_asks_everything(cli: Cli, project: Path) -> None:
    (project / "brief.md").write_text("A boy bakes bread.\n")
    assert len(cli("update", "lamp", "--dry-run", "--json").json["calls"]) == 9


def test_differing_edits_of_a_scene_are_an_error(cli: Cli, project: Path) -> None:
    (project / "story/03-climax.md").write_text("One way.\n")
    story = project / "story.md"
    story.write_text(story.read_text().replace("The storm broke the window.", "Another way."))
    ran = cli("update", "lamp")
    assert ran.code == 2
    assert (
        "lamp/story/03-climax.md and lamp/story.md were both changed and differ in 'climax', first in \"One way.\" and"
        in ran.err
    )
    assert "move lamp/story.md away (`mv lamp/story.md old-story.md`) and run `fabula update -C lamp`." in ran.err
    story.rename("old-story.md")
    assert cli("update", "lamp", "--dry-run").code == 0
