"""A room in which a model, a program and a person work together.

    python examples/mixed_room.py

The setting comes from a program, the climax from a person (here: a function that stands in for one), all other parts
from a model (here: a script). To the other agents it makes no difference.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import fabula

if TYPE_CHECKING:
    from fabula.models.base import Request

HERE = Path(__file__).parent


def weather_report(request: Request) -> str:
    """The program: the setting, made from data. Every call has a seed, so the same run has the same weather."""
    force = 6 + (request.sampling.seed or 0) % 5
    return f"A lighthouse on a bare cape, one night in November. Wind from the north-west, force {force} at midnight."


async def at_the_keyboard(request: Request) -> str:
    """The person, who sees the prompt of the role and gives a text. A real one would use an input box or a chat."""
    print(f"The person plays {request.role!r} and was shown {len(request.messages[-1].content):,} characters.")
    return "Mara counted to nine. Then she put the letter into the stove and watched it burn, and lit the lamp."


def main(folder: Path) -> fabula.Story:
    """The story of the room."""
    project = fabula.Project.create(
        folder,
        fabula.Brief("A keeper's lamp is to be switched off. It ends with hope."),
        {
            "model": f"scripted:{HERE / 'scripts' / 'room.toml'}",
            "config": {"final_reading": False},
            "roles": {"setting": {"play": f"{__file__}:weather_report"}, "climax": {"play": "me"}},
        },
    )
    options = fabula.Options(person=at_the_keyboard)
    return asyncio.run(fabula.write_in(project, project.settings, options)).story


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(main(Path(folder) / "story").text)
