"""Intervals: seeded, by whole units, absent where there can be none."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.stats.bootstrap import bootstrap, bootstrap_mean, draw_counts, draws, row_draws
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUES = [float(value) for value in np.random.default_rng(3).normal(5, 2, 60)]


def test_a_mean_has_its_n_interval_and_method() -> None:
    found = bootstrap_mean(VALUES, method="mean over stories")
    assert isinstance(found, Estimate)
    assert (found.value, found.n, found.level) == pytest.approx((fmean(VALUES), 60, 0.95))
    assert found.method == "mean over stories; percentile bootstrap, 1,000 resamples"
    assert found.low is not None
    assert found.high is not None
    half = 1.96 * float(np.std(VALUES)) / 60**0.5
    assert found.low == pytest.approx(found.value - half, abs=0.15)
    assert found.high == pytest.approx(found.value + half, abs=0.15)


def test_any_statistic_draws_what_the_mean_draws() -> None:
    one, other = bootstrap(VALUES, fmean, method="mean").as_data(), bootstrap_mean(VALUES).as_data()
    assert one == other | {name: pytest.approx(other[name]) for name in ("value", "low", "high")}


def test_the_seed_decides_and_the_level_widens() -> None:
    assert bootstrap_mean(VALUES, seed=2) == bootstrap_mean(VALUES, seed=2) != bootstrap_mean(VALUES, seed=3)
    narrow, wide = (bootstrap_mean(VALUES, level=level) for level in (0.5, 0.99))
    assert isinstance(narrow, Estimate)
    assert isinstance(wide, Estimate)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]  # both have intervals


def test_groups_are_drawn_whole() -> None:
    # Ten verdicts on each prompt say the same: they are worth one, so the interval is as wide as that of one.
    single = bootstrap_mean(VALUES)
    tenfold = bootstrap_mean(np.repeat(VALUES, 10), [i // 10 for i in range(600)])
    assert isinstance(single, Estimate)
    assert isinstance(tenfold, Estimate)
    assert (tenfold.low, tenfold.high) == pytest.approx((single.low, single.high))
    assert tenfold.n == 600
    assert "drawn by 60 groups" in tenfold.method


def test_one_unit_and_one_group_have_no_interval() -> None:
    for found in (bootstrap_mean([3.0]), bootstrap_mean([2.0, 4.0], ["p", "p"]), bootstrap([3.0], fmean)):
        assert isinstance(found, Estimate)
        assert (found.value, found.low, found.high) == (3.0, None, None)
        assert "no interval from one unit" in found.method


def test_nothing_is_unscored() -> None:
    assert bootstrap_mean([]) == bootstrap([], fmean) == Unscored("there is nothing to measure")


def test_an_undefined_statistic_is_unscored_with_its_reason() -> None:
    assert bootstrap([1, 2], lambda _: None) == Unscored("undefined on this sample", 2)
    assert bootstrap([1, 2], lambda _: Unscored("both the same")) == Unscored("both the same", 2)


def rare(units: Sequence[int]) -> float | None:
    return float(len(units)) if 0 in units else None


def test_undefined_resamples_are_counted_and_many_leave_no_interval() -> None:
    few = bootstrap([0, 0, 0, 1], rare)
    assert isinstance(few, Estimate)
    assert (few.low, few.high) == (4.0, 4.0)
    assert few.method == "percentile bootstrap, 1,000 resamples, 7 undefined"
    many = bootstrap([0, 1, 2, 3], rare)
    assert isinstance(many, Estimate)
    assert (many.value, many.low) == (4.0, None)
    assert many.method.endswith("undefined; so no interval")


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="Leave out what is not scored"):
        bootstrap_mean([1.0, float("nan")])
    with pytest.raises(ValueError, match="2 values have 1 groups"):
        bootstrap_mean([1.0, 2.0], ["p"])


def test_blocks_of_draws_make_up_all_resamples() -> None:
    blocks = list(draws(400_000, 5, 1))
    assert [block.shape for block in blocks] == [(2, 400_000), (2, 400_000), (1, 400_000)]
    small, counted = next(draws(7, 50, 1)), next(draw_counts(7, 50, 1))
    assert [np.bincount(row, minlength=7).tolist() for row in small] == counted.tolist()


def test_rows_follow_their_groups() -> None:
    members = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]
    chosen = next(draws(3, 20, 1)).tolist()
    expected = [[row for group in groups for row in members[group].tolist()] for groups in chosen]
    assert [rows.tolist() for rows in row_draws(members, 20, 1)] == expected
    assert list(row_draws(members[:1], 20, 1)) == []
