"""Agreement beside published examples, statsmodels, and formulas written out slowly."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest

from fabula.stats.agreement import (
    Coefficient,
    Kind,
    Level,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    icc,
    krippendorff_alpha,
)
from fabula.stats.estimate import Estimate, Unscored
from tallies import tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NAN = float("nan")
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), part C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Shrout and Fleiss (1979), Table 2: six targets, four judges.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
# Fleiss' kappa as commonly tabulated: ten subjects, fourteen raters, five categories; 0.210.
SUBJECTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def ratings(seed: int, items: int = 40, raters: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.integers(3, size=(items, 1)) + rng.integers(2, size=(items, raters)), dtype=np.float64)


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_own_example(level: Level, value: float) -> None:
    assert krippendorff_alpha(np.array(OBSERVERS, dtype=np.float64).T, level) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("level", get_args(Level))
def test_alpha_is_one_less_observed_by_expected_disagreement(level: Level) -> None:
    table = ratings(1, 12, 4)
    table[np.random.default_rng(2).random(table.shape) < 0.3] = NAN
    units = [row[~np.isnan(row)].tolist() for row in table]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [value for unit in units for value in unit]

    def apart(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = sorted((a, b))
        between = sum(low <= value <= high for value in pooled)
        return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2 if a != b else 0.0

    observed = sum(apart(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)) / len(pooled)
    expected = sum(apart(a, b) for a, b in permutations(pooled, 2)) / len(pooled) / (len(pooled) - 1)
    assert krippendorff_alpha(table, level) == pytest.approx(1 - observed / expected, abs=1e-12)


@pytest.mark.parametrize(("kind", "value"), [("1,1", 0.17), ("2,1", 0.29)])
def test_icc_of_shrout_and_fleiss_own_example(kind: Kind, value: float) -> None:
    table = np.array(TARGETS, dtype=np.float64)
    assert icc(table, kind) == pytest.approx(value, abs=5e-3)
    assert icc(table * 1e200 + 1e200, kind) == pytest.approx(icc(table, kind))


def test_fleiss_kappa_of_the_example_and_of_statsmodels() -> None:
    assert fleiss_kappa(SUBJECTS) == pytest.approx(0.210, abs=5e-4)
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels, the oracle, is not installed.")
    assert fleiss_kappa(SUBJECTS) == pytest.approx(rater.fleiss_kappa(np.array(SUBJECTS)), abs=1e-12)


@pytest.mark.parametrize(("weights", "theirs"), [(None, None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohen_kappa_equals_that_of_statsmodels(weights: None, theirs: str | None) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels, the oracle, is not installed.")
    both = ratings(5)[:, :2].astype(int)
    table, _ = rater.to_table(both)
    expected = rater.cohens_kappa(table, wt=theirs).kappa
    assert cohen_kappa(both[:, 0].tolist(), both[:, 1].tolist(), weights) == pytest.approx(expected, abs=1e-12)


def test_kappa_of_labels_of_any_kind() -> None:
    assert cohen_kappa(["yes", "no", "yes", None], ["yes", "no", "no", None]) == pytest.approx(0.6363, abs=1e-3)
    assert cohen_kappa([True, False], [False, True]) == pytest.approx(-1)


def test_items_with_fewer_ratings_count_as_far_as_they_go() -> None:
    counts = [[2, 0], [0, 2], [1, 1], [1, 0], [0, 0]]
    shares = ((1 + 0 + 0.5 + 1) / 4) ** 2 + ((0 + 1 + 0.5 + 0) / 4) ** 2
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - shares) / (1 - shares))


def test_what_is_undefined_is_none_and_never_warns() -> None:
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert fleiss_kappa([[1, 0], [0, 1]]) is None
    assert fleiss_kappa(np.empty((0, 0))) is None
    assert cohen_kappa([], []) is None
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a table of items x raters, not of shape \(2,\)"):
        agreement([1, 2], "icc 2,1")
    with pytest.raises(ValueError, match="A rating is infinite"):
        agreement([[1, float("inf")]], "alpha nominal")
    with pytest.raises(ValueError, match="Counts of ratings are 0 or more"):
        fleiss_kappa([[-1, 2]])
    with pytest.raises(ValueError, match="they gave 1 and 2 labels"):
        cohen_kappa(["a"], ["a", "b"])


@pytest.mark.parametrize("coefficient", get_args(Coefficient))
def test_each_coefficient_has_an_interval(coefficient: Coefficient) -> None:
    table = ratings(7)[:, : 2 if coefficient == "cohen" else 3]
    found = agreement(table, coefficient)
    assert isinstance(found, Estimate)
    assert found.n == 40
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)
    by_prompt = agreement(table, coefficient, [i // 4 for i in range(40)])
    assert isinstance(by_prompt, Estimate)
    assert by_prompt.value == found.value
    assert "by 10 groups" in by_prompt.method


def test_the_estimates_are_the_plain_coefficients() -> None:
    table = ratings(8)
    plain: dict[Coefficient, float | Unscored | None] = {
        "fleiss": fleiss_kappa(tally(table.tolist())),
        "alpha ordinal": krippendorff_alpha(table, "ordinal"),
        "icc 2,1": icc(table, "2,1"),
    }
    for coefficient, value in plain.items():
        assert agreement(table, coefficient).as_data()["value"] == pytest.approx(value)
    kappa = cohen_kappa(table[:, 0].tolist(), table[:, 1].tolist())
    assert agreement(table[:, :2], "cohen").as_data()["value"] == pytest.approx(kappa)


def test_an_undefined_agreement_says_why() -> None:
    assert agreement([[1, 1], [1, 1]], "fleiss") == Unscored("all ratings are of one category", 2)
    assert agreement([[1, 1], [1, 1]], "alpha nominal") == Unscored("all ratings are the same", 2)
    for level in get_args(Level):
        assert krippendorff_alpha(np.array([[1.0, 1.0], [1.0, NAN]]), level) == Unscored("all ratings are the same")
        assert krippendorff_alpha(np.array([[1.0, NAN], [NAN, 2.0]]), level) == Unscored("no item has two ratings")
        assert krippendorff_alpha(np.empty((0, 3)), level) == Unscored("no item has two ratings")
    assert agreement([[1, NAN]], "alpha interval") == Unscored("no item has two ratings", 1)
    assert agreement([[1, 1, 1]], "cohen") == Unscored("Cohen's kappa is of two raters, not 3", 1)
    assert agreement([[1, NAN]], "cohen") == Unscored("there are no items", 1)
    assert agreement([[1.0, NAN], [1.0, 2.0]], "icc 1,1") == Unscored("ICC needs every rating, and some are missing", 2)
    assert agreement([[4, 4], [4, 4]], "icc 1,1") == Unscored("nothing varies", 2)
    assert agreement([[1, 2]], "icc 1,1") == Unscored("ICC needs two items and two raters", 1)
    assert agreement([[1], [2]], "icc 2,1") == Unscored("ICC needs two items and two raters", 2)
    assert agreement([[0, 1], [1, 0]], "icc 2,1") == Unscored(
        "the estimated variance of the ratings is not positive", 2
    )
