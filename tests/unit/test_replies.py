"""Reading typed values, choices, lists, scores, sections and refusals out of replies."""

# ruff: noqa: RUF001 - typographic quotation marks are what is tested

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from fabula.engine.replies import (
    ReplyProblem,
    is_cut,
    is_refusal,
    read_choice,
    read_json,
    read_score,
    repair_instruction,
    schema_of,
    short,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "replies"


class Person(BaseModel):
    name: str
    age: int = 0


@dataclass
class Cast:
    people: list[Person]
    mood: Literal["dark", "light"] = "light"


PLAIN = '{"name": "Maren", "age": 34}'


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}",
        f"Sure, here is the JSON:\n\n{PLAIN}\n\nI hope this helps {{really}}!",
        '{"name": "Maren", "age": 34,}',
        "{'name': 'Maren', 'age': 34}",
        "{“name”: “Maren”, “age”: 34}",
        '{name: "Maren", age: 34}',
        '{"name": "Maren", // the keeper\n "age": 34 /* about */}',
        '{"name": "Maren"\n "age": 34}',
        '{"name": "Maren", "age": 34',
        '{"name": "Maren", "age": "34", "wi',
        '[{"name": "Maren", "age": 34}]',
        '{"character": {"name": "Maren", "age": 34}}',
        'Draft: {"name": "Mara", "age": 3}\nFinal: {"name": "Maren", "age": 34}',
        'Broken {"name": } then {"name": "Maren", "age": 34}',
    ],
)
def test_json_is_read_with_the_slips_models_make(text: str) -> None:
    assert read_json(text, Person) == Person(name="Maren", age=34)


def test_quotation_marks_inside_strings_do_not_end_them() -> None:
    said = read_json('{"name": "Tor "the Oar" Olsen", "age": 50}', Person)
    assert said.name == 'Tor "the Oar" Olsen'
    assert read_json("{'name': 'Tor's boat', 'age': 1}", Person).name == "Tor's boat"
    assert read_json('{"name": "a\\u00e9\\ud83d\\ude00\\n", "age": 1}x', Person).name == "aé😀\n"
    assert read_json('{"name": "two\nlines", "age": 1}', Person).name == "two\nlines"


def test_a_cut_string_is_closed() -> None:
    cast = read_json('{"people": [{"name": "Maren", "age": 34}, {"name": "To', Cast)
    assert [person.name for person in cast.people] == ["Maren", "To"]


def test_several_objects_make_a_list_where_one_is_wanted() -> None:
    assert len(read_json('{"name": "A"}\n{"name": "B"}', list[Person])) == 2
    assert [p.name for p in read_json('{"characters": [{"name": "A"}]}', list[Person])] == ["A"]
    assert read_json('{"name": "A"}', list[Person]) == [Person(name="A")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No JSON here.", "There is no JSON in it."),
        ("", "There is no JSON in it."),
        ('{"name": 3.5, "age": "old"}', "age: Input should be a valid integer"),
        ('{"age": 3}', "name: Field required"),
        ('{"name": "x", "age": NaN}', "nan is no JSON number"),
        ('{"name": "x", "age": -Infinity,}', "infinity is no JSON number"),
        ('{"name": "x", "age": 1e999}', "too large"),
        ('{"name": "x", "age": ' + "9" * 5000 + "}", "more than 400 digits"),
    ],
)
def test_what_cannot_be_read_is_told_in_words_for_the_model(text: str, expected: str) -> None:
    with pytest.raises(ReplyProblem) as caught:
        read_json(text, Person)
    assert expected.lower() in str(caught.value).lower()
    assert str(caught.value) in repair_instruction(str(caught.value))


@pytest.mark.parametrize(
    "piece", ["{", "[", '{"a":', '{"a": [', '"', "{'", "{a", '{"a": "b" ', "{}", "/*", "{/", "[1,"]
)
def test_hostile_json_is_read_in_bounded_time(piece: str) -> None:
    with pytest.raises(ReplyProblem):
        read_json(piece * (200_000 // len(piece)), Cast)


def test_a_real_reply_with_json_and_a_loop_after_it() -> None:
    text = (GOLDEN / "lamp-json.txt").read_text(encoding="utf-8")
    assert read_json(text, dict[str, Any])["name"] == "Maren"
    fenced = (GOLDEN / "robot-json.txt").read_text(encoding="utf-8")
    assert read_json(fenced, dict[str, Any]) == {"name": "Aurora", "age": 70, "wish": "I am lost"}


def test_schemas_are_inline_and_bounded_for_small_models() -> None:
    schema = schema_of(Cast, short=True)
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    people = schema["properties"]["people"]
    assert people["maxItems"] == 12
    assert people["items"]["properties"]["name"]["maxLength"] == 600
    assert people["items"]["additionalProperties"] is False
    assert "maxLength" not in schema["properties"]["mood"]


def test_bounds_that_a_type_sets_stay_and_a_property_may_be_called_title() -> None:
    class Book(BaseModel):
        title: str = Field(max_length=7)
        lines: list[str] = Field(min_length=20)
        notes: dict[str, str]

    schema = schema_of(Book, short=True)
    assert schema["properties"]["title"]["maxLength"] == 7
    assert schema["properties"]["lines"]["maxItems"] == 20
    assert schema["properties"]["notes"]["maxProperties"] == 12
    assert "title" not in schema


class Node(BaseModel):
    children: list[Node]


def test_only_a_type_that_contains_itself_keeps_definitions() -> None:
    schema = schema_of(Node, short=True)
    assert schema["$defs"]["part1"]["properties"]["children"]["maxItems"] == 12
    assert schema["$defs"]["part1"]["properties"]["children"]["items"] == {"$ref": "#/$defs/part1"}


def test_a_capable_model_has_no_bounds_but_those_with_a_meaning() -> None:
    class Sheet(BaseModel):
        """For people who read the code."""

        name: Annotated[str, short(80)]
        scores: list[int] = Field(max_length=3, description="One for each reader.")
        lines: list[str]

    assert schema_of(Sheet, short=True)["properties"]["name"] == {"type": "string", "maxLength": 80}
    assert schema_of(Sheet) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "scores": {
                "type": "array",
                "items": {"type": "integer"},
                "maxItems": 3,
                "description": "One for each reader.",
            },
            "lines": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name", "scores", "lines"],
        "additionalProperties": False,
    }


def test_no_name_and_no_docstring_of_ours_is_in_a_schema() -> None:
    def made(name: str, doc: str) -> Any:  # noqa: ANN401 - JSON data
        inner = create_model(f"{name}Part", __doc__=f"{doc} part", text=(str, ...))
        tree = create_model(name, __doc__=doc, part=(inner, ...), more=(list[inner], ...))  # type: ignore[valid-type] # made at run time
        return schema_of(tree)

    assert made("Plan", "A plan.") == made("Sheet", "Something else altogether.")


AGENTS = ("Exposition", "Rising Action", "Climax", "finish")


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Climax", "Climax"),
        ("  climax. ", "Climax"),
        ("**Rising Action**", "Rising Action"),
        ('"Rising action"', "Rising Action"),
        ("[Exposition]", "Exposition"),
        ("Answer: Climax", "Climax"),
        ("My choice is: Climax.", "Climax"),
        ("B", "Rising Action"),
        ("(c)", "Climax"),
        ("2.", "Rising Action"),
        ("3) Climax", "Climax"),
        ("Option 4", "finish"),
        ("I choose Rising Action because tension must grow.", "Rising Action"),
        ('{"next": "Climax"}', "Climax"),
        ("The Exposition is done. The Climax comes later. Therefore I choose Rising Action.", "Rising Action"),
        ("Exposition and Climax are both possible.\n\nClimax", "Climax"),
        ("We do not need the Exposition again, so Climax it is", "Climax"),
    ],
)
def test_a_choice_is_read(text: str, choice: str) -> None:
    assert read_choice(text, AGENTS) == choice


@pytest.mark.parametrize("text", ["", "Something else", "Exposition or Climax", "Not the Climax.", "Z", "9"])
def test_an_unclear_choice_is_a_problem_that_names_the_options(text: str) -> None:
    with pytest.raises(ReplyProblem, match="exactly one of 'Exposition', 'Rising Action'"):
        read_choice(text, AGENTS)


def test_letters_as_options_and_options_inside_options() -> None:
    assert read_choice("Response B is a better story.", ["A", "B", "Same"]) == "B"
    assert read_choice("A", ["B", "A"]) == "A"
    assert read_choice("I pick the falling action agent", ["action", "falling action"]) == "falling action"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("7", 7),
        ("**8**", 8),
        ("Score: 6.5", 6.5),
        ("7/10", 7),
        ("I would give it 9 out of 10.", 9),
        ("seven", 7),
        ("There are 3 scenes and 2 characters. Score: 8/10", 8),
        ("Rating: 4\n\nIt has 2 flaws.", 4),
    ],
)
def test_a_score_is_read(text: str, score: float) -> None:
    assert read_score(text, 1, 10) == score


@pytest.mark.parametrize("text", ["", "good", "11", "3 or 4", "4/5", "2024 was 1,000 times better"])
def test_a_score_that_is_none_or_unclear_is_a_problem(text: str) -> None:
    with pytest.raises(ReplyProblem, match="from 1 to 10"):
        read_score(text, 1, 10)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that request.",
        "I cannot assist with creating this story.",
        "As an AI language model, I am unable to write violent scenes.",
        "Unfortunately, I can’t write that.",
    ],
)
def test_refusals_are_recognised(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot help loving the sea, he thought.",
        "\"I'm sorry, but I can't stay,\" she said.",
        "I cannot remember the year the light first answered.",
        "",
        "I'm sorry, but I can't help you. " + "The night went on and the lamp turned. " * 30,
    ],
)
def test_a_storys_own_words_are_no_refusal(text: str) -> None:
    assert not is_refusal(text)


@dataclass(frozen=True)
class _Entry:
    number: int
    why: str = ""


@dataclass(frozen=True)
class _Listed:
    entries: list[_Entry]


@dataclass(frozen=True)
class _Whole(_Listed):
    WHOLE_ENTRIES: ClassVar[bool] = True


CUT_LISTS = [
    ('{"entries": [{"number": 1, "why": "a"}, {"why": "b", "num', [1], [1]),  # what is cut does not fit
    ('{"entries": [{"number": 1, "why": "a"}, {"number": 2, "why": "b', [1, 2], [1]),
    ('{"entries": [{"number": 1, "why": "a"}, {"number": 2, "why": "b"}', [1, 2], [1, 2]),
    ('{"entries": [{"number": 1, "why": "a"}, {"number": 2, "why": "b"}]}', [1, 2], [1, 2]),
]


@pytest.mark.parametrize(("reply", "usual", "whole"), CUT_LISTS)
def test_of_a_list_that_was_cut_the_complete_entries_are_read(reply: str, usual: list[int], whole: list[int]) -> None:
    assert [one.number for one in read_json(reply, _Listed).entries] == usual
    assert [one.number for one in read_json(reply, _Whole).entries] == whole
    assert is_cut(reply) is not reply.endswith("]}")
