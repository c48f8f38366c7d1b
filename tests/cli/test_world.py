from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fabula.story.world import Entity, Fact, Moment, WorldState

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

CANON = """\
entities:
  - name: Mara
    kind: character
facts:
  - subject: Mara
    slot: eyes
    value: grey
    durability: permanent
  - subject: Mara
    slot: age
    value: 16
"""


@pytest.fixture
def world(project: Path) -> Path:
    """A project `lamp` with a world of three scenes."""
    with WorldState(project / ".fabula" / "world.db") as state:
        state.describe([Entity("Mara", "character", ("the keeper",)), Entity("Tobias", "character")])
        state.put_scene(3, "The storm")
        state.add(
            [
                Fact("Mara", "eyes", "grey", Moment(1), durability="permanent"),
                Fact("lamp", "state", "lit", Moment(1), witnesses=("Mara", "Tobias")),
                Fact("lamp", "state", "dark", Moment(2), change="update", witnesses=("Tobias",)),
                Fact("Tobias", "plan", "to\x1b[2J leave", Moment(2), modality="planned", source="Tobias"),
                Fact("Mara", "loves", "him", Moment(3), about=("Tobias",)),
                Fact("the keeper", "eyes", "brown", Moment(3)),
            ]
        )
    return project


def test_the_world_is_shown_with_its_conflicts(cli: Cli, world: Path) -> None:
    ran = cli("world", "lamp")
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[0] == ["about", "what", "value", "scene", "known", "to"]
    assert ["lamp", "state", "dark", "2", "Tobias"] in rows
    assert ["Tobias", "plan", "to", "leave", "(planned", "by", "Tobias)", "2", "Tobias"] in rows
    assert "\x1b" not in ran.out
    assert "4 facts hold." in ran.out
    assert "1 conflict:\n  the keeper, eyes: in scene 1 'grey' was established, in scene 3 it is 'brown'" in ran.out
    assert "For details, use `--at SCENE`" in ran.err


def test_an_earlier_moment_by_number_and_by_title(cli: Cli, world: Path) -> None:
    ran = cli("world", "lamp", "--at", "1", "--json")
    assert {fact["slot"]: fact["value"] for fact in ran.json["facts"]} == {"eyes": "grey", "state": "lit"}
    assert ran.json["conflicts"] == []
    assert len(cli("world", "lamp", "--at", "the storm", "--json").json["conflicts"]) == 1
    assert cli("world", "lamp", "--at", "0").out.startswith("No known facts.")
    ran = cli("world", "lamp", "--at", "The strom")
    assert (ran.code, "Unknown scene 'The strom'. Did you mean 'The storm'?" in ran.err) == (2, True)


def test_the_codex_at_a_scene_points_to_what_somebody_knows(cli: Cli, world: Path) -> None:
    said = "`fabula world lamp --who {} --at 2` tells what {} knows.\n"
    assert said.format("Mara", "Mara") in cli("codex", "show", "lamp", "--name", "Mara", "--at", "2").err
    assert said.format("NAME", "NAME") in cli("codex", "show", "lamp", "--at", "2").err
    assert "--who" not in cli("codex", "show", "lamp").err
    assert cli("world", "lamp", "--who", "Mara", "--at", "2").code == 0
    for command in (("world", "lamp"), ("codex", "show", "lamp")):
        ran = cli(*command, "--at", "99")
        assert (ran.code, ran.out) == (2, "")
        assert re.search(r"There is no scene 99: the story has \d so far\.", ran.err)


def test_what_somebody_knows(cli: Cli, world: Path) -> None:
    ran = cli("world", "lamp", "--who", "the keeper")
    assert ["lamp", "state", "lit", "1", "1", "outdated"] in [line.split() for line in ran.out.splitlines()]
    assert "Mara believes 3 facts, of which 1 changed without their knowledge." in ran.out.replace("the keeper", "Mara")
    data = cli("world", "lamp", "--who", "Tobias", "--at", "2", "--json").json
    assert {(one["fact"]["slot"], one["fact"]["value"]) for one in data["known"]} >= {
        ("state", "dark"),
        ("eyes", "grey"),
    }
    assert [one["outdated"] for one in data["known"]] == [False] * len(data["known"])
    ran = cli("world", "lamp", "--who", "Tobais")
    assert (ran.code, "Did you mean 'Tobias'?" in ran.err) == (2, True)


def test_what_changed_between_two_scenes(cli: Cli, world: Path) -> None:
    ran = cli("world", "lamp", "--diff", "1", "3")
    assert ["~", "lamp", "state", "dark", "2", "was", "lit", "(update)"] in [
        line.split() for line in ran.out.splitlines()
    ]
    assert "From scene 1 to 3: 2 new, 2 changed, 0 ended." in ran.out
    data = cli("world", "lamp", "--diff", "1", "2", "--json").json
    assert [(old["value"], new["value"]) for old, new in data["changed"]] == [("lit", "dark")]
    assert cli("world", "lamp", "--diff", "2", "2").out.startswith("Nothing changed.")


@pytest.mark.parametrize("form", ["graphml", "json", "mermaid"])
def test_exports(cli: Cli, world: Path, form: str) -> None:
    ran = cli("world", "lamp", "--export", form, "--at", "3")
    beginning = {"graphml": "<?xml", "json": "{", "mermaid": "flowchart LR"}[form]
    assert (ran.code, ran.out.startswith(beginning)) == (0, True)
    assert "loves" in ran.out
    assert "loves" not in cli("world", "lamp", "--export", form, "--at", "2").out
    assert "loves" in cli("world", "lamp", "--export", form, "--diff", "2", "3").out
    ran = cli("world", "lamp", "--export", form, "--who", "Tobias", "--out", "w.txt", "--json")
    assert (ran.json["file"], ran.json["format"], ran.json["text"]) == ("w.txt", form, None)
    assert (world.parent / "w.txt").read_text(encoding="utf-8").startswith(beginning)


def test_an_exported_world_is_shown_like_a_project(cli: Cli, world: Path) -> None:
    assert cli("world", "lamp", "--export", "json", "--out", "w.json").code == 0
    shown, again = cli("world", "lamp", "--json").json, cli("world", "w.json", "--json").json
    assert [fact["value"] for fact in shown["facts"]] == [fact["value"] for fact in again["facts"]]
    assert len(again["conflicts"]) == 1


def test_facts_of_a_file_are_taken_and_taken_again_after_edits(cli: Cli, project: Path) -> None:
    (project.parent / "canon.yaml").write_text(CANON, encoding="utf-8")
    assert "2 facts added, 0 withdrawn, 0 unchanged; 0 conflicts" in cli("world", "lamp", "--import", "canon.yaml").out
    (project.parent / "canon.yaml").write_text(CANON.replace("grey", "green"), encoding="utf-8")
    data = cli("world", "lamp", "--import", "canon.yaml", "--json").json
    assert (data["added"], data["withdrawn"], data["kept"]) == (1, 1, 1)
    assert [fact["value"] for fact in cli("world", "lamp", "--json").json["facts"]] == ["16", "green"]


def test_a_wrong_file_changes_nothing(cli: Cli, world: Path) -> None:
    (world.parent / "canon.yaml").write_text(CANON.replace("slot: age", "slot:"), encoding="utf-8")
    before = cli("world", "lamp", "--json").out
    ran = cli("world", "lamp", "--import", "canon.yaml")
    assert (ran.code, "canon.yaml:10: fact 2 > slot: is missing. Write it." in ran.err) == (2, True)
    assert cli("world", "lamp", "--json").out == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lamp", "--diff", "1", "2", "--at", "1"], "and cannot be combined with --at or --who."),
        (["lamp", "--out", "x"], "--out requires --export."),
        (["lamp", "--import", "x.yaml", "--at", "1"], "--import does not show facts. To see them, run"),
        (["lamp"], "lamp has no world (.fabula/world.db is missing)."),
        (["facts.yaml", "--at", "99"], "There is no scene 99: the story has 0 so far."),
        (["brief.md"], "brief.md is not a world. Specify a project folder, or a .json or .yaml file of facts."),
        (["nowhere"], "There is no folder nowhere"),
        (["lamp", "--import", "none.yaml"], "There is no file none.yaml. Correct the name, or give a world"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, project: Path, words: list[str], said: str) -> None:
    (project.parent / "facts.yaml").write_text(CANON, encoding="utf-8")
    ran = cli("world", *words)
    assert ran.code in (1, 2)
    assert said in ran.err
    assert project.is_dir()


def test_a_long_world_is_cut_on_the_screen_and_whole_in_json(cli: Cli, here: Path) -> None:
    facts = [{"subject": f"S{n}", "slot": "x", "value": n} for n in range(230)]
    (here / "w.json").write_text(json.dumps({"facts": facts}), encoding="utf-8")
    assert "... and 30 more; --json lists all" in cli("world", "w.json").out
    assert len(cli("world", "w.json", "--json").json["facts"]) == 230
