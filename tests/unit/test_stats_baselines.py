"""Trivial scores, and counts of yes-or-no answers."""

from __future__ import annotations

import pytest

from fabula.stats.baselines import (
    constant,
    length,
    orderings,
    random_scores,
    type_token_ratio,
)
from fabula.stats.classification import Confusion

TEXTS = ["The lamp and the sea.", "One two three four five six", ""]


def test_trivial_scores() -> None:
    assert constant(TEXTS) == (0, 0, 0)
    assert length(TEXTS) == (5, 6, 0)
    assert type_token_ratio(TEXTS) == (0.8, 1, 0)


def test_chance_goes_by_seed_and_text_alone() -> None:
    one, other = random_scores(TEXTS), random_scores(TEXTS[::-1])
    assert one == other[::-1]
    assert one != random_scores(TEXTS, seed=2)
    many = random_scores([str(n) for n in range(2000)])
    assert 0 <= min(many) < max(many) < 1
    assert sum(many) / 2000 == pytest.approx(0.5, abs=0.02)


def test_the_baselines_that_order_texts_have_a_score_for_every_text() -> None:
    found = orderings(TEXTS, seed=3)
    assert list(found) == ["length", "type-token ratio", "random"]
    assert {len(scores) for scores in found.values()} == {3}
    assert found["random"] == random_scores(TEXTS, 3)


def test_answers_beside_the_truth() -> None:
    found = Confusion.of([True, True, True, False, False], [True, True, False, True, False])
    assert found == Confusion(tp=2, fp=1, fn=1, tn=1)
    assert (found.precision, found.recall, found.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (found.specificity, found.accuracy, found.balanced_accuracy) == pytest.approx((0.5, 0.6, 7 / 12))


def test_counts_add_up_to_micro_averages() -> None:
    assert Confusion(1, 2, 3, 4) + Confusion(10, 20, 30, 40) == Confusion(11, 22, 33, 44)
    assert (Confusion(8, 2) + Confusion(2, 8)).precision == 0.5


def test_shares_of_nothing_are_none() -> None:
    empty = Confusion()
    assert [empty.precision, empty.recall, empty.specificity, empty.f1, empty.accuracy] == [None] * 5
    assert Confusion(tp=3, fn=1).balanced_accuracy is None
    assert Confusion(fp=3, tn=1).balanced_accuracy is None
    assert Confusion(fn=3).f1 == 0


def test_answers_and_truths_are_as_many() -> None:
    with pytest.raises(ValueError, match="1 truths have 2 answers"):
        Confusion.of([True], [True, False])
