"""Marks of a dry run: where they stand, what stays clean, and how lines of work are kept apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from fabula.engine.staleness import MARK, is_stale, marked, own_line, set_stale, side_by_side, unmarked

OWNER = object()


class Turn(NamedTuple):
    speaker: str
    words: str


@dataclass(frozen=True)
class Person:
    name: str
    about: str
    age: int = 40


@dataclass(frozen=True)
class Sheet:
    people: tuple[Person, ...]
    who: tuple[str, ...]
    notes: dict[str, list[str]] = field(default_factory=dict)
    kind: str = "climax"


class Reply(BaseModel):
    text: str
    score: int


def test_every_paragraph_of_a_text_ends_with_a_mark() -> None:
    assert marked("One.\n\nTwo\nlines.\n") == f"One.{MARK}\n\nTwo\nlines.{MARK}\n"
    assert marked("  \n") == "  \n"


def test_prose_in_data_is_marked_and_names_are_not() -> None:
    sheet = Sheet((Person("Old Tom", "A keeper."),), ("Old Tom",), {"why so": ["He waits long."]})
    done = marked(sheet)
    assert done.people == (Person("Old Tom", f"A keeper.{MARK}"),)
    assert (done.who, done.notes, done.kind) == (("Old Tom",), {"why so": [f"He waits long.{MARK}"]}, "climax")
    assert marked([Turn("Mara", "Not yet.")]) == [Turn("Mara", f"Not yet.{MARK}")]
    assert marked(Reply(text="Not at all.", score=3)) == Reply(text=f"Not at all.{MARK}", score=3)
    assert marked((3, None, 2.5)) == (3, None, 2.5)


@given(st.text(alphabet="a .\n\t"))
def test_taking_marks_out_gives_the_text_back(text: str) -> None:
    assert unmarked(marked(text)) == text


def test_long_white_space_takes_no_time() -> None:
    for text in ("a" + " " * 100_000, "a" + "\n" * 100_000 + "b", "a \n" * 30_000):
        assert unmarked(marked(text)) == text


async def test_branches_do_not_make_each_other_stale_but_all_that_follows_them() -> None:
    async def branch(*, stale: bool) -> bool:
        if stale:
            set_stale(OWNER)
        return is_stale(OWNER)

    with own_line():
        assert await side_by_side([branch(stale=True), branch(stale=False)]) == [True, False]
        assert is_stale(OWNER)
        assert not is_stale(object())
    assert not is_stale(OWNER)


async def test_the_first_error_of_a_branch_is_raised_as_it_is() -> None:
    async def fails() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        await side_by_side([side_by_side([fails()])])
