"""`fabula data preferences`: what an author did with the texts of a project becomes pairs, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from commandline import REPLIES
from fabula.engine.journal import Journal
from fabula.training.examples import read_card, read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli
    from fabula.training.examples import Pair

pytestmark = pytest.mark.usefixtures("same_model")

CLIMAX = REPLIES["climax"]
MINE = "The storm broke the window, and Mara held what was left of the flame."
OTHER = "Glass flew. The flame bent flat, and Mara put both her hands around it."
THIRD = "Nobody heard the window go. Mara stood in the rain with a light in her hands."
NOTE = "climax:revise_to_note"


def pairs_of(cli: Cli, *arguments: str) -> list[Pair]:
    ran = cli("data", "preferences", "lamp", "--out", "pairs", "--development", "0", *arguments)
    assert ran.code == 0, ran.err
    return list(read_pairs(cli.folder / "pairs", "train"))


def left_out(cli: Cli) -> list[dict[str, Any]]:
    lines = (cli.folder / "pairs/left-out.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def prompt_at(project: Path, path: str) -> list[tuple[str, str]]:
    with Journal(project / ".fabula/journal.db") as journal:
        return list(journal.calls(path)[0].messages)


def edited(cli: Cli, path: str, text: str) -> None:
    assert cli("edit", path, "--text", text, "-C", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0


def retaken(cli: Cli, write_script: Callable[..., None], *note: str, **replies: str) -> None:
    write_script(**replies)
    assert cli("retake", "climax", *note, "-C", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0


def told(pairs: list[Pair]) -> list[tuple[str, str, str]]:
    return [(pair.kind, pair.chosen, pair.rejected) for pair in pairs]


def test_an_edit_is_a_pair_under_the_prompt_that_was_asked(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("edit", MINE, CLIMAX)]
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")
    assert (pair.agent, pair.group, pair.chosen_first) == ("climax", "lamp/climax", False)
    assert pair.source["rejected_version"] == 1
    assert pair.source["chosen_version"] == 2
    assert pair.source["judge"] == "author"
    assert str(project.parent) not in json.dumps(pair.source)
    card = read_card(cli.folder / "pairs")
    assert (card.kind, card.counts["train"], card.counts["kinds"]) == ("pairs", 1, {"edit": 1})


def test_several_edits_are_one_pair_of_the_first_text_and_the_last(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    edited(cli, "climax", THIRD)
    assert told(pairs_of(cli)) == [("edit", THIRD, CLIMAX)]


def test_an_edit_that_was_taken_back_is_no_pair(cli: Cli, project: Path) -> None:
    edited(cli, "climax", MINE)
    cli("undo", "lamp")
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert ran.code != 0
    assert (
        "There is no decision that gives a pair. Pairs come of what you do with a text after it was written" in ran.err
    )
    assert not (cli.folder / "pairs").exists()


def test_a_take_that_stands_is_preferred_to_each_it_replaced(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    assert told(pairs_of(cli)) == [("retake", OTHER, CLIMAX)]
    retaken(cli, write_script, climax=THIRD)
    assert told(pairs_of(cli)) == [("retake", THIRD, CLIMAX), ("retake", THIRD, OTHER)]


def test_a_take_that_was_taken_back_turns_the_pair_round(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    cli("undo", "lamp")
    (before_update,) = pairs_of(cli)
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    assert told([pair]) == told([before_update]) == [("retake", CLIMAX, OTHER)]
    assert pair.chosen_first is True


def test_an_approved_take_is_accepted_against_the_rejected_one(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    retaken(cli, write_script, climax=OTHER)
    cli("approve", "climax", "-C", "lamp")
    assert told(pairs_of(cli)) == [("approval", OTHER, CLIMAX)]


def test_a_note_is_a_pair_and_keeps_the_wish(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    retaken(cli, write_script, "--note", "darker", **{NOTE: OTHER})
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("note", OTHER, CLIMAX)]
    assert pair.source["note"] == "darker"
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")
    cli("undo", "lamp")
    cli("update", "lamp", "--yes")
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("note", CLIMAX, OTHER)]
    assert [(m.role, m.content) for m in pair.messages] == prompt_at(project, "climax/section")


def test_a_wish_for_a_new_draw_is_a_retake(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    retaken(cli, write_script, "--note", "darker", "--anew", climax=OTHER)
    (pair,) = pairs_of(cli)
    assert told([pair]) == [("retake", OTHER, CLIMAX)]
    assert pair.source["note"] == "darker"


def test_an_edit_beside_a_changed_plan_is_left_out(cli: Cli, project: Path) -> None:
    cli("edit", "setting", "--text", "A lighthouse in the south sea.", "-C", "lamp")
    cli("edit", "climax", "--text", MINE, "-C", "lamp")
    cli("update", "lamp", "--yes")
    assert [pair.source["path"] for pair in pairs_of(cli)] == ["setting"]
    assert [(one["path"], one["reason"]) for one in left_out(cli)] == [
        ("climax", "the plan was changed together with the edit")
    ]


def test_an_edit_after_the_brief_was_changed_is_left_out(cli: Cli, project: Path) -> None:
    (project / "brief.md").write_text("# The Lamp\n\nA boy lights a lighthouse.\n", encoding="utf-8")
    cli("edit", "climax", "--text", MINE, "-C", "lamp")
    ran = cli("data", "preferences", "lamp", "--out", "pairs")
    assert "No pair is left: the brief was changed before the edit (1)." in ran.err


def test_a_text_written_anew_for_a_changed_plan_is_no_pair(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    edited(cli, "climax", MINE)
    write_script(resolution=OTHER)
    edited(cli, "falling-action", THIRD)
    assert [(pair.source["path"], pair.kind) for pair in pairs_of(cli)] == [
        ("climax", "edit"),
        ("falling-action", "edit"),
    ]
