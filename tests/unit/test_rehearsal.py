"""What a dry run stands on where nothing is recorded."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fabula.engine.dry_run import DryRun, PlannedCall, placeholder, usual
from fabula.story import count_words
from fabula.story.sentences import sentences


@pytest.mark.parametrize("words", [1, 13, 14, 15, 500])
def test_a_placeholder_has_the_words_asked_for_in_sentences_that_all_differ(words: int) -> None:
    text = placeholder(words, "climax/section")
    assert count_words(text) == words
    assert text.endswith(".")
    pieces = sentences(text)
    assert len(set(pieces)) == len(pieces) == -(-words // 11)


def test_placeholders_of_two_paths_share_no_sentence() -> None:
    assert not set(sentences(placeholder(60, "a"))) & set(sentences(placeholder(60, "b")))
    assert placeholder(0, "a")


def test_planned_calls_are_summed_and_an_unknown_price_stays_unknown() -> None:
    known = PlannedCall("plot/plot", "plot", "m", 100, 20, 0.5)
    unknown = PlannedCall("climax/section", "climax", "n", 10, 2, None)
    assert DryRun().cost == 0
    assert DryRun([known, known]).cost == 1.0
    assert DryRun([known, unknown]).cost is None
    assert DryRun([known, unknown]).tokens == 132


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": "fixed"}, "fixed"),
        ({"enum": ["first", "second"]}, "first"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, None),
        ({"oneOf": [{"type": "integer", "minimum": 4}]}, 4),
        ({"allOf": [{"type": "boolean"}]}, False),
        ({"type": "integer"}, 1),
        ({"type": "number", "minimum": 0.5}, 0.5),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}, {"sure": False}),
    ],
)
def test_what_stands_for_a_typed_reply_fits_its_schema(schema: dict[str, Any], value: object) -> None:
    assert usual(schema, "", {}) == value


def test_texts_in_it_differ_by_place() -> None:
    parts = {"a": {"type": "string"}, "b": {"type": "array", "minItems": 2}}
    made = usual({"type": "object", "properties": parts, "required": ["a", "b"]}, "", {})
    texts = [made["a"], *made["b"]]
    assert len(set(texts)) == 3
    assert all(re.fullmatch(r"(W\w+( w\w+)*\. ?)+", text) for text in texts)
    assert count_words(usual({}, "", {})) == 12


def test_what_it_quotes_stands_in_the_text_that_it_is_of() -> None:
    text = "* * *\n\n" + "\n".join(f"Line {n} of it: eight words, no more." for n in range(40))
    entry = {"type": "object", "properties": {"quote": {"type": "string"}}, "required": ["quote"]}
    made = usual({"type": "array", "minItems": 30, "items": entry}, "", {"quote": text})
    quotes = {one["quote"] for one in made}
    assert all(quote in text and 3 <= count_words(quote) <= 8 for quote in quotes)
    assert len(quotes) > 15
    assert usual({"type": "string"}, "", {"": "* * *"}) == "* * *"


def test_the_entries_of_an_array_name_one_option_after_the_other() -> None:
    options = {"enum": ["first", "second"]}
    parts = {"who": {"anyOf": [options]}, "what": {"const": "same"}}
    entry = {"type": "object", "properties": parts, "required": ["who", "what"]}
    made = usual({"type": "array", "minItems": 3, "items": entry}, "", {})
    assert [one["who"] for one in made] == ["first", "second", "first"]
    assert {one["what"] for one in made} == {"same"}
    assert usual({"type": "array", "items": options}, "", {}) == ["first", "second"]
    inner = {"type": "array", "items": options}
    assert usual({"type": "array", "maxItems": 1, "items": inner}, "", {}) == [["first", "second"]]
