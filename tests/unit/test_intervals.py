"""Intervals: by unit, absent where too little is known, never a certainty that nobody has."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from fabula.stats.agreement import agreement
from fabula.stats.differences import as_said, corrected, differences
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import (
    coefficient_of,
    count_of,
    group_members,
    leaving_out,
    mean_of,
    share_of,
    spread_of,
)
from fabula.stats.shares import wilson

VALUES = [float(value) for value in np.random.default_rng(3).normal(5, 2, 60)]


def ends(found: Scored) -> tuple[float, float]:
    assert isinstance(found, Estimate)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def test_a_mean_has_its_n_interval_and_method() -> None:
    found = mean_of(VALUES, method="mean over stories")
    assert isinstance(found, Estimate)
    assert (found.value, found.n, found.level) == pytest.approx((fmean(VALUES), 60, 0.95))
    assert found.method == "mean over stories; t interval, widened for skewness"
    half = 2.001 * float(np.std(VALUES, ddof=1)) / 60**0.5
    assert ends(found) == pytest.approx((found.value - half, found.value + half), abs=0.05)


def test_five_normal_values_have_at_least_the_t_interval() -> None:
    values = [1.0, 2, 4, 5, 8]
    low, high = ends(mean_of(values))
    half = 2.7764 * float(np.std(values, ddof=1)) / 5**0.5
    assert low <= 4 - half + 1e-3
    assert high >= 4 + half - 1e-3
    assert high - 4 > 4 - low, "the values are skewed to the right"


def test_the_level_widens() -> None:
    narrow, wide = (ends(mean_of(VALUES, level=level)) for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_what_belongs_together_counts_once() -> None:
    # Ten verdicts on each prompt say the same: they are worth one, so the interval is as wide as that of one.
    tenfold = mean_of(np.repeat(VALUES, 10), [i // 10 for i in range(600)])
    assert isinstance(tenfold, Estimate)
    assert ends(tenfold) == pytest.approx(ends(mean_of(VALUES)))
    assert tenfold.n == 60
    assert "by 60 groups" in tenfold.method


def test_units_of_unequal_size_have_fewer_degrees_of_freedom() -> None:
    equal = spread_of(np.arange(12.0), group_members([n // 3 for n in range(12)], 12))
    unequal = spread_of(np.arange(12.0), group_members(list("aaaaaaaaabcd"), 12))
    assert not isinstance(equal, Unscored)
    assert not isinstance(unequal, Unscored)
    assert equal.freedom == pytest.approx(3)
    assert unequal.freedom < 2


@pytest.mark.parametrize("values", [[3.0], [2.0, 4.0]])
def test_below_three_units_there_is_no_interval_and_it_is_said(values: list[float]) -> None:
    for found in (mean_of(values), mean_of([*values, *values], ["p", "q"][: len(values)] * 2)):
        assert isinstance(found, Estimate)
        assert (found.low, found.high) == (None, None)
        assert "no interval from" in found.method


def test_nothing_is_unscored() -> None:
    assert mean_of([]) == share_of([]) == Unscored("there is nothing to measure")


def test_values_that_are_alike_are_no_certainty() -> None:
    words = mean_of([60.0] * 6)
    assert isinstance(words, Estimate)
    assert words.low is None, "nobody knows how far words may go"
    assert "all units have the same value" in words.method
    low, high = ends(mean_of([60.0] * 6, limits=(0, 100)))
    assert 0 < low < 60 < high < 100
    assert ends(share_of([1.0] * 12)) == pytest.approx(wilson(12, 12))
    assert ends(share_of([1.0] * 336, [n // 28 for n in range(336)])) == pytest.approx(wilson(12, 12))
    low, high = ends(share_of([0.5] * 10))
    assert low < 0.5 < high


def test_336_answers_on_12_stories_are_not_independent() -> None:
    rng = np.random.default_rng(2)
    stories = np.repeat(np.arange(12), 28)
    answers = (rng.random(336) < rng.beta(2, 1, 12)[stories]).astype(float)
    low, high = ends(share_of(answers, stories.tolist()))
    narrow = wilson(float(answers.sum()), 336)
    assert high - low > 2 * (narrow[1] - narrow[0])


def test_yes_or_no_a_unit_is_wilsons_interval() -> None:
    found = share_of([1, 1, 0, 1, 1], list("abcde"))
    assert ends(found) == pytest.approx(wilson(4, 5))
    assert isinstance(found, Estimate)
    assert found.method == "share, by 5 groups; Wilson interval"


def test_what_is_no_share_or_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        share_of([0.0, 2.0])
    with pytest.raises(ValueError, match="Leave out what is not scored"):
        mean_of([1.0, float("nan")])
    with pytest.raises(ValueError, match="2 values have 1 groups"):
        mean_of([1.0, 2.0], ["p"])


def test_counts_that_differ_much_have_a_wider_interval() -> None:
    alike, apart = count_of([4, 4, 4, 4, 4], "comments"), count_of([0, 0, 20, 0, 0], "comments")
    assert alike.value == apart.value == 20
    assert apart.high is not None
    assert alike.high is not None
    assert apart.high > alike.high
    assert count_of([0, 0], "comments", 2.5).low == 0


def test_a_coefficient_needs_eight_units_and_one_to_differ() -> None:
    few = coefficient_of(0.5, 7, [0.4] * 7, method="rho")
    assert few.low is None
    assert few.method == "rho; no interval from fewer than 8 units"
    for without, why in (
        ([0.5] * 9, "the same without any"),
        ([1.0, *[0.4] * 8], "at its limit"),
        ([None, *[0.4] * 8], "undefined"),
    ):
        found = coefficient_of(0.5, 9, without, method="rho")
        assert (found.low, found.high) == (None, None)
        assert why in found.method
    low, high = ends(coefficient_of(0.9, 9, np.linspace(0.85, 0.93, 9).tolist(), method="rho"))
    assert -1 < low < 0.9 < high < 1


def test_many_units_are_left_out_in_parts() -> None:
    assert len(list(leaving_out(group_members(None, 500)))) == 500
    parts = list(leaving_out(group_members(None, 1001)))
    assert len(parts) == 200
    assert sorted({len(rows) for rows in parts}) == [995, 996]


def test_perfect_agreement_is_no_certainty() -> None:
    table = np.array([[n % 3, n % 3] for n in range(12)], dtype=float)
    found = agreement(table, "cohen")
    low, high = ends(found)
    assert (found.as_data()["value"], high) == (1.0, 1.0)
    assert low == pytest.approx(1 - (1 - wilson(12, 12)[0]) / (2 / 3))


# differences ----------------------------------------------------------------------------------------------------------


def systems(*means: float, prompts: int = 12) -> dict[str, dict[str, list[float]]]:
    rng = np.random.default_rng(5)
    common = rng.normal(0, 3, prompts)
    return {
        f"s{n}": {f"p{p}": [float(common[p] + mean + rng.normal(0, 0.5))] for p in range(prompts)}
        for n, mean in enumerate(means)
    }


def test_differences_are_paired_by_prompt_and_hold_all_at_once() -> None:
    found = differences(systems(0, 0, 2), "score")
    assert [one.of for one in found] == ["s0 - s1", "s0 - s2", "s1 - s2"]
    assert [one.shown for one in found] == [False, True, True]
    assert as_said(found, "score") == (
        "Shown to differ in score (3 compared, corrected by Bonferroni): s2 above s0, s2 above s1."
    )
    alone = differences({name: own for name, own in systems(0, 0, 2).items() if name != "s1"}, "score")
    (wide, narrow) = (ends(one.scored) for one in (found[1], alone[0]))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert isinstance(alone[0].scored, Estimate)
    assert "Bonferroni" not in alone[0].scored.method


def test_no_shown_difference_is_said_too() -> None:
    assert as_said(differences(systems(0, 0), "score"), "score").startswith("No difference in score")
    assert not as_said(differences(systems(0, 1, prompts=2), "score"), "score")


def test_systems_without_a_shared_prompt_have_no_difference() -> None:
    (one,) = differences({"a": {"p": [1.0]}, "b": {"q": [1.0]}}, "score")
    assert one.scored == Unscored("no prompt has both")
    assert not differences({f"s{n}": {} for n in range(21)}, "score")


def test_a_difference_is_shown_exactly_where_its_interval_does_not_hold_0() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        means = rng.normal(0, 0.6, 4)
        for one in differences(
            {f"s{n}": {f"p{p}": [rng.normal(m)] for p in range(9)} for n, m in enumerate(means)}, "x"
        ):
            low, high = ends(one.scored)
            assert one.shown == (low > 0 or high < 0)
            seen.add(one.shown)
    assert seen == {True, False}


def test_several_questions_are_corrected_together() -> None:
    rng = np.random.default_rng(6)
    spread = spread_of(rng.normal(1, 1, 12), group_members(None, 12))
    (alone,), (of_five,) = (corrected([("a", "b", 1.0, 12, spread)], "x", questions=count) for count in (1, 5))
    assert isinstance(alone.scored, Estimate)
    assert isinstance(of_five.scored, Estimate)
    assert of_five.scored.p == pytest.approx(5 * (alone.scored.p or 0))
    assert ends(of_five.scored)[0] < ends(alone.scored)[0]
    assert "for all 5 differences on 5 questions at once (Bonferroni)" in of_five.scored.method


def test_a_p_value_says_at_which_level_the_interval_reaches_0() -> None:
    rng = np.random.default_rng(8)
    for values in (rng.normal(0.7, 1, 12), rng.exponential(size=9) - 1.6, rng.exponential(size=9) - 0.6):
        found = spread_of(values, group_members(None, len(values)))
        assert not isinstance(found, Unscored)
        below, above = found.reach(1 - found.chance())
        assert min(abs(found.mean - below), abs(found.mean + above)) == pytest.approx(0, abs=1e-9)
