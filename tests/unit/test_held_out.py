"""What held-out pairs say of a tuned model, and how pairs are put aside."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fabula.models.base import Message
from fabula.stats.estimate import Estimate
from fabula.training.examples import PreferencePair
from fabula.training.held_out import (
    BASE,
    LATER,
    LONGER,
    SHORTER,
    TUNED,
    Margins,
    compared,
    least_shown,
    parts,
    units_of,
)


def pair(number: int, chosen: str = "one two", rejected: str = "one two", **fields: Any) -> PreferencePair:  # noqa: ANN401 - fields of a pair
    said: dict[str, Any] = {"group": f"scene/{number}", "kind": "retake", "chosen_first": None} | fields
    return PreferencePair(
        f"p{number}", "writer", messages=(Message("user", "Write."),), chosen=chosen, rejected=rejected, **said
    )


def rows(count: int, *, base: float = -1.0, tuned: float = 1.0, **fields: Any) -> list[Margins]:  # noqa: ANN401 - fields of a pair
    return [Margins(pair(n, **fields), f"scene/{n}", base, tuned) for n in range(count)]


def value(scored: object) -> float:
    assert isinstance(scored, Estimate)
    return scored.value


def test_a_model_that_ranks_as_the_author_did_is_better() -> None:
    half = [Margins(pair(n, "a b c", "a b") if n % 2 else pair(n, "a b", "a b c"), str(n), -1, 1) for n in range(30)]
    found = compared(half)
    assert found.better
    assert found.reasons == ()
    assert (value(found.right[TUNED]), value(found.right[BASE])) == (1.0, 0.0)
    assert [value(found.right[rule]) for rule in (LONGER, SHORTER, LATER)] == [0.5, 0.5, 0.5]
    assert (found.n, found.units) == (30, 30)


def test_what_a_rule_does_as_well_is_not_better() -> None:
    found = compared(rows(30, chosen="a b", rejected="a b c"))
    assert not found.better
    (reason,) = found.reasons
    assert "the rule “shorter”" in reason
    assert "More pairs alone would not change that." in reason


def test_a_difference_that_is_not_shown_says_how_many_pairs_would_show_it() -> None:
    found = compared([Margins(pair(n), str(n), -1.0 if n % 5 else 1.0, 1.0 if n % 3 else -1.0) for n in range(12)])
    assert not found.better
    assert any("pairs would show it; there are 12." in reason for reason in found.reasons)


def test_pairs_of_too_few_places_show_nothing() -> None:
    found = compared([Margins(pair(n), str(n % 2), -1.0, 1.0) for n in range(20)])
    assert not found.better
    assert "it takes 3" in found.reasons[0]


def test_an_author_who_keeps_what_came_last_is_told_that_no_model_sees_that() -> None:
    (reason,) = [one for one in compared(rows(30, chosen_first=False)).reasons if "later" in one]
    assert "no model sees in a text when it came." in reason
    assert not any("no model sees" in one for one in compared(rows(30, tuned=-1.0, kind="edit")).reasons)


@pytest.mark.parametrize(
    ("kind", "first", "expected"),
    [("retake", False, 1.0), ("retake", True, 0.0), ("retake", None, 0.5), ("edit", False, 0.5)],
)
def test_the_rule_later_is_worth_nothing_where_no_other_order_was_possible(
    kind: str,
    first: bool | None,  # noqa: FBT001 - the field's own type
    expected: float,
) -> None:
    assert value(compared(rows(6, kind=kind, chosen_first=first)).right[LATER]) == expected


def test_how_many_errors_have_to_be_mended_before_it_shows() -> None:
    assert least_shown([1]) is None
    assert least_shown([50]) is None  # all of one scene
    assert least_shown([1, 1, 1]) is None
    found = [least_shown([1] * count) for count in (6, 12, 24, 48)]
    assert all(found)
    shares = [needed / count for needed, count in zip(filter(None, found), (6, 12, 24, 48), strict=True)]
    assert all(later < earlier for earlier, later in pairwise(shares))


def test_a_scene_stands_in_one_part_and_parts_are_of_much_the_same_size() -> None:
    units = [f"scene/{n % 11}" for n in range(40)]
    found = parts(units, 5)
    assert sorted(index for part in found for index in part) == list(range(40))
    for unit in set(units):
        assert sum(any(units[index] == unit for index in part) for part in found) == 1
    assert max(map(len, found)) - min(map(len, found)) <= 4


def test_parts_do_not_depend_on_the_order_of_pairs() -> None:
    units = [f"scene/{n // 2}" for n in range(20)]
    backwards = units[::-1]
    assert {frozenset(units[i] for i in part) for part in parts(units, 4)} == {
        frozenset(backwards[i] for i in part) for part in parts(backwards, 4)
    }
    assert len(parts(["a", "b"], 5)) == 2


def test_a_whole_project_is_kept_together_where_there_are_many() -> None:
    few = [pair(n, f"a {n}", f"b {n}", source={"project": f"book-{n % 3}"}) for n in range(12)]
    many = [pair(n, f"a {n}", f"b {n}", source={"project": f"book-{n % 9}"}) for n in range(18)]
    assert len(set(units_of(few))) == 12
    assert len(set(units_of(many))) == 9
    assert len(set(units_of([pair(1, "a", "b"), pair(2, "c", "d")]))) == 2
    assert len(set(units_of([pair(1, "a", "b"), pair(2, "c", "a")]))) == 1, "the same text, in a copy of a project"
