"""Conversations in Python at home: the verbs that a server and other programs have, too, on logs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

import fabula
from fabula.app.live_turns import BusyError, LiveTurn, StaleError
from fabula.base.errors import LockedError, ProjectError, UnknownNameError, UsageError
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


def test_the_words_of_any_message_can_be_changed_and_restored(lamp: fabula.Project, engine: Engine) -> None:
    lamp.converse(["Mara"], "Tobias")
    first = lamp.chat("Is there light?").turn
    lamp.chat("And the boat?")
    changed = lamp.edit_message("tobias-mara", 1, "Is there  no light?", "(laughs) None. Go home.").turns[0]
    assert (changed.said, changed.answer) == ("Is there no light?", "(laughs) None. Go home.")
    assert (changed.action, changed.edited, changed.who) == ("laughs", True, "Mara")
    assert "**Mara:** (laughs) None." in (lamp.folder / "chat/tobias-mara.md").read_text(encoding="utf-8")
    lamp.chat("Why?")
    asked = "\n".join(message.content for message in engine.asked[-1].messages)
    assert "Is there no light?" in asked
    assert "(laughs) None." in asked
    assert first.answer not in asked
    assert lamp.branch("tobias-mara", 1).turns == [changed]
    assert lamp.edit_message("tobias-mara", 1).turns[0] == first
    assert len(lamp.conversation("tobias-mara").turns) == 3


def test_an_edited_answer_is_kept_among_the_alternatives(lamp: fabula.Project, engine: Engine) -> None:
    lamp.converse(["Mara"], "Tobias")
    lamp.chat("Is there light?")
    lamp.edit_message("tobias-mara", 1, answer="Ask the goose.\r\n\r\n*[Now]* ")
    drawn = lamp.chat(move="another").turn
    lamp.edit_message("tobias-mara", 1, "Is there any light?")
    chosen = lamp.choose_answer("tobias-mara", 1)
    assert [one.answer for one in chosen.alternatives] == ["Ask the goose.\n\n*[Now]*", drawn.answer]
    assert (chosen.turns[0].answer, chosen.turns[0].edited) == ("Ask the goose.\n\n*[Now]*", True)
    restored = lamp.edit_message("tobias-mara", 1).turns[0]
    assert (restored.said, restored.edited) == ("Is there light?", False)
    assert "times I have told you" in restored.answer
    lamp.edit_message("tobias-mara", 1, "Is it dark?")
    lamp.chat(move="another")
    assert "Is it dark?" in engine.asked[-1].messages[-2].content + engine.asked[-1].messages[-1].content
    assert lamp.take_back("tobias-mara").turns == []


def test_what_cannot_be_edited_is_said(lamp: fabula.Project) -> None:
    lamp.chat(move="begin", others=["Mara"], player="Tobias")
    for said, answer, why in (
        (None, " ", "The answer is empty"),
        ("Hm.", None, "In turn 1, Tobias said nothing"),
        ("", None, "Your message is empty"),
        ("x" * 4001, None, "has 4,001 characters; the limit is 4,000"),
    ):
        with pytest.raises(UsageError, match=why):
            lamp.edit_message("tobias-mara", 1, said, answer)
    with pytest.raises(UsageError, match="There is no turn 2: the conversation has 1"):
        lamp.edit_message("tobias-mara", 2)
    log = lamp.folder / "chat/tobias-mara.jsonl"
    log.write_text(f'{log.read_text(encoding="utf-8")}{{"do":"edit","of":1,"said":"","line":3,"edited":true}}\n')
    with pytest.raises(ProjectError, match="3 is not a record of a conversation"):
        lamp.conversation("tobias-mara")


def test_a_model_drafts_what_one_could_say_and_nothing_is_said(lamp: fabula.Project, engine: Engine) -> None:
    begun = lamp.converse(["Mara"], "Tobias")
    first = lamp.draft_line("tobias-mara")
    assert "times I have told you" in first.line
    asked = len(engine.asked)
    assert lamp.draft_line("tobias-mara") == first, "it is paid for once"
    assert len(engine.asked) == asked
    assert lamp.draft_line("tobias-mara", 1).line != first.line
    assert "You play Tobias" in engine.asked[-1].messages[0].content
    assert lamp.conversation("tobias-mara") == begun
    with pytest.raises(UnknownNameError, match="Unknown conversation 'x'"):
        lamp.draft_line("x")
