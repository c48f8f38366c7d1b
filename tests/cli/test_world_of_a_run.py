"""`fabula world` on a project whose story MAGNET wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of

if TYPE_CHECKING:
    from commandline import Cli

PERSONAS = """\
goal: The lamp burns until the morning.
world:
  lamp_lit: false
personas:
  - name: Mara
    aliases: [the keeper]
  - name: Tobias
"""
CANON = "facts:\n  - {subject: world, slot: lamp_lit, value: broken, durability: permanent}\n"


def critique(*updates: tuple[str, str]) -> str:
    made = [{"key": key, "value": value} for key, value in updates]
    return json.dumps({"revise": False, "goal_reached": False, "world_updates": made})


REPLIES = {
    "critic": critique(),
    "Mara:act": '{"action": "Mara lights the lamp."}',
    "Tobias:act": '{"action": "Tobias hides the letter."}',
    "chapter-1/step/1/Mara/criticise": critique(("lamp_lit", "true")),
    "chapter-2/step/2/Mara/criticise": critique(("lamp_lit", "false"), ("turn", "7")),
    "chapter-2/step/2/Tobias/criticise": critique(("letter_hidden", "true"), ("lamp_lit", "true")),
    "narrator": '{"order": [2, 1], "paragraph": "Tobias hid what he had brought. Mara saw to the lamp."}',
    "goal_generator": '{"goal": "They find the letter.", "transition_paragraph": "Then it was day."}',
}


@pytest.fixture
def tale(cli: Cli) -> str:
    """A project of two chapters, one step each."""
    (cli.folder / "magnet.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (cli.folder / "people.yaml").write_text(PERSONAS, encoding="utf-8")
    chosen = ("max_steps=2", "words=400", "chapter_words=5", "stall_steps=1", "domain_shift_steps=99")
    settings = [part for setting in chosen for part in ("--set", setting)]
    ran = cli(
        "write", "brief.md", "--system", "magnet", "--preset", "faithful", "--personas", "people.yaml", "--out", "tale",
        "--model", "scripted:magnet.toml", *settings,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return "tale"


PROGRAM = """\
import json

def answer(request):
    asked, prompt = request.messages[-1].content, request.path.rpartition("/")[2]
    if prompt == "reread":
        said = asked.partition("# Now it says")[2]
        updates = [{"key": "lantern", "value": "green"}] if "green" in said else []
        return json.dumps({"world_updates": updates})
    if prompt == "criticise":
        return json.dumps({"revise": False, "goal_reached": False, "world_updates": [{"key": "lantern", "value": "red"}]
                           if "step/1/" in request.path else []})
    at = request.path.split("step/")[-1].split("/")[0]
    world = asked.partition("# World")[2]
    colour = "green" if "lantern = green" in world else "red" if "lantern = red" in world else "dark"
    if prompt == "set_goal":
        goal = "They find boat %s." % at
        return json.dumps({"goal": goal, "transition_paragraph": "Night %s came, %s." % (at, colour)})
    if prompt == "narrate":
        return json.dumps({"order": [1], "paragraph": "In step %s the lantern was %s." % (at, colour)})
    return json.dumps({"action": "She looks at the lantern."})
"""


def test_an_edit_in_the_middle_of_the_first_chapter_reaches_the_last_through_update(cli: Cli) -> None:
    (cli.folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (cli.folder / "people.yaml").write_text(PERSONAS, encoding="utf-8")
    chosen = ("max_steps=12", "words=4000", "chapter_words=5", "stall_steps=4", "domain_shift_steps=99")
    settings = [part for setting in chosen for part in ("--set", setting)]
    roles = ("character", "critic", "narrator", "goal-generator")
    plays = [part for role in roles for part in ("--play", f"{role}=program.py:answer")]
    ran = cli(
        "write", "brief.md", "--system", "magnet", "--preset", "faithful", "--personas", "people.yaml", "--out", "tale",
        *plays, *settings,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    first, *_, last = sorted((cli.folder / "tale" / "story").glob("*.md"))
    text = first.read_text(encoding="utf-8")
    assert "In step 12 the lantern was red." in last.read_text(encoding="utf-8")
    first.write_text(
        text.replace("In step 2 the lantern was red.", "In step 2 she painted it green."), encoding="utf-8"
    )
    shown = cli("update", "tale", "--dry-run").out
    assert "Changed by you:" in shown
    assert "reread" in shown or "critic" in shown
    ran = cli("update", "tale", "--yes")
    assert ran.code == 0, ran.err
    assert "In step 2 she painted it green." in first.read_text(encoding="utf-8")
    assert "In step 12 the lantern was green." in last.read_text(encoding="utf-8")
    assert values(cli, "tale", "--at", "1")["lantern"] == "green"
    assert "No call is needed." in cli("update", "tale", "--yes").out


def values(cli: Cli, *words: str) -> dict[str, object]:
    said = cli("world", *words, "--json").json
    facts = said["facts"] if "facts" in said else [one["fact"] for one in said["known"]]
    return {fact["slot"]: fact["value"] for fact in facts}


def test_the_world_of_a_run_can_be_asked_chapter_by_chapter(cli: Cli, tale: str) -> None:
    assert values(cli, tale, "--at", "0")["lamp_lit"] is False
    assert values(cli, tale, "--at", "1") == {"lamp_lit": True, "current_goal": "The lamp burns until the morning."}
    assert values(cli, tale, "--at", "Chapter 2")["lamp_lit"] is False, "Mara is told last"
    assert values(cli, tale, "--who", "the keeper", "--at", "2")["letter_hidden"] is True
    changed = {old["slot"] for old, _ in cli("world", tale, "--diff", "1", "2", "--json").json["changed"]}
    assert changed == {"lamp_lit", "current_goal"}
    assert "turn" not in values(cli, tale)


def test_what_its_author_laid_down_is_beside_it(cli: Cli, tale: str) -> None:
    (cli.folder / "canon.yaml").write_text(CANON, encoding="utf-8")
    cli("world", tale, "--import", "canon.yaml")
    assert "lamp_lit: in scene 0 'broken' was set down" in cli("world", tale).out


def test_every_step_has_a_record_and_what_went_wrong_is_counted(cli: Cli, tale: str) -> None:
    steps = [
        step
        for chapter in (1, 2)
        for step in json.loads((cli.folder / tale / "steps" / f"steps-{chapter}.json").read_text(encoding="utf-8"))
    ]
    first, second = steps
    assert [action["character"] for action in second["actions"]] == ["Mara", "Tobias"]
    assert second["order"] == ["Tobias", "Mara"]
    assert [(one["key"], one["value"], one["actor"]) for one in second["updates"]][:3] == [
        ("letter_hidden", True, "Tobias"),
        ("lamp_lit", True, "Tobias"),
        ("lamp_lit", False, "Mara"),
    ]
    assert second["actions"][0]["refused"] == [{"key": "turn", "why": "the key is reserved"}]
    assert first["status"] == "stalled"
    text = cli("write", tale).err
    assert "In 2 steps: 1 refused keys, 1 keys written twice in a step" in text


def test_a_run_asks_nobody_to_approve_its_records(cli: Cli, tale: str) -> None:
    assert "story/01-chapter-1.md waits for your approval" in cli("write", tale, "--approve", "all").err
    assert cli("text", "approve", "chapter-1", "-C", tale).code == 0
    assert "02-chapter-2.md waits for your approval" in cli("write", tale, "--approve", "all").err
    assert cli("text", "approve", "-C", tale).out == "Approved: chapter-2.\n"
    assert cli("write", tale, "--approve", "all").code == 0


def test_chapters_of_a_longer_story_of_before_are_left_out(cli: Cli, tale: str) -> None:
    cli("write", tale, "--set", "max_steps=1")
    assert values(cli, tale)["lamp_lit"] is True


def test_facts_that_a_model_reads_off_a_story_are_its_world(cli: Cli) -> None:
    fact = {"about": "the lamp", "property": "state", "value": "lit", "quote": "lit the lamp", "known_to": ["Mara"]}
    read = json.dumps({"characters": ["Mara", "Tobias"], "facts": [fact]})
    (cli.folder / "facts.toml").write_text(script_of({"reader:read": read}), encoding="utf-8")
    (cli.folder / "tale").mkdir()
    (cli.folder / "tale" / "brief.md").write_text("A lamp.\n", encoding="utf-8")
    (cli.folder / "tale" / "story.md").write_text("<!-- scene: one -->\nMara lit the lamp.\n", encoding="utf-8")
    none = cli("world", "tale")
    assert none.code != 0
    assert "fabula evaluate facts tale --out tale/evaluation" in none.err
    ran = cli("evaluate", "facts", "tale", "--out", "tale/evaluation", "--model", "scripted:facts.toml")
    assert ran.code == 0, ran.err
    shown = cli("world", "tale", "--json").json
    assert [(fact["subject"], fact["value"], fact["witnesses"]) for fact in shown["facts"]] == [
        ("the lamp", "lit", ["Mara"])
    ]
    known = cli("world", "tale", "--who", "Tobias")
    assert "Tobias knows nothing yet" in known.out
    (cli.folder / "tale" / "evaluation" / "facts.json").write_text('{"details": 3}', encoding="utf-8")
    broken = cli("world", "tale")
    assert "does not contain only the facts of this story" in broken.err
