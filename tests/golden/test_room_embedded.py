"""Both systems on the embedded model, with tiny budgets: stories come out, replay frozen, and come out the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.writing import Options, write_in
from fabula.craft.length import read_range
from fabula.engine.events import CallFinished
from fabula.models.known import installed, models_home
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Story

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.events import Event

pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")

HOME = models_home(os.environ)
pytestmark = [
    pytest.mark.embedded,
    pytest.mark.slow,
    pytest.mark.skipif(
        not installed("smollm2", HOME), reason="the weights are not here: `fabula models pull smollm2` downloads them"
    ),
]
BRIEF = Brief("Write a story of about 60 words about Mara, who keeps a lighthouse, and a boy who is late in a storm.")
ENGINE = {"models": {"embedded:smollm2": {"threads": 1, "slots": 1, "context": 2048}}}
ROOM = {"system": "agents-room", "config": {"variant": "write"}}
PAPER = {"system": "agents-room", "preset": "faithful", "config": {"max_tokens": 16}}
ALONE = {"system": "end-to-end"}


async def write(folder: Path, settings: dict[str, Any], *, frozen: bool = False) -> tuple[Story, list[CallFinished]]:
    """The story in a new project, or replayed in one that is there, and the calls."""
    home = ProjectFolder.open(folder) if frozen else ProjectFolder.create(folder, BRIEF, settings | ENGINE)
    heard: list[Event] = []
    options = Options(environ={"FABULA_MODELS": str(HOME)}, listeners=[heard.append], frozen=frozen)
    story = (await write_in(home, home.settings, options)).story
    return story, [event for event in heard if isinstance(event, CallFinished)]


@pytest.mark.parametrize("settings", [ROOM, PAPER, ALONE], ids=["room", "paper", "end-to-end"])
async def test_a_story_is_written_and_replays_frozen(tmp_path: Path, settings: dict[str, Any]) -> None:
    story, calls = await write(tmp_path / "first", settings)
    assert story.words > 20
    assert all(scene.text for scene in story.scenes)
    assert len(story.scenes) == (1 if settings is ALONE else 5)
    assert all(call.usage.reply > 0 and call.usage.cost == 0 and not call.replayed for call in calls)

    again, replayed = await write(tmp_path / "first", settings, frozen=True)
    assert again == story
    assert [call.path for call in replayed] == [call.path for call in calls]
    assert all(call.replayed for call in replayed)

    if settings is ALONE:  # a room takes too long to be heard twice
        fresh, _ = await write(tmp_path / "second", settings)  # one call after the other: the same seed, the same text
        assert fresh == story


async def test_the_length_asked_for_is_the_length_got(tmp_path: Path) -> None:
    want = read_range(BRIEF.text)
    assert want is not None
    story, _ = await write(tmp_path / "tale", ALONE)
    assert want.holds(story.words)
    assert story.text.rstrip().endswith((".", "!", "?", '"', "”", "…"))
