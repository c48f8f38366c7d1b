"""A room led by your own function: it begins in the middle of things, and plans no more than it needs.

    python examples/own_orchestrator.py

The same from the command line:

    fabula write BRIEF --set orchestrator=examples/own_orchestrator.py:in_medias_res
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import fabula

if TYPE_CHECKING:
    from fabula.plugin import Scratchpad

HERE = Path(__file__).parent
ORDER = ("Central Conflict", "Character Descriptions", "Climax", "Exposition", "Resolution")


class Agent(Protocol):
    """What is looked at of an agent."""

    @property
    def label(self) -> str:
        """What its texts are called."""


def in_medias_res(scratchpad: Scratchpad, agents: tuple[Agent, ...]) -> str | None:
    """The label of the agent who comes next, or `None` when the story is complete."""
    present = {agent.label for agent in agents}
    return next((label for label in ORDER if label in present and not scratchpad.has(label)), None)


def main(folder: Path) -> fabula.Story:
    """The story, written in that order."""
    return fabula.write(
        "A keeper's lamp is to be switched off. It ends with hope.",
        folder=folder,
        model=f"scripted:{HERE / 'scripts' / 'room.toml'}",
        config={"orchestrator": f"{__file__}:in_medias_res", "final_reading": False},
    ).story


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for scene in main(Path(folder) / "story").scenes:
            print(f"{scene.label}: {scene.text}\n")
