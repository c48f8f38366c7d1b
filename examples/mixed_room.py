"""A room in which a model, a program and a person work together.

    python examples/mixed_room.py

The setting comes from a program, the climax from a person (here: one who answers at once), all other parts from a model
(here: a script). Anything with a method `reply` may play a role; to the other agents it makes no difference.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import fabula

HERE = Path(__file__).parent


class WeatherReport:
    """The program: the setting, made from data."""

    def reply(self, prompt: str) -> str:
        """The same for every prompt."""
        force = 6 + len(prompt) % 5
        return (
            f"A lighthouse on a bare cape, one night in November. Wind from the north-west, force {force} at midnight."
        )


class AtTheKeyboard:
    """The person, who sees the prompt of the role and gives a text. A real one would use an input box or a chat."""

    async def reply(self, prompt: str) -> str:
        """What the person writes."""
        print(f"The person plays the climax and was shown {len(prompt):,} characters.")
        return "Mara counted to nine. Then she put the letter into the stove and watched it burn, and lit the lamp."


def main(folder: Path) -> fabula.Story:
    """The story of the room."""
    return fabula.write(
        "A keeper's lamp is to be switched off. It ends with hope.",
        folder,
        model={
            "*": f"scripted:{HERE / 'scripts' / 'room.toml'}",
            "setting": WeatherReport(),
            "climax": AtTheKeyboard(),
        },
        config={"final_reading": False},
    ).story


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(main(Path(folder) / "story").text)
