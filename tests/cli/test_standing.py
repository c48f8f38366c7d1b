"""What `fabula status` marks: stale, retaken, waiting, lengths that were missed; and what the next update would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

ROLES = (
    "conflict",
    "character",
    "setting",
    "plot",
    "exposition",
    "rising_action",
    "climax",
    "falling_action",
    "resolution",
)
PLAYER = """
def said(request):
    at = sum(map(ord, request.path))
    words = " ".join(f"{chr(97 + (at * n) % 26) * 3}{chr(97 + n % 26)}" for n in range(12))
    return "\\n\\n".join(f"{words} {n}.".capitalize() for n in range(20))
"""


def _texts(cli: Cli, folder: str) -> list[dict[str, Any]]:
    """The texts beside the brief."""
    listed: list[dict[str, Any]] = cli("status", folder, "--json").json["artefacts"]
    return [one for one in listed if one["name"] != "brief.md"]


def states(cli: Cli, folder: str = "lamp") -> dict[str, str]:
    return {text["file"]: ", ".join(text["states"]) for text in _texts(cli, folder)}


@pytest.fixture
def too_long(cli: Cli, here: Path) -> Path:
    """A project of 300 words in which a program writes 260 for every part."""
    (here / "player.py").write_text(PLAYER)
    (here / "short.md").write_text("A girl lights a lighthouse. Write about 300 words.\n")
    cast = [part for role in ROLES for part in ("--play", f"{role}=player.py:said")]
    cast += ["--system", "agents-room", "--set", "final_reading=false"]
    ran = cli("write", "short.md", "--out", "long", *cast)
    assert ran.code == 0
    (here / "said.txt").write_text(ran.out)
    return here / "long"


def test_lengths_that_were_missed_stand_at_the_end_of_write(too_long: Path) -> None:
    said = (too_long.parent / "said.txt").read_text()
    assert "Not as asked:\n  The story has 1,300 words; 270 to 330 were requested.\n" in said
    assert "  Parts shorter or longer than requested: 5. `fabula status` marks these parts.\n" in said


def test_status_has_the_words_asked_beside_the_words_got(cli: Cli, too_long: Path) -> None:
    ran = cli("status", "long")
    assert "story.md has 1,300 words (270 to 330 asked); the last run finished.\n" in ran.out
    assert "The story has 1,300 words; 270 to 330 were requested." in ran.out
    parts = [line.split() for line in ran.out.splitlines() if line.endswith("too long")]
    assert [part[part.index("260") - 1] for part in parts] == [
        "exposition", "rising-action", "climax", "falling-action", "resolution"
    ]  # fmt: skip
    data = cli("status", "long", "--json").json
    assert data["words_asked"] == [270, 330]
    low = sum(text["asked"][0] for text in data["artefacts"] if text["asked"])
    assert 150 <= low <= 300


def test_a_text_of_the_author_has_the_length_it_has(cli: Cli, too_long: Path) -> None:
    (too_long / "story/03-climax.md").write_text("She lit it.\n")
    assert states(cli, "long")["story/03-climax.md"] == "edited, not applied yet"
    cli("text", "pin", "resolution", "-C", "long")
    assert states(cli, "long")["story/05-resolution.md"] == "pinned"
    assert states(cli, "long")["story/03-climax.md"] == "edited"


def test_what_the_next_update_writes_again_is_marked(cli: Cli, project: Path) -> None:
    assert set(states(cli).values()) == {""}
    (project / "plan/setting.md").write_text("A mill.\n")
    cli("text", "pin", "climax", "-C", "lamp")
    cli("text", "retake", "resolution", "-C", "lamp")
    assert states(cli) == {
        "plan/characters.md": "",
        "plan/conflict.md": "",
        "plan/plot.md": "stale",
        "plan/setting.md": "edited",
        "story/01-exposition.md": "stale",
        "story/02-rising-action.md": "stale",
        "story/03-climax.md": "pinned",
        "story/04-falling-action.md": "stale",
        "story/05-resolution.md": "retaken, not written yet",
    }
    assert "it rewrites the stale texts.\n" in cli("status", "lamp").out


def test_a_text_that_waits_for_approval_is_marked(cli: Cli, here: Path) -> None:
    options = ("--model", "scripted:script.toml", "--system", "agents-room")
    cli("write", "brief.md", "--out", "lamp", *options, "--approve", "plans")
    assert states(cli) == {"plan/conflict.md": "waits for your approval"}
    ran = cli("status", "lamp")
    assert "the last run waits: lamp/plan/conflict.md waits for your approval." in ran.out
    cli("text", "approve", "-C", "lamp")
    assert states(cli) == {"plan/conflict.md": "approved"}
    assert "the last run waited for you, and can continue." in cli("status", "lamp").out


def test_a_place_that_waits_for_a_persons_text_is_said(cli: Cli, project: Path) -> None:
    cli.at_terminal()
    assert cli("write", "lamp", "--anew", "--play", "climax=me", "--seed", "4", stdin="").code == 0
    data = cli("status", "lamp", "--json").json
    assert data["waits"] == "climax/section"
    assert data["as_last_time"] == {"seed": 4, "roles": {"climax": {"play": "me"}}}


def test_a_final_reading_that_could_not_be_read_is_said(cli: Cli, here: Path) -> None:
    options = ("--model", "scripted:script.toml", "--system", "agents-room")
    ran = cli("write", "brief.md", "--out", "lamp", *options)
    if ran.code:  # the script has no reply for the reading; one that cannot be read
        script = (here / "script.toml").read_text()
        (here / "script.toml").write_text(script + 'finalizer = "All is well."\n')
        ran = cli("write", "lamp")
    assert "Not as asked:\n  The whole was not revised because the reply of 'finalizer' could not be read:" in ran.out
    assert "The whole was not revised" in cli("status", "lamp").out
