"""Conversations in Python at home: the verbs that a server and other programs have, too, on logs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

import fabula
from fabula.app.live_turns import BusyError, LiveTurn, StaleError
from fabula.base.errors import LockedError, UnknownNameError, UsageError
from serving import Engine, project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    with mock.patch("fabula.project.casting.open_model", return_value=made):
        yield made


@pytest.fixture
def lamp(tmp_path: Path, engine: Engine) -> fabula.Project:
    del engine
    return fabula.Project.open(project(tmp_path).folder)


def test_a_conversation_goes_on_from_line_to_line(lamp: fabula.Project, engine: Engine) -> None:
    begun = lamp.converse(["Mara"], "Tobias")
    assert (begun.name, begun.turns, begun.version) == ("tobias-mara", [], 1)
    first = lamp.chat("Is there light?")
    assert (first.conversation, first.turn.who, first.place.turns) == ("tobias-mara", "Mara", 1)
    again = lamp.chat(move="another")
    assert again.turn.answer != first.turn.answer
    assert lamp.choose_answer("tobias-mara", 1, version=again.version).turns[0] == first.turn
    asked = len(engine.asked)
    why = lamp.why("tobias-mara", 1)
    assert (why.who, why.heard) == ("Mara", ["Tobias: Is there light?"])
    assert why.story
    assert "**Tobias:** Is there light?" in lamp.transcript("tobias-mara").text
    branch = lamp.branch("tobias-mara", 1)
    assert (branch.name, branch.branched_from, len(branch.turns)) == ("tobias-mara-2", "tobias-mara", 1)
    assert lamp.take_back("tobias-mara").turns == []
    assert [one.name for one in lamp.conversations().chats] == ["tobias-mara-2"], (
        "in the other nothing is said any more"
    )
    assert lamp.delete_conversation("tobias-mara-2").chats == []
    assert len(engine.asked) == asked, "who looks, chooses and takes back calls no model"


def test_who_is_there_and_how_free_one_is_holds_from_then_on(lamp: fabula.Project) -> None:
    lamp.converse(["Mara", "Henrik"], "Tobias", name="evening")
    assert lamp.chat("One.", conversation="evening").place.present == ("Mara", "Henrik")
    assert lamp.set_scene("evening", ["Henrik"]).place.absent == ("Mara",)
    assert lamp.chat("Two.", conversation="evening").turn.who == "Henrik"
    with pytest.raises(UsageError, match="cannot be set to 'loose' here"):
        lamp.set_scene("evening", freedom="loose")
    with pytest.raises(UnknownNameError, match="Sigrid"):
        lamp.set_scene("evening", ["Sigrid"])


def test_nothing_is_done_in_a_conversation_that_has_gone_on_or_is_answered(lamp: fabula.Project) -> None:
    seen = lamp.converse(["Mara"], "Tobias").version
    now = lamp.chat("One.", version=seen, conversation="tobias-mara")
    for move in (
        lambda: lamp.chat("Two.", version=seen, conversation="tobias-mara"),
        lambda: lamp.take_back("tobias-mara", version=seen),
        lambda: lamp.choose_answer("tobias-mara", 1, version=seen),
    ):
        with pytest.raises(StaleError, match="was continued"):
            move()
    lamp.turns.by_conversation["tobias-mara"] = LiveTurn("say", "Two.")
    with pytest.raises(BusyError, match="An answer is being written"):
        lamp.take_back("tobias-mara", version=now.version)
    assert lamp.conversation("tobias-mara").moving is not None
    del lamp.turns.by_conversation["tobias-mara"]
    with lamp.project().lock(), pytest.raises(LockedError, match="in use"):
        fabula.Project.open(lamp.folder).take_back("tobias-mara")
    assert lamp.conversation("tobias-mara").version == now.version
