"""`fabula text edits`: what the final reading changed, taken back and made again, without asking anybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, REPLIES, script_of

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

EDIT = {"paragraph": 1, "old": "{old}", "new": "The lantern", "why": "It is called so at the end."}


@pytest.fixture
def read(cli: Cli) -> Path:
    """A project `lamp` whose story was read once at its end; one edit was made in its first part."""
    old = " ".join(REPLIES["exposition"].split()[:2])
    edits = json.dumps({"edits": [{**EDIT, "old": old}]})
    (cli.folder / "script.toml").write_text(script_of({**REPLIES, "finalizer": edits}), encoding="utf-8")
    settings = ("--system", "agents-room", "--set", "final_reading=true")
    ran = cli("write", "brief.md", "--out", "lamp", "--model", "scripted:script.toml", *settings)
    assert ran.code == 0, ran.err
    return cli.folder / "lamp"


def story(project: Path) -> str:
    return (project / "story.md").read_text(encoding="utf-8")


def test_an_edit_is_listed_refused_and_made_again(cli: Cli, read: Path) -> None:
    (edit,) = cli("text", "edits", "lamp", "--json").json["edits"]
    assert (edit["part"], edit["new"], edit["refused"]) == ("exposition", "The lantern", False)
    assert "The lantern" in story(read)
    assert "To undo an edit, run `fabula text edits --refuse ID -C lamp`." in cli("text", "edits", "lamp").err

    ran = cli("text", "edits", "lamp", "--refuse", edit["id"])
    assert f"{edit['id']}  exposition  (refused)" in ran.out
    assert "`. It calls no model for this." in ran.err
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert "The lantern" not in story(read)

    cli("text", "edits", "lamp", "--accept", edit["id"])
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert "The lantern" in story(read)


def test_no_file_gets_another_number_for_an_edit(cli: Cli, read: Path) -> None:
    """An edited part is kept before the others are read; a text of the author's own beside them keeps its place."""
    (read / "story/03b-letter.md").write_text("Dear father, the lamp is out.\n", encoding="utf-8")
    with (read / "story/05-resolution.md").open("a", encoding="utf-8") as file:
        file.write("\nThe gulls came back.\n")
    names = sorted(file.name for file in (read / "story").iterdir())
    again = cli("update", "lamp", "--yes").err.partition("To be rewritten: ")[2].partition("\n")[0]
    assert "resolution" not in again
    assert sorted(file.name for file in (read / "story").iterdir()) == names
    whole = story(read)
    assert whole.index("scene: Climax") < whole.index("scene: Letter") < whole.index("scene: Falling Action")


def test_a_refusal_is_undone(cli: Cli, read: Path) -> None:
    (edit,) = cli("text", "edits", "lamp", "--json").json["edits"]
    cli("text", "edits", "lamp", "--refuse", edit["id"])
    assert "Undone: what you refused of the final reading" in cli("undo", "lamp").out
    assert not cli("text", "edits", "lamp", "--json").json["edits"][0]["refused"]
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert "The lantern" in story(read)


def test_an_unknown_edit_and_a_project_without_a_reading(cli: Cli, read: Path) -> None:
    ran = cli("text", "edits", "lamp", "--refuse", "nothing")
    assert ran.code == 2
    assert "Unknown edit 'nothing'." in ran.err
    cli("write", "brief.md", "--out", "plain", "--model", "scripted:script.toml", *BY_PARTS)
    ran = cli("text", "edits", "plain")
    assert ran.code == 2
    assert "This project has no final reading." in ran.err


def test_a_pinned_part_stays_as_it_is_and_the_list_says_so(cli: Cli, read: Path) -> None:
    cli("text", "pin", "exposition", "-C", "lamp")
    ran = cli("text", "edits", "lamp", "--json")
    assert ran.json["edits"][0]["own"]
    assert "(that text is pinned or yours: it stays as it is)" in cli("text", "edits", "lamp").out


def test_a_broken_list_of_edits_is_refused_before_it_is_recorded(cli: Cli, read: Path) -> None:
    before = (read / "drafts/edits.yaml").read_text()
    for name in ("edits", "refused"):
        ran = cli("edit", name, "--text", "foo", "-C", "lamp")
        assert ran.code == 2
        assert f"drafts/{name}.yaml" in ran.err
        assert (read / "drafts/edits.yaml").read_text() == before
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert cli("edit", "edits", "--text", "edits: []", "-C", "lamp").code == 0


def test_what_is_refused_is_nobodys_to_write_anew(cli: Cli, read: Path) -> None:
    (edit,) = cli("text", "edits", "lamp", "--json").json["edits"]
    cli("text", "edits", "lamp", "--refuse", edit["id"])
    ran = cli("text", "retake", "refused", "-C", "lamp")
    assert ran.code == 2
    assert "drafts/refused.yaml is your own list of refused edits" in ran.err
    assert cli("text", "edits", "lamp", "--json").json["edits"][0]["refused"]


def test_an_unknown_id_among_the_refused_is_named(cli: Cli, read: Path) -> None:
    (read / "drafts/refused.yaml").write_text("refused: [zzzzzz]\n", encoding="utf-8")
    cli("update", "lamp", "--yes")
    ran = cli("text", "edits", "lamp")
    assert "drafts/refused.yaml lists zzzzzz, but no edit has that ID. Either the ID" in ran.err
    assert cli("text", "edits", "lamp", "--json").json["unknown"] == ["zzzzzz"]
    cli("text", "edits", "lamp", "--accept", "zzzzzz")
    assert cli("text", "edits", "lamp", "--json").json["unknown"] == []
