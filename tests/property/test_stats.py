"""Statistics over drawn data: nothing depends on order or names, identities hold, intervals cover as they say."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
import scipy.stats  # noqa: F401 - loaded here, so that no drawn case pays for it
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.stats.agreement import Coefficient, Level, agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha
from fabula.stats.bradley_terry import fit, strongly_connected, with_prior
from fabula.stats.correlation import COEFFICIENTS, correlation, kendall_b, pairwise_accuracy, pearson, spearman
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import mean_of
from fabula.stats.ranking import Comparison, bradley_terry, rank_systems
from tallies import tally

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ["a", "b", "c", "d"]
FEW = settings(max_examples=40, deadline=None)
scores = st.lists(st.integers(0, 4).map(float), min_size=0, max_size=12)
pairs = st.lists(st.tuples(st.integers(-3, 3).map(float), st.integers(-3, 3).map(float)), max_size=14)
any_number = st.floats(allow_nan=False, allow_infinity=False)
any_pairs = st.lists(st.tuples(any_number, any_number), max_size=10)
labels = st.lists(st.tuples(*[st.sampled_from("xyz")] * 3), min_size=1, max_size=15)
matrices = st.integers(0, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=k, max_size=k)
)


@st.composite
def verdicts(draw: st.DrawFn) -> list[Comparison]:
    pair = st.sampled_from([(a, b) for a in NAMES for b in NAMES if a != b])
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from("pqr"), pair, st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.integers(-2, 2)
            ),
            max_size=40,
        )
    )
    return [Comparison(prompt, a, b, won, first, longer) for prompt, (a, b), won, first, longer in drawn]


def close(one: Scored, other: Scored) -> None:
    """The same estimate, up to rounding, or the same reason."""
    a, b = one.as_data(), other.as_data()
    assert a == b | {
        name: pytest.approx(b[name], abs=1e-9) for name in ("value", "low", "high") if b.get(name) is not None
    }


@FEW
@given(verdicts(), st.randoms(use_true_random=False))
def test_a_ranking_knows_no_order_of_verdicts_nor_of_names(made: list[Comparison], rng: object) -> None:
    ranking = rank_systems(NAMES, made, prior=0.5)
    names, shuffled = NAMES.copy(), made.copy()
    rng.shuffle(names)  # type: ignore[attr-defined]  # a random.Random
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    again = rank_systems(names, shuffled, prior=0.5)
    for index, name in enumerate(names):
        close(again.strengths[index], ranking.strengths[NAMES.index(name)])
    for what in ("ties", "first_position", "consistency", "longer_wins", "length"):
        close(getattr(again, what), getattr(ranking, what))


@FEW
@given(verdicts())
def test_a_ranking_knows_no_names_and_no_sides(made: list[Comparison]) -> None:
    other = {name: f"{index}-{name}" for index, name in enumerate(reversed(NAMES))}
    turned = [
        Comparison(c.prompt, other[c.second], other[c.first], 1 - c.score, not c.shown_first, -(c.longer or 0))
        for c in made
    ]
    ranking = rank_systems(NAMES, made, prior=0.5)
    again = rank_systems([other[name] for name in NAMES], turned, prior=0.5)
    for one, two in zip(ranking.strengths, again.strengths, strict=True):
        close(one, two)
    for what in ("ties", "first_position", "consistency", "longer_wins", "length"):
        close(getattr(again, what), getattr(ranking, what))


@FEW
@given(matrices)
def test_strengths_are_a_maximum_or_there_is_a_reason(wins: list[list[int]]) -> None:
    table = np.array(wins, dtype=np.float64).reshape(len(wins), len(wins))
    found = bradley_terry(table)
    assert found.finite == (found.log is not None) == (not found.note)
    if len(wins) < 2:
        assert not found.finite
        return
    np.fill_diagonal(table, 0)
    assert found.finite == strongly_connected(table[None])[0]
    strengths = found if found.finite else bradley_terry(table, prior=0.1)
    assert strengths.log is not None
    assert strengths.log.sum() == pytest.approx(0, abs=1e-9)
    # At the maximum every system has won as often as the strengths expect.
    full = table if found.finite else with_prior(table, 0.1)
    share = 1 / (1 + np.exp(strengths.log[None, :] - strengths.log[:, None]))
    assert ((full + full.T) * share).sum(axis=1) == pytest.approx(full.sum(axis=1), abs=1e-6)


@FEW
@given(any_pairs)
def test_coefficients_are_in_their_range_or_undefined(drawn: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in drawn], [b for _, b in drawn]
    for name, measure in COEFFICIENTS.items():
        value = measure(x, y)
        assert value is None or (0 if name == "accuracy" else -1) <= value <= 1
        if name != "accuracy":
            assert (value is None) == (len(set(x)) < 2 or len(set(y)) < 2)


@FEW
@given(pairs, st.permutations(range(14)))
def test_coefficients_know_no_order_and_no_sides(drawn: list[tuple[float, float]], order: Sequence[int]) -> None:
    x, y = [a for a, _ in drawn], [b for _, b in drawn]
    rows = [index for index in order if index < len(drawn)]
    for measure in COEFFICIENTS.values():
        value = measure(x, y)
        assert measure(y, x) == (None if value is None else pytest.approx(value))
        assert measure([x[i] for i in rows], [y[i] for i in rows]) == (None if value is None else pytest.approx(value))


@FEW
@given(pairs)
def test_ranks_see_order_alone(drawn: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in drawn], [b for _, b in drawn]
    for measure in (spearman, kendall_b, pairwise_accuracy):
        assert measure([math.exp(a) for a in x], y) == measure(x, y)
    straight = pearson(x, y)
    assert pearson([3 * a + 1 for a in x], y) == (None if straight is None else pytest.approx(straight))


@FEW
@given(scores)
def test_with_oneself_all_agrees(x: list[float]) -> None:
    for name, measure in COEFFICIENTS.items():
        value, turned = measure(x, x), measure(x, [-a for a in x])
        assert value is None or value == pytest.approx(1)
        assert turned is None or turned == pytest.approx(0 if name == "accuracy" else -1)


@FEW
@given(pairs)
def test_kendall_and_accuracy_count_pairs(drawn: list[tuple[float, float]]) -> None:
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in combinations(drawn, 2)]
    agree, differ = (sum(p * q == sign for p, q in signs) for sign in (1, -1))
    tied = sum((p == 0) != (q == 0) for p, q in signs)
    x, y = [a for a, _ in drawn], [b for _, b in drawn]
    counted = agree + differ + tied
    assert pairwise_accuracy(x, y) == (pytest.approx((agree + tied / 2) / counted) if counted else None)
    spread = math.sqrt(sum(p != 0 for p, _ in signs) * sum(q != 0 for _, q in signs))
    assert kendall_b(x, y) == (pytest.approx((agree - differ) / spread) if spread else None)


@FEW
@given(labels)
def test_kappa_and_alpha_identities(table: list[tuple[str, str, str]]) -> None:
    codes = [[float("xyz".index(label)) for label in row] for row in table]
    fleiss, alpha = fleiss_kappa(tally(table)), krippendorff_alpha(np.array(codes), "nominal")
    assert (fleiss is None) == isinstance(alpha, Unscored)
    if fleiss is not None and not isinstance(alpha, Unscored):
        # Without missing ratings alpha is Fleiss' kappa with a correction for the number of ratings.
        n = 3 * len(table)
        assert 1 - alpha == pytest.approx((1 - fleiss) * (n - 1) / n)
    one, two = [row[0] for row in table], [row[1] for row in table]
    kappa = cohen_kappa(one, two)
    assert kappa is None or kappa <= 1
    assert cohen_kappa(two, one) == (None if kappa is None else pytest.approx(kappa))
    assert cohen_kappa(one, one) == (None if len(set(one)) < 2 else pytest.approx(1))


@FEW
@given(labels, st.permutations("xyz"))
def test_agreement_knows_no_names_of_labels(table: list[tuple[str, str, str]], names: list[str]) -> None:
    renamed = [[names["xyz".index(label)] for label in row] for row in table]
    for given_, again in ((table, renamed), (table, table[::-1]), (table, [row[::-1] for row in table])):
        value = fleiss_kappa(tally(given_))
        assert fleiss_kappa(tally(again)) == (None if value is None else pytest.approx(value))


@FEW
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.nan]), min_size=3, max_size=3), max_size=8))
def test_every_agreement_is_a_number_or_a_reason(table: list[list[float]]) -> None:
    values = np.array(table).reshape(len(table), 3)
    for coefficient in get_args(Coefficient):
        used = values[:, :2] if coefficient == "cohen" else values
        found = agreement(used, coefficient)
        assert found.n == len(table)
        assert isinstance(found, Unscored) or found.value <= 1 + 1e-9
    for level in get_args(Level):
        doubled = krippendorff_alpha(values * 2 + 1, level)
        alpha = krippendorff_alpha(values, level)
        assert doubled == (alpha if isinstance(alpha, Unscored) else pytest.approx(alpha))


def covered(found: Scored, truth: float) -> bool:
    assert isinstance(found, Estimate)
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


def test_intervals_of_a_mean_cover_at_the_stated_rate() -> None:
    rng = np.random.default_rng(1)
    for level in (0.95, 0.8):
        hits = [covered(mean_of(rng.normal(size=50), level=level), 0.0) for _ in range(600)]
        assert sum(hits) / 600 == pytest.approx(level, abs=0.04)


def test_intervals_by_group_cover_where_those_by_item_do_not() -> None:
    rng = np.random.default_rng(2)
    groups = [index // 5 for index in range(200)]
    hits = np.zeros(2)
    for _ in range(300):
        values = np.repeat(rng.normal(size=40), 5) + 0.3 * rng.normal(size=200)
        found = (mean_of(values, given_) for given_ in (groups, None))
        hits += [covered(scored, 0.0) for scored in found]
    by_group, by_item = hits / 300
    assert by_group == pytest.approx(0.95, abs=0.04)
    assert by_item < 0.75


def test_intervals_of_a_correlation_cover_at_the_stated_rate() -> None:
    rng = np.random.default_rng(3)
    truth = 6 / math.pi * math.asin(0.5 / 2)  # Spearman's rho of a normal pair with r = 0.5
    hits = []
    for _ in range(120):
        x = rng.normal(size=80)
        y = 0.5 * x + math.sqrt(0.75) * rng.normal(size=80)
        hits.append(covered(correlation(x, y, "spearman"), truth))
    assert sum(hits) / 120 == pytest.approx(0.95, abs=0.05)


def test_intervals_of_strengths_cover_at_the_stated_rate() -> None:
    rng = np.random.default_rng(4)
    log = np.array([0.8, 0.2, -0.3, -0.7])
    first, second = np.triu_indices(4, 1)
    hits = []
    for _ in range(60):
        better = rng.random((60, len(first))) < 1 / (1 + np.exp(log[second] - log[first]))
        made = [
            Comparison(f"{prompt:02}", NAMES[i], NAMES[j], float(won))
            for prompt, row in enumerate(better.tolist())
            for i, j, won in zip(first, second, row, strict=True)
        ]
        strengths = rank_systems(NAMES, made).strengths
        hits += [covered(strength, truth) for strength, truth in zip(strengths, log, strict=True)]
    assert sum(hits) / len(hits) == pytest.approx(0.95, abs=0.05)


def test_strengths_come_nearer_to_the_truth_with_more_verdicts() -> None:
    rng = np.random.default_rng(5)
    log = np.linspace(-1, 1, 6)
    share = 1 / (1 + np.exp(log[None, :] - log[:, None]))
    errors = []
    for games in (20, 2000):
        won = np.triu(rng.binomial(games, share, size=(200, 6, 6)), 1).astype(np.float64)
        wins = won + (games * np.tril(np.ones((6, 6)), -1) - won.transpose(0, 2, 1)) * np.tril(np.ones((6, 6)), -1)
        finite = strongly_connected(wins)
        errors.append(float(np.sqrt(((fit(wins[finite]) - log) ** 2).mean())))
    assert errors[1] < errors[0] / 7
