"""Coefficients beside their definitions, their undefined cases, and the definitions of pairwise accuracy."""

from __future__ import annotations

import gzip
import json
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.stats.baselines import constant, type_token_ratio
from fabula.stats.correlation import (
    COEFFICIENTS,
    by_row,
    correlation,
    correlation_within,
    kendall_b,
    pairwise_accuracy,
    pearson,
    spearman,
    without_each,
)
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import group_members
from ground_truth import data_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def lists(count: int, levels: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.integers(levels, size=count)
    return x.astype(np.float64), (x // 2 + rng.integers(levels, size=count)).astype(np.float64)


def by_definition(x: Array, y: Array) -> dict[str, float]:
    """The coefficients from their definitions, over all pairs of items."""
    a, b = (np.sign(np.subtract.outer(values, values)) for values in (x, y))
    agree, differ = (a * b > 0).sum(), (a * b < 0).sum()
    tied = ((a == 0) != (b == 0)).sum()
    ranks = [signs.sum(axis=1) for signs in (a, b)]
    return {
        "pearson": np.corrcoef(x, y)[0, 1],
        "spearman": np.corrcoef(*ranks)[0, 1],
        "kendall": (agree - differ) / np.sqrt((a**2).sum() * (b**2).sum()),
        "accuracy": (agree + tied / 2) / (agree + differ + tied),
    }


@pytest.mark.parametrize("count", [5, 40, 256, 257, 1000])
@pytest.mark.parametrize("levels", [3, 50, 10**6])
def test_coefficients_are_those_of_their_definitions(count: int, levels: int) -> None:
    x, y = lists(count, levels, count + levels)
    expected = by_definition(x, y)
    for name, measure in COEFFICIENTS.items():
        assert measure(x, y) == pytest.approx(expected[name], abs=1e-12), name
        assert by_row(name, np.stack([x, y]), np.stack([y, y])) == pytest.approx([expected[name], 1], abs=1e-12), name


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_what_is_undefined_is_none(name: str) -> None:
    measure = COEFFICIENTS[name]  # type: ignore[index]  # names of the mapping itself
    assert measure([], []) is None
    assert measure([1.0], [2.0]) is None
    assert measure([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]) is None
    if name != "accuracy":
        assert measure([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
        assert measure([0.1] * 3, [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("huge", [1e300, 1e-300, 5e-324])
def test_sizes_do_not_matter(huge: float) -> None:
    assert pearson([-huge, 0.0, huge], [1.0, 2.0, 3.0]) == pytest.approx(1)
    assert pearson([1.0, float(np.nextafter(1, 2))], [0.0, huge]) == pytest.approx(1)
    assert kendall_b([-huge, 0.0, huge], [1.0, 2.0, 3.0]) == 1


def test_wrong_lists_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        spearman([1, 2], [1])
    with pytest.raises(ValueError, match="Leave out pairs that are not scored"):
        kendall_b([1, 2], [1, float("nan")])


def test_three_definitions_of_pairwise_accuracy() -> None:
    people, model = [2, 1, 1, 3], [5, 5, 4, 6]
    # Pairs: (0,1) the model ties; (0,2), (0,3), (1,3), (2,3) agree; (1,2) people tie.
    assert pairwise_accuracy(people, model) == pytest.approx((4 + 0.5 + 0.5) / 6)
    assert pairwise_accuracy(people, model, "legacy_fig3") == pytest.approx(4 / 6)
    assert pairwise_accuracy(people, model, "legacy_table1") == pytest.approx(6 / 6)


def test_only_the_symmetric_accuracy_sees_through_a_constant_measure() -> None:
    people, nothing = [1, 2, 3, 3], [0, 0, 0, 0]
    assert pairwise_accuracy(people, nothing) == 0.5
    assert pairwise_accuracy(people, nothing, "legacy_fig3") == 1.0
    assert pairwise_accuracy(people[::-1], nothing, "legacy_fig3") == pytest.approx(1 / 6)
    assert pairwise_accuracy([1.0], [1.0], "legacy_table1") is None


def test_a_correlation_has_an_interval_and_its_method() -> None:
    x, y = lists(200, 50, 1)
    found = correlation(x, y, "spearman")
    assert isinstance(found, Estimate)
    assert (found.value, found.n) == (spearman(x, y), 200)
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)
    assert found.method.startswith("Spearman's rho, average ranks for ties; jackknife over 200 units")
    grouped = correlation(x, y, "kendall", [i // 10 for i in range(200)])
    assert isinstance(grouped, Estimate)
    assert "by 20 groups" in grouped.method


def test_ranks_are_left_out_as_by_the_plain_formula() -> None:
    x, y = lists(30, 5, 2)
    groups = [n % 10 for n in range(30)]
    members = group_members(groups, 30)
    for name, measure in COEFFICIENTS.items():
        plain = [measure(x[np.array(groups) != n], y[np.array(groups) != n]) for n in range(10)]
        assert without_each(x, y, name, members) == pytest.approx(plain)


def test_an_undefined_correlation_says_why() -> None:
    assert correlation([], [], "pearson") == Unscored("there is nothing to compare")
    assert correlation([1], [1], "pearson") == Unscored("1 item; a correlation needs two", 1)
    assert correlation([1, 1], [1, 2], "kendall") == Unscored("one of the two lists is constant", 2)


def test_within_groups_the_undefined_are_left_out_or_counted_as_told() -> None:
    x, y = [1, 2, 3, 1, 2, 3, 1, 2, 3], [1, 2, 3, 3, 2, 1, 7, 7, 7]
    groups = list("aaabbbccc")
    left_out = correlation_within(x, y, "spearman", [*"aaaaaaccc"])
    assert isinstance(left_out, Estimate)
    assert (left_out.value, left_out.n) == pytest.approx((0, 1))
    zero = correlation_within([*x, 1, 2], [*y, 1, 2], "spearman", [*groups, "d", "d"], undefined=0.0)
    assert isinstance(zero, Estimate)
    assert (zero.value, zero.n) == pytest.approx((0.25, 4))
    assert "1 undefined counted as 0" in zero.method
    whole = correlation_within(x[:6], y[:6], "kendall", groups[:6])
    assert isinstance(whole, Estimate)
    assert whole.method.startswith("mean over groups of Kendall's tau-b; no interval from 2 units")
    assert correlation_within(x[6:], y[6:], "pearson", groups[6:]) == Unscored("undefined in each of 1 groups", 1)


def test_trivial_scores_of_ttcw_come_out_as_published_recomputation_says() -> None:
    folder = data_folder("ttcw")
    people: dict[str, int] = {}
    for row in json.loads((folder / "majority.json").read_text(encoding="utf-8")):
        people[row["story_id"]] = people.get(row["story_id"], 0) + (row["binary_verdict"] == "Yes")
    with gzip.open(folder / "stories.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = {story["story_id"]: story["content"] for story in map(json.loads, file)}
    plots = [[f"{plot}_{system}" for system in ("GPT3.5", "GPT4", "Claude")] for plot in range(12)]
    h = [[people[name] for name in plot] for plot in plots]
    m = [type_token_ratio([texts[name] for name in plot]) for plot in plots]
    flat = [constant(plot) for plot in plots]
    assert fmean(spearman(a, b) or 0 for a, b in zip(h, m, strict=True)) == pytest.approx(0.508, abs=5e-4)
    assert fmean(kendall_b(a, b) or 0 for a, b in zip(h, m, strict=True)) == pytest.approx(0.482, abs=5e-4)
    fig3 = [[pairwise_accuracy(a, b, "legacy_fig3") or 0 for a, b in zip(h, s, strict=True)] for s in (m, flat)]
    assert [fmean(values) for values in fig3] == pytest.approx([0.778, 0.806], abs=5e-4)
    assert {pairwise_accuracy(a, b) for a, b in zip(h, flat, strict=True)} == {0.5}
