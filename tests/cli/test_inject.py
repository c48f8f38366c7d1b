from __future__ import annotations

import json
from typing import TYPE_CHECKING

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


def test_screenplays_are_written_in_the_papers_files(cli: Cli, here: Path) -> None:
    name = "English/synthetic_hallucination_001"
    scenes = [{"_id": n, "title": f"{n + 1}, INT. A - DAY.", "subtitle": "", "content": "Rain."} for n in range(2)]
    line = {"id": 1, "hallucination": "In scene 1, rain was established, yet in scene 2, dust happens"}
    files = {f"{name}/script.json": scenes, f"{name}/annotations.json": [line]}
    reply = "\n".join(f"{file}\n```json\n{json.dumps(data)}\n```" for file, data in files.items())
    (here / "write.toml").write_text(script_of({"writer": reply}), encoding="utf-8")
    asked = ("lab", "inject", "--screenplays", "1", "--out", "s", "--model", "scripted:write.toml")
    ran = cli(*asked)
    assert ran.code == 0, ran.err
    assert "2 scenes, 1 error" in ran.out
    assert "1 annotations, not 15 to 30" in ran.err
    assert "Have a person check each annotation, because" in ran.err
    for file, data in files.items():
        assert json.loads((here / "s" / file).read_text()) == data
    again = cli(*asked, "--frozen", "--json")
    assert (again.json["asked"], again.json["replayed"]) == (0, 1)
    assert again.json["files"] == [f"s/{file}" for file in files]
    assert cli("lab", "inject", "story.md", "--out", "s").code == 2, "screenplays alone"


def test_a_screenplay_without_a_script_is_said_and_the_others_are_written(cli: Cli, here: Path) -> None:
    scene = {"_id": 0, "title": "1, INT. A - DAY.", "subtitle": "", "content": "Rain."}
    reply = f"English/synthetic_hallucination_002/script.json\n```json\n{json.dumps([scene])}\n```\n"
    (here / "write.toml").write_text(script_of({"writer": reply}), encoding="utf-8")
    ran = cli("lab", "inject", "--screenplays", "2", "--out", "s", "--model", "scripted:write.toml")
    assert ran.code == 1
    assert "no readable script.json" in ran.err
    assert [one.name for one in (here / "s" / "English").iterdir()] == ["synthetic_hallucination_002"]
