"""A recurrent system: each reply has a part of the story and what is to be remembered of all of it so far.

It is laid in four ways: its memory is lost where an author's text stands (`lost`), kept (`kept`), kept and worked out
again for an author's text (`again`), or kept in a value that cannot be without it (`bare`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from outside import PAPER, lay

if TYPE_CHECKING:
    from pathlib import Path

_ALGORITHM: Final = """\
from __future__ import annotations
from dataclasses import dataclass
from pydantic import BaseModel
from fabula.story import Story

class Turn(BaseModel):
    part: str
    memory: str

@dataclass(frozen=True)
class Told:
    text: str
    memory: str{default}

async def write(brief, run, config):
    story, memory = Story.of(brief), "nothing"
    for number in range(1, config.turns + 1):
        {body}
    return story

async def turn(run, brief, number, memory):
    return await run.ask_for(Turn, "writer", "story", brief=brief.text, number=number, memory=memory)
"""
_LOST: Final = """\
async def make(own, number=number, before=memory):
            nonlocal memory
            reply = await turn(own, brief, number, before)
            memory = reply.memory
            return reply.part
        story = story.add(f"Part {number}", await run.keep(f"part-{number}", make, folder="story"))"""
_KEPT: Final = """\
async def make(own, number=number, before=memory):
            reply = await turn(own, brief, number, before)
            return Told(reply.part, reply.memory)
        async def remember(own, told, number=number, before=memory):
            return Told(told.text, await own.ask("writer", "remember", text=told.text, memory=before))
        told = await run.keep(f"part-{number}", make, shape=Told, folder="story", again={again})
        story, memory = story.add(f"Part {number}", told.text), told.memory"""
_BODIES: Final = {
    "lost": _LOST,
    "kept": _KEPT.replace("{again}", "None"),
    "again": _KEPT.replace("{again}", "remember"),
    "bare": _KEPT.replace("{again}", "None"),
}
_PROMPTS: Final = {
    "story": "{% block user %}{{ brief }} Part {{ number }}. Remembered: {{ memory }}.{% endblock %}\n",
    "remember": "{% block user %}Remembered: {{ memory }}. Then: {{ text }} Sum it up.{% endblock %}\n",
}
_CONFIG: Final = """\
from __future__ import annotations
from dataclasses import dataclass
from fabula.engine.methods import Presets

@dataclass(frozen=True)
class Config(Presets):
    \"\"\"Its settings.

    Attributes:
        turns: how many parts there are.
    \"\"\"

    turns: int = 3
"""
_SCRIPT: Final = """\
brief = "Write a story about Mara, who keeps a lighthouse."
[[cases]]
preset = "faithful"
[[cases]]
preset = "faithful"
edits = { part-1 = "Mara broke the lamp with a hammer." }
[replies]
"writer:remember" = "The lamp is broken"
"part-1/story" = '{"part": "Mara lit the lamp and waited for the boat until morning.", "memory": "The lamp burns"}'
"part-2/story" = '{"part": "The boat came in at last, and Tobias was not on board.", "memory": "Tobias is missing"}'
"part-3/story" = '{"part": "She put out the lamp, took the oars and went to look for him.", "memory": "She rows"}'
"""


def lay_recurrent(folder: Path, way: str) -> Path:
    """A folder with the system in one of its ways."""
    lay(folder)
    default = "" if way == "bare" else ' = "nothing"'
    algorithm = _ALGORITHM.replace("{default}", default).replace("{body}", _BODIES[way])
    (folder / "algorithm.py").write_text(algorithm, encoding="utf-8")
    (folder / "config.py").write_text(_CONFIG, encoding="utf-8")
    (folder / "paper.toml").write_text(PAPER, encoding="utf-8")
    (folder / "README.md").write_text("# A recurrent system\n", encoding="utf-8")
    (folder / "script.toml").write_text(_SCRIPT, encoding="utf-8")
    for name, text in _PROMPTS.items() if way == "again" else [("story", _PROMPTS["story"])]:
        (folder / "prompts" / f"{name}.jinja").write_text(text, encoding="utf-8")
    return folder
