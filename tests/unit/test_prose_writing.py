"""What is left of a role's reply, and what is recorded of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.craft.prose import clean_reply
from fabula.engine.events import Removed
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Reply
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.engine.events import Event

TWICE = "She counted the steps of the tower from the first to the very last of them all."
TEXT = f"Sure! Here is the story:\n\nThe lamp was lit. {TWICE} The boat was late. {TWICE} Nobody came"


def cleaned(aids: Aids, text: str = TEXT) -> tuple[str, list[tuple[str, str]]]:
    heard: list[Event] = []
    with Journal() as journal:
        context = RunContext(
            journal, SystemPrompts(Path()), Cast.of(ScriptedModel({})), aids=aids, listeners=[heard.append]
        )
        said = clean_reply(Run(context).scope("part", 1), "writer", Reply(text), labels=())
        recorded: list[tuple[str, str]] = [(one.rule, one.text) for one in journal.calls.removals("part")]
        assert {one.path for one in journal.calls.removals()} <= {"part/1"}
    assert recorded == list(dict.fromkeys((event.rule, event.text) for event in heard if isinstance(event, Removed)))
    return said, recorded


def test_without_aids_only_chatter_goes_and_is_recorded() -> None:
    text, removed = cleaned("off")
    assert text == TEXT.partition("\n\n")[2]
    assert removed == [("chatter", "Sure! Here is the story:")]


def test_with_aids_each_piece_that_goes_is_recorded_whole_with_its_rule() -> None:
    text, removed = cleaned("on")
    assert text == f"The lamp was lit. {TWICE} The boat was late."
    assert removed == [
        ("chatter", "Sure!"),
        ("chatter", "Here is the story:"),
        ("loop", f"{TWICE} Nobody came"),
    ]


@pytest.mark.parametrize("aids", ["on", "off"])
def test_a_reply_that_is_text_alone_leaves_no_record(aids: Aids) -> None:
    assert cleaned(aids, "The lamp was lit.") == ("The lamp was lit.", [])
