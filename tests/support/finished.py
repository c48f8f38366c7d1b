"""A finished story with the notes and the split that a teacher gives for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

BRIEF = "Write a story of about 300 words about Mara, who keeps a lighthouse against her father's will."
SECTIONS = (
    """\
Mara had kept the lamp for eleven years, and in all that time nobody had asked her whether she liked it. Her father \
Jonas had carried the oil up before her, until his knees gave out. Now he sat below by the stove, and told everybody \
who came that the light would go dark this autumn, for good.

“Electric,” he said. “On the mainland. They do not need us any more.”

""",
    """\
On Saturday the wind turned. Mara counted the boats as she had always done, and there were nine. There should have \
been ten. She went down to the kitchen and took the matches from the drawer.

“Leave it,” Jonas said. “I promised them that it stays dark.”

She looked at him for a while. Then she put on her coat, and he held the door shut with both his hands. “You would \
let them drown for a promise?” she asked, and he said nothing.

""",
    """\
So she went out by the window. The stairs of the tower were wet, the wick was wet, and of the seven matches the first \
six broke. The seventh burned. She held it with her back to the storm until the lamp took it, and the whole white \
light went out over the water. """,
    """\
The tenth boat was already between the rocks. It stood still, as it seemed to her, for longer than a boat can. Then it \
turned, slowly, and came in along the beam like a child along a wall.

""",
    """\
In the morning Jonas came up the stairs, one at a time. He had a can of oil with him. He put it down beside the lamp, \
wiped the glass with his sleeve, and sat on the top step to get his breath.

“Ten,” Mara said.

“I counted,” said her father.""",
)
STORY = "".join(SECTIONS)
NOTES = {
    "conflict": "Mara wants the lamp lit while a boat is still out. She has kept it for eleven years, and it is all "
    "that is hers. Her father Jonas has given his word that it stays dark, and he stands in the door.",
    "character": "* Mara: says little, counts boats, does not wait to be allowed. She is afraid of being too late.\n"
    "* Jonas: her father, bad knees, proud of his word. He learns that a promise can be the wrong one.",
    "setting": "A lighthouse and a kitchen below it, on rocks off a small harbour, in the last autumn before electric "
    "light. All of it happens within one stormy night and the morning after.",
    "plot": "* The light is to go dark.\n* One boat of ten is missing, and Jonas bars the door.\n* Mara climbs out of "
    "the window and gets the wick to burn with her last match.\n* The boat finds the beam.\n* Jonas brings oil.",
}
SPLIT = """\
[Exposition] Mara had kept the lamp for eleven years, and in all that time nobody had asked her whether she liked it.
[Rising Action] On Saturday the wind turned.
[Climax] So she went out by the window.
[Falling Action] The tenth boat was already between the rocks.
[Resolution] In the morning Jonas came up the stairs, one at a time.
"""


def write_corpus(folder: Path, count: int) -> None:
    """`stories.jsonl` with so many finished stories, and `teacher.toml`, the script of their teacher."""
    (folder / "teacher.toml").write_text(script_of({**NOTES, "splitter": SPLIT}), encoding="utf-8")
    lines = ({"id": f"lamp {n}", "brief": f"{BRIEF} {n}", "text": f"{STORY} {n}."} for n in range(count))
    (folder / "stories.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
