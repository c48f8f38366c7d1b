"""A MAGNET run is killed and started again: the same story, the same world, and no call is made twice.

As in `test_kill.py`, the process is real and so is SIGKILL.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

import forked
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from killed import CHILD

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
[replies]
critic = '{"revise": false, "goal_reached": false, "world_updates": [{"key": "lamp_lit", "value": "true"}]}'
narrator = '{"order": [2, 1], "paragraph": "Tobias asked what stood in it. Mara put it away, and the wind went on."}'
Mara = '{"action": "Mara puts the letter away."}'
Tobias = '{"action": "Tobias asks what stands in it."}'
goal_generator = '{"goal": "They bring the boat home.", "transition_paragraph": "Then a light showed at sea."}'
"""
PERSONAS = "goal: The lamp burns.\nworld:\n  lamp_lit: false\npersonas:\n  - name: Mara\n  - name: Tobias\n"
CONFIG = {"max_steps": 3, "words": "400", "chapter_words": 20, "stall_steps": 2}


def made(folder: Path) -> Path:
    project = folder / "tale"
    ProjectFolder.create(
        project, Brief("Write about Mara."), {"system": "magnet", "preset": "faithful", "config": dict(CONFIG)}
    )
    (project / "plan" / "personas.yaml").write_text(PERSONAS, encoding="utf-8")
    (folder / "script.toml").write_text(SCRIPT, encoding="utf-8")
    return project


def write(project: Path, log: Path, moment: str = "never", dies_at: int = 0) -> int:
    script = project.parent / "script.toml"
    return forked.run([str(project), str(script), str(log), moment, str(dies_at)], CHILD).returncode


def files(project: Path) -> dict[str, str]:
    """All that the run left, by name: story, steps and world."""
    found = [
        project / "story.md",
        *(file for part in ("story", "steps", "world") for file in (project / part).iterdir()),
    ]
    return {str(file.relative_to(project)): file.read_text(encoding="utf-8") for file in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], list[str]]:
    """What an unbroken run leaves, and its calls."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert write(made(folder), folder / "log") == 0
    asked = (folder / "log").read_text().split()
    assert {path.rpartition("/")[2] for path in asked} == {"act", "criticise", "narrate", "set_goal"}
    left = files(folder / "tale")
    assert {"world/world-2.json", "steps/steps-2.json"} <= set(left)
    return left, asked


# While actions are asked for, between a narrator's reply and the commit, at a new goal, and as a chapter is kept.
@pytest.mark.parametrize(
    ("moment", "prompt"), [("asked", "act"), ("CallFinished", "narrate"), ("CallFinished", "set_goal"), ("Kept", "")]
)
def test_killed_once_and_started_again(
    tmp_path: Path, whole: tuple[dict[str, str], list[str]], moment: str, prompt: str
) -> None:
    left, asked = whole
    last = max(n for n, path in enumerate(asked, 1) if path.endswith(prompt))
    project, log = made(tmp_path), tmp_path / "log"
    assert write(project, log, moment, last) == -signal.SIGKILL
    assert write(project, log) == 0
    assert files(project) == left
    assert sorted(log.read_text().split()) == sorted(asked), "no call is made twice"
