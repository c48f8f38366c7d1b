"""`ratings.jsonl`: one format for people, models and programs; every bad line is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.base.errors import UsageError
from fabula.measure.ratings import SAME, Rating, parse_ratings, read_ratings, write_line, write_ratings

if TYPE_CHECKING:
    from pathlib import Path

SCORE = Rating(rater="Ines", kind="person", items=("cape/1",), question="plot", answer=4.0, shown="4")
CHOICE = Rating(
    rater="m", kind="model", items=("a", "b"), systems=("x", "y"), question="overall", answer=SAME, shown="Same",
    prompt="lamp", reason="Alike.", rubric="1", evaluator="pairwise", call="compare/1",
    started="2026-01-01T10:00:00Z", ended="2026-01-01T10:00:09Z",
)  # fmt: skip
MISSING = Rating(rater="m", kind="model", items=("a",), question="plot", answer=None, unscored="no verdict")


def test_what_is_written_is_read_and_defaults_are_left_out() -> None:
    ratings = (SCORE, CHOICE, MISSING)
    assert parse_ratings(write_ratings(ratings)) == ratings
    assert json.loads(write_line(SCORE)) == {
        "rater": "Ines", "kind": "person", "items": ["cape/1"], "question": "plot", "answer": 4.0, "shown": "4",
    }  # fmt: skip
    assert json.loads(write_line(MISSING))["answer"] is None


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.one_of(TEXTS, st.floats(-1e9, 1e9)), TEXTS), max_size=5))
def test_any_texts_come_back(rows: list[tuple[str, str, str | float, str]]) -> None:
    ratings = tuple(
        Rating(rater=who, kind="program", items=(f"{n}{item}",), question="q", answer=answer, reason=reason)
        for n, (who, item, answer, reason) in enumerate(rows)
    )
    assert parse_ratings(write_ratings(ratings)) == ratings


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answer": None}, "needs an answer, or a reason in `unscored` if"),
        ({"unscored": "but there is one"}, "needs an answer, or a reason in `unscored` if"),
        ({"answer": float("nan")}, "number must be finite, not nan"),
        ({"items": ("x", "x"), "answer": "x"}, "this one contains 'x' twice"),
        ({"answer": float("inf")}, "number must be finite, not inf"),
        ({"systems": ("x", "y")}, "There are 1 items and 2 systems. Specify one system for each"),
    ],
)
def test_a_rating_that_makes_no_sense_cannot_be_made(fields: dict[str, Any], expected: str) -> None:
    known: dict[str, Any] = {"rater": "a", "kind": "person", "items": ("i",), "question": "q", "answer": 1.0}
    with pytest.raises(ValueError, match=expected):
        Rating(**known | fields)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "line 2: Invalid JSON"),
        ("[1]", "line 2: "),
        ('{"rater": "a"}', "line 2: `kind` is missing"),
        (
            '{"rater": "a", "kind": "cat", "items": ["i"], "question": "q", "answer": 1}',
            "line 2: `kind` must be",
        ),
        (
            '{"rater": "a", "kind": "person", "items": ["i"], "question": "q", "answer": null}',
            "line 2: A rating needs an answer, or",
        ),
        ('{"rater": "a", "kind": "person", "items": ["i"], "question": "q", "answer": NaN}', "line 2: "),
    ],
)
def test_a_bad_line_is_named_with_its_file(tmp_path: Path, line: str, expected: str) -> None:
    file = tmp_path / "form.jsonl"
    file.write_text(f"{write_line(SCORE)}\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_ratings(file)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"{file}, line 2: ")
    assert str(caught.value).endswith("Correct the line or remove it.")
    assert ".. " not in str(caught.value)


def test_the_same_verdict_twice_is_an_error_that_names_both_lines() -> None:
    text = f"{write_line(SCORE)}\n\n{write_line(CHOICE)}\n{write_line(SCORE)}\n"
    with pytest.raises(UsageError, match=r"ratings, line 4: line 1 already contains this verdict. Remove one of them."):
        parse_ratings(text)


def test_the_same_question_in_the_other_order_or_at_another_time_is_another_verdict() -> None:
    lines = [{"rater": "a", "kind": "person", "items": items, "question": "q", "answer": "same", "started": at}
             for items in (["i", "j"], ["j", "i"]) for at in ("", "2026-01-02")]  # fmt: skip
    assert len(parse_ratings("\n".join(map(json.dumps, lines)))) == 4


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*none\.jsonl\. .* or give a file of ratings \(JSONL\)\."):
        read_ratings(tmp_path / "none.jsonl")
