"""`fabula text retake story`, where the story is the last of several versions: that version is rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

DRAFT = "The lamp was dark when Mara came home, and nobody had climbed the stairs in a week."
SHORT = ("--model", "scripted:script.toml", "--system", "self-revision", "--set", "revisions=1")


@pytest.fixture
def lamp(cli: Cli) -> Path:
    replies = {"writer:draft": DRAFT, "writer:revise": f"{DRAFT} She lit it."}
    (cli.folder / "script.toml").write_text(script_of(replies), encoding="utf-8")
    assert cli("write", "brief.md", "--out", "lamp", *SHORT).code == 0
    return cli.folder / "lamp"


def test_the_version_that_the_story_is_a_copy_of_is_rewritten(cli: Cli, lamp: Path) -> None:
    assert "drafts/version-2 will be rewritten" in cli("text", "retake", "story", "lamp").out
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 1


def test_the_authors_own_text_gives_way_to_the_new_version(cli: Cli, lamp: Path) -> None:
    (lamp / "story" / "01-story.md").write_text(f"{DRAFT} But Mara slept.\n", encoding="utf-8")
    assert cli("update", "lamp", "--yes").code == 0
    assert "But Mara slept." in (lamp / "story.md").read_text(encoding="utf-8")
    cli("text", "retake", "story", "lamp")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 1
    assert "But Mara slept." not in (lamp / "story.md").read_text(encoding="utf-8")


def test_a_pinned_version_is_not_rewritten_through_its_copy(cli: Cli, lamp: Path) -> None:
    cli("text", "pin", "drafts/version-2", "lamp")
    assert "drafts/version-2 is pinned." in cli("text", "retake", "story", "lamp").err
