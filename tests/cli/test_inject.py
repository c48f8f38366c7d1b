from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

STORY = "Ada was left-handed.\n\nTom laughed at the door.\n\nAda wrote with her left hand.\n"
EDIT = {
    "kind": "injury_or_handedness", "find": "her left hand", "replace": "her right hand", "needs": "lookup",
    "contradicts": "Ada was left-handed.", "fact": "Ada being left-handed", "event": "her right hand",
    "explanation": "Two hands.",
}  # fmt: skip


@pytest.fixture
def story(here: Path) -> Path:
    replies = {"editor": json.dumps({"errors": [EDIT]}), "proofreader": '{"verdicts": []}'}
    (here / "edit.toml").write_text(script_of(replies), encoding="utf-8")
    (here / "door.md").write_text(STORY, encoding="utf-8")
    return here


def test_a_model_puts_errors_in_and_check_scores_against_them(cli: Cli, story: Path) -> None:
    asked = ("lab", "inject", "door.md", "--n", "1", "--out", "made", "--model", "scripted:edit.toml")
    ran = cli(*asked)
    assert ran.code == 0, ran.err
    assert "door-1" in ran.out
    assert "fabula check made/story.md --gold made/planted.json" in ran.err
    assert (story / "made" / "story.md").read_text() == STORY.replace("left hand.", "right hand.")
    assert (story / "made" / "clean.md").read_text() == STORY
    planted = json.loads((story / "made" / "planted.json").read_text())
    assert {"id", "title", "form", "person", "tense", "genre", "text", "errors", "decoys"} <= set(planted)
    again = cli(*asked, "--frozen", "--json")
    assert (again.json["asked"], again.json["replayed"]) == (0, 2)
    (story / "read.toml").write_text(script_of({"reader": '{"findings": []}', "verifier": "{}"}), encoding="utf-8")
    checked = cli("check", "made/story.md", "--gold", "made/planted.json", "--model", "scripted:read.toml")
    assert checked.code == 0, checked.err
    assert "recall" in checked.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "x"), "Specify either a story or --screenplays N."),
        (("door.md", "--screenplays", "1", "--out", "x"), "Specify either"),
        (("door.md", "--kinds", "agee", "--out", "x"), "Did you mean 'age'"),
        (("door.md", "--kinds", ",", "--out", "x"), "--kinds is empty. Choose from"),
        (("door.md", "--distance", "90", "--out", "x", "--model", "scripted:edit.toml"), "no two places"),
    ],
)
def test_wrong_questions_are_refused(cli: Cli, story: Path, words: tuple[str, ...], said: str) -> None:
    ran = cli("lab", "inject", *words)
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert not (story / "x" / "planted.json").exists()


def test_screenplays_are_written_in_the_papers_files(cli: Cli, story: Path) -> None:
    name = "English/synthetic_hallucination_001"
    scenes = [{"_id": n, "title": f"{n + 1}, INT. A - DAY.", "subtitle": "", "content": "Rain."} for n in range(2)]
    line = {"id": 1, "hallucination": "In scene 1, rain was established, yet in scene 2, dust happens"}
    files = {f"{name}/script.json": scenes, f"{name}/annotations.json": [line]}
    reply = "\n".join(f"{file}\n```json\n{json.dumps(data)}\n```" for file, data in files.items())
    (story / "write.toml").write_text(script_of({"writer": reply}), encoding="utf-8")
    ran = cli(
        "lab", "inject", "--screenplays", "1", "--preset", "faithful", "--out", "s", "--model", "scripted:write.toml"
    )
    assert ran.code == 0, ran.err
    assert "2 scenes, 1 error" in ran.out
    assert "1 annotations, not 15 to 30" in ran.err
    assert "Have a person check each annotation, because" in ran.err
    for file, data in files.items():
        assert json.loads((story / "s" / file).read_text()) == data
