"""A person fills in a typed reply: what each kind of field wants, what it becomes, and what does not fit."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import PausedError
from fabula.cli.people import People, asked_as, shown, value_of
from fabula.cli.terminal import Terminal
from fabula.models.base import Message, Request
from fabula.models.prompt_text import json_instruction

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {"enum": ["Mara", "Old Tom", "Old Jonas"]}
EVENT = {"enum": [1, 2, 12]}
PAIR = {"type": "object", "properties": {"event": EVENT, "character": NAMES}}
TOLD = {"type": "object", "properties": {"who": {"type": "string"}, "what": {"type": "string"}}}


@pytest.mark.parametrize(
    ("field", "said", "value"),
    [
        ({"type": "string"}, "A storm: at night; late.", "A storm: at night; late."),
        ({}, "anything", "anything"),
        ({"type": "string", "minLength": 0}, "", ""),
        ({"type": "string", "minLength": 3, "maxLength": 5}, "12345", "12345"),
        ({"type": "boolean"}, "y", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "3", 3),
        (NAMES, "mara", "Mara"),
        (NAMES, "m", "Mara"),
        (NAMES, "OLD T", "Old Tom"),
        (NAMES, "jon", "Old Jonas"),
        (EVENT, "1", 1),
        (EVENT, "12", 12),
        ({"const": "fixed"}, "f", "fixed"),
        ({"type": "array", "items": EVENT}, "1; 12;", [1, 12]),
        ({"type": "array"}, "", []),
        ({"type": "array", "items": PAIR}, "1: mara; 12: old t", [{"event": 1, "character": "Mara"},
                                                                 {"event": 12, "character": "Old Tom"}]),
        (TOLD, "Mara: says: no", {"who": "Mara", "what": "says: no"}),
        ({"type": "object", "properties": {"what": {"type": "string"}, "who": NAMES}}, "She says: no: mara",
         {"what": "She says: no", "who": "Mara"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "", None),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "4", 4),
        ({"allOf": [NAMES]}, "mara", "Mara"),
    ],
)  # fmt: skip
def test_a_line_becomes_the_fields_value(field: dict[str, Any], said: str, value: object) -> None:
    got = value_of(said, field)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("field", "said", "expected"),
    [
        ({"type": "string"}, "", "Enter at least one word."),
        ({"type": "string", "minLength": 3}, "ab", "Enter at least 3 characters, not 2."),
        ({"type": "string", "maxLength": 3}, "abcd", "Enter at most 3 characters, not 4."),
        ({"type": "boolean"}, "perhaps", "Answer y or n."),
        ({"type": "boolean"}, "", "Answer y or n."),
        ({"type": "integer"}, "1.5", "Enter a whole number."),
        ({"type": "number"}, "many", "Enter a number."),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "4", "Enter a number, at least 1 and at most 3."),
        ({"type": "number", "minimum": 0}, "-1", "Enter a number, at least 0."),
        ({"type": "number", "maximum": 0}, "nan", "Enter a number, at most 0."),
        (NAMES, "old", "Enter one of: Mara, Old Tom, Old Jonas."),
        (NAMES, "", "Enter one of: Mara, Old Tom, Old Jonas."),
        ({"type": "array", "items": EVENT}, "1; 3", "Enter one of: 1, 2, 12."),
        ({"type": "array", "minItems": 2, "maxItems": 2}, "a", "Enter exactly 2, separated by semicolons, not 1."),
        ({"type": "array", "minItems": 2}, "a", "Enter at least 2, separated by semicolons, not 1."),
        ({"type": "array", "maxItems": 1}, "a; b", "Enter at most 1, separated by semicolons, not 2."),
        (TOLD, "Mara", "Enter who: what."),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "Enter nothing."),
        ({"anyOf": []}, "x", "Enter something else."),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(field: dict[str, Any], said: str, expected: str) -> None:
    with pytest.raises(ValueError, match=r"Enter|Answer") as caught:
        value_of(said, field)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "string"}, ""),
        ({"type": "boolean"}, " (y/n)"),
        ({"type": "integer"}, " (number)"),
        (NAMES, " (Mara | Old Tom | Old Jonas)"),
        ({"const": 4}, " (4)"),
        ({"type": "array"}, " (put ; between several)"),
        ({"type": "array", "items": EVENT}, " (1 | 2 | 12; put ; between several)"),
        ({"type": "array", "items": PAIR},
         " (event (1 | 2 | 12): character (Mara | Old Tom | Old Jonas); put ; between several)"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, " (number)"),
        ({"anyOf": [{"type": "null"}]}, ""),
    ],
)  # fmt: skip
def test_a_question_says_what_it_wants(field: dict[str, Any], expected: str) -> None:
    assert asked_as(field) == expected


def test_a_person_reads_neither_json_instructions_nor_the_models_words() -> None:
    asked = Message("user", f"Judge it.\n\n{json_instruction(PAIR)}")
    messages = (
        Message("system", "You direct."),
        asked,
        Message("assistant", "{"),
        Message("user", "That was no JSON."),
    )
    assert shown(Request(messages)) == (("You direct.", "Judge it.", "That was no JSON."), PAIR)


def test_a_schema_that_the_model_takes_is_the_form() -> None:
    request = Request((Message("user", "Judge it."),), schema=PAIR)
    assert shown(request) == (("Judge it.",), PAIR)
    assert shown(Request((Message("user", "Say it."), Message("assistant", "Mara ")))) == (("Say it.",), None)


# a whole reply --------------------------------------------------------------------------------------------------------


async def answered(
    request: Request, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """The person's reply to a request, and what they were shown."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    return await People(Terminal(), folder).answer(request), capsys.readouterr().err


def asking(**more: Any) -> Request:  # noqa: ANN401 - fields of Request
    return Request((Message("user", "Judge it."),), role="critic", path="scene/1/judge", **more)


async def test_one_of_several_is_chosen_on_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reply, found = await answered(asking(choices=("first", "second")), "third\nsec\n", tmp_path, monkeypatch, capsys)
    assert reply == "second"
    assert "your choice (first | second): Enter one of: first, second." in found


async def test_what_is_not_needed_may_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {"sure": {"type": "boolean"}, "note_on_it": {"type": "string"}, "grade": {"type": "integer"}}
    schema = {"type": "object", "properties": fields, "required": ["sure"]}
    reply, found = await answered(asking(schema=schema), "y\n\n4\n", tmp_path, monkeypatch, capsys)
    assert json.loads(reply) == {"sure": True, "grade": 4}
    assert "note on it (or nothing): " in found


async def test_a_reply_that_is_no_object_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "array", "items": NAMES}
    reply, found = await answered(asking(schema=schema), "mara; old t\n", tmp_path, monkeypatch, capsys)
    assert json.loads(reply) == ["Mara", "Old Tom"]
    assert "your answer (Mara | Old Tom | Old Jonas; put ; between several): " in found


async def test_a_form_that_nobody_fills_in_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PausedError, match=r"The role 'critic' is waiting for your text, but the input has ended."):
        await answered(asking(schema=PAIR), "1\n", tmp_path, monkeypatch, capsys)


def test_a_person_sees_both_sides_of_a_chat_and_no_opening() -> None:
    said = (Message("user", "You play Mara."), Message("assistant", "[Mara: Hm.]"), Message("user", "Why?"))
    assert shown(Request(said)) == (("You play Mara.", "[Mara: Hm.]", "Why?"), None)
    assert shown(Request((*said, Message("assistant", "[Mara: (")))) == (("You play Mara.", "Why?"), None)
    assert shown(Request(said, choices=("a", "b"))) == (("You play Mara.", "Why?"), None)
