"""Stories that SmolLM2 really wrote, replayed from their recorded journals: neither weights nor engine are needed.

A change of prompts, sampling or call identity makes a call miss. If that is meant, record anew, with the weights at
hand: `python tests/golden/test_recorded_rooms.py` (`src` and `tests/support` on PYTHONPATH), and read the stories.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Mode, Run, RunContext
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import models_home
from fabula.project.casting import base_sampling
from fabula.story import Brief, Story
from fabula.systems import find
from recorded import dump, load

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset

FOLDER = Path(__file__).parent / "journals"
BRIEF = Brief.parse(
    "Write a story of about 300 words about Ada, who repairs clocks, and her neighbour Jonas, who has stopped his on "
    "purpose. It plays in one winter night. It ends with a clock that strikes."
)
CASES: dict[str, tuple[str, Preset]] = {
    "end-to-end-faithful": ("end-to-end", "faithful"),
}


async def tell(name: str, preset: Preset, journal: Journal, mode: Mode) -> Story:
    model = EmbeddedModel(find_weights("smollm2", models_home(os.environ)), name="embedded:smollm2", threads=1)
    cast = Cast(Assignment(model, base=base_sampling("embedded:smollm2")))
    system = find(name)
    values = {} if preset == "improved" else {"max_tokens": 256}
    try:
        aids: Aids = "auto" if preset == "improved" else "off"
        run = Run(
            RunContext(
                journal, SystemPrompts(system.prompt_folders(preset), common=PROMPTS), cast, mode=mode, aids=aids
            )
        )
        return await system.write(BRIEF, run, system.config(preset, values))
    finally:
        await cast.close()


@pytest.mark.parametrize("case", CASES)
async def test_a_recorded_story_is_told_again_word_for_word(case: str) -> None:
    journal = load((FOLDER / f"{case}.jsonl").read_text(encoding="utf-8"))
    story = await tell(*CASES[case], journal, "frozen")
    assert story.manuscript() == (FOLDER / f"{case}.md").read_text(encoding="utf-8")
    assert dump(journal) == (FOLDER / f"{case}.jsonl").read_text(encoding="utf-8")
    journal.close()


def record() -> None:
    """Write the journals and stories anew."""
    FOLDER.mkdir(exist_ok=True)
    for case, (name, preset) in CASES.items():
        with Journal() as journal:
            story = asyncio.run(tell(name, preset, journal, "live"))
            (FOLDER / f"{case}.jsonl").write_text(dump(journal), encoding="utf-8")
            (FOLDER / f"{case}.md").write_text(story.manuscript(), encoding="utf-8")


if __name__ == "__main__":
    record()
