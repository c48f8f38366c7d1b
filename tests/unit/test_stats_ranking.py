"""Strengths beside the paper's and two peers', what has none, and the judge's biases."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.base.errors import UnknownNameError
from fabula.stats.bradley_terry import fit, strongly_connected
from fabula.stats.comparisons import (
    first_position_rate,
    length_against_wins,
    longer_wins,
    order_consistency,
    tie_share,
)
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.ranking import Comparison, bradley_terry, rank_systems
from ground_truth import data_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ONE_ALWAYS_WINS = [[0, 5, 5], [0, 0, 2], [0, 2, 0]]
TWO_GROUPS = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


def wins_of(systems: int, games: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=systems)
    share = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    upper = np.triu(rng.binomial(games, share), 1).astype(np.float64)
    return upper + np.tril(games - upper.T, -1)


def logs(wins: object, **dials: float) -> Array:
    found = bradley_terry(np.asarray(wins, dtype=np.float64), **dials).log  # type: ignore[arg-type]  # only priors
    assert found is not None
    return found


def test_the_strengths_of_the_papers_matrices() -> None:
    published = json.loads((data_folder("bradley_terry") / "seed001.json").read_text(encoding="utf-8"))
    assert len(published) == 3
    for criterion in published.values():
        assert logs(criterion["wins"]).round(4).tolist() == np.round(criterion["log_centred"], 4).tolist()


@pytest.mark.parametrize("name", ["10x2000", "100x100000"])
def test_the_strengths_of_the_synthetic_sets(name: str) -> None:
    file = data_folder("bradley_terry") / f"synthetic_{name}.json.gz"
    data = json.loads(gzip.decompress(file.read_bytes()))
    assert np.abs(logs(data["wins"]) - data["log_centred"]).max() < 1e-9


@pytest.mark.parametrize("systems", [2, 3, 10, 60])
def test_the_strengths_are_those_of_evalica_and_choix(systems: int) -> None:
    evalica = pytest.importorskip("evalica", reason="evalica, the oracle, is not installed.")
    choix = pytest.importorskip("choix", reason="choix, the oracle, is not installed.")
    wins = wins_of(systems, 30, systems) + 0.5
    np.fill_diagonal(wins, 0)
    found = logs(wins)
    assert np.abs(found - choix.ilsr_pairwise_dense(wins, max_iter=1000, tol=1e-12)).max() < 1e-6
    won, lost = np.nonzero(wins)
    theirs = evalica.bradley_terry(
        won.tolist(),
        lost.tolist(),
        [evalica.Winner.X] * len(won),
        weights=wins[won, lost].tolist(),
        tolerance=1e-12,
        limit=100_000,
    )
    scores = np.log(theirs.scores.sort_index().to_numpy())
    assert np.abs(found - (scores - scores.mean())).max() < 1e-6


def test_two_systems_have_the_logarithm_of_their_odds() -> None:
    for won, lost in ((3, 1), (10**6, 1), (0.25, 0.75)):
        assert logs([[7, won], [lost, 0]]) == pytest.approx([math.log(won / lost) / 2, -math.log(won / lost) / 2])


def test_a_long_chain_of_rare_upsets_is_fitted() -> None:
    wins = np.zeros((8, 8))
    for i in range(7):
        wins[i, i + 1], wins[i + 1, i] = 10**6, 1
    assert -np.diff(logs(wins)) == pytest.approx([math.log(10**6)] * 7)


def test_many_matrices_at_once_are_the_single_ones() -> None:
    many = np.stack([wins_of(6, 40, seed) + 0.5 for seed in range(20)]) * (1 - np.eye(6))
    assert np.abs(fit(many, start=np.linspace(-1, 1, 6)) - [logs(wins) for wins in many]).max() < 1e-12


@pytest.mark.parametrize(
    ("wins", "connected", "words"),
    [
        (ONE_ALWAYS_WINS, True, "a won all comparisons; b and c lost all comparisons with others."),
        ([[0, 3], [0, 0]], True, "a won all comparisons; b lost all comparisons."),
        (np.triu(np.ones((3, 3)), 1), True, "a won all comparisons; c lost all comparisons."),
        (TWO_GROUPS, False, "nothing links these 2 groups: a and b; c and d."),
        (np.zeros((3, 3)), False, "nothing links these 3 groups: a; b; c."),
    ],
)
def test_what_has_no_finite_strengths_is_named_and_a_prior_offered(
    wins: list[list[float]],
    connected: bool,  # noqa: FBT001 - a case of the table above
    words: str,
) -> None:
    found = bradley_terry(wins, names="abcd"[: len(wins)])
    assert (found.log, found.finite, found.connected) == (None, False, connected)
    assert found.note.endswith(f"{words} Compare more, or give a weak prior (prior=0.1).")
    helped = bradley_terry(wins, prior=0.1)
    assert helped.finite
    assert helped.connected == connected
    assert helped.log is not None
    assert np.isfinite(helped.log).all()
    assert helped.note.endswith("Only the prior of 0.1 gives the estimate.")


@pytest.mark.parametrize(("systems", "words"), [(1, "there is system 0 alone."), (0, "there is none.")])
def test_one_system_has_no_strength_and_no_prior_helps(systems: int, words: str) -> None:
    for prior in (0.0, 0.1):
        found = bradley_terry(np.zeros((systems, systems)), prior=prior)
        assert not found.finite
        assert found.note.endswith(words)


def test_long_groups_are_cut_in_notes() -> None:
    wins = np.zeros((20, 20))
    wins[0, 1:9] = 1
    note = bradley_terry(wins).note
    assert "system 4 and 4 more; system 9; system 10; system 11; system 12; ..." in note


def test_a_prior_is_so_many_ties_of_every_pair() -> None:
    wins = wins_of(4, 9, 3)
    assert logs(wins, prior=2.0) == pytest.approx(logs(wins + 1))
    assert not bradley_terry(wins + 1, prior=0.5).note


def test_what_a_judges_probabilities_round_to_is_no_win() -> None:
    assert not bradley_terry([[0.0, 5.0], [1e-12, 0.0]]).finite
    assert strongly_connected(np.array([[[0, 5.0], [1.0, 0]], [[0, 5.0], [0, 0]]])).tolist() == [True, False]


@pytest.mark.parametrize("wins", [[[0.0, number], [1.0, 0.0]] for number in (-1, math.nan, math.inf)])
def test_impossible_wins_are_refused(wins: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="finite numbers of 0 or more"):
        bradley_terry(wins)


def test_a_fit_that_comes_to_no_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.stats.bradley_terry._STEPS", 1)
    found = bradley_terry(wins_of(4, 9, 3))
    assert (found.log, found.finite, found.connected) == (None, False, True)
    assert found.note.startswith("The fit did not come to an end.")


def test_impossible_shapes_and_priors_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a square matrix of systems, not of shape \(1, 2\)"):
        bradley_terry([[1, 2]])
    with pytest.raises(ValueError, match="A prior is 0 or a number of imagined ties from 1e-06 on, not -1"):
        bradley_terry([[0, 1], [1, 0]], prior=-1)


def verdicts(systems: int, prompts: int, seed: int = 1, *, spread: float = 1.0) -> list[Comparison]:
    rng = np.random.default_rng(seed)
    made = []
    for prompt in range(prompts):
        for i in range(systems):
            for j in range(i):
                for first in (True, False):
                    better = float(rng.random() < 1 / (1 + np.exp(spread * (i - j))))
                    score = 0.5 if rng.random() < 0.1 else better
                    made.append(Comparison(f"p{prompt}", f"s{i}", f"s{j}", score, first, float(rng.integers(-9, 9))))
    return made


def number(scored: Scored) -> Estimate:
    assert isinstance(scored, Estimate)
    return scored


def test_systems_are_ranked_with_intervals_by_prompt() -> None:
    names = ["s2", "s0", "s1"]
    ranking = rank_systems(names, verdicts(3, 40))
    assert ranking.order == (1, 2, 0)
    assert (ranking.verdicts, ranking.prompts, ranking.notes) == (240, 40, ())
    assert ranking.wins.sum() == 240
    strengths = [number(scored) for scored in ranking.strengths]
    assert [s.value for s in strengths] == pytest.approx(logs(ranking.wins).tolist())
    for strength in strengths:
        assert strength.n == 40
        assert strength.low is not None
        assert strength.low < strength.value < (strength.high or 0)
    assert "Bradley-Terry, ties half a win each; t interval over 40 prompts, sandwich variance" in strengths[0].method


def test_an_interval_is_near_that_of_leaving_out_each_prompt() -> None:
    made = verdicts(3, 40)
    strengths = rank_systems(["s0", "s1", "s2"], made).strengths
    prompts = sorted({c.prompt for c in made})
    without = np.array(
        [
            [number(s).value for s in rank_systems(["s0", "s1", "s2"], [c for c in made if c.prompt != p]).strengths]
            for p in prompts
        ]
    )
    errors = np.sqrt(39 / 40 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    for strength, error in zip(map(number, strengths), errors, strict=True):
        assert strength.high is not None
        assert strength.high - strength.value == pytest.approx(2.0227 * error, rel=0.05)


def test_two_prompts_leave_no_interval_and_say_why() -> None:
    made = [Comparison("p", "a", "b", 1), Comparison("q", "a", "b", 0)]
    strength = number(rank_systems(["a", "b"], made).strengths[0])
    assert (strength.value, strength.low) == (0.0, None)
    assert "no interval from 2 prompts, since it takes 3" in strength.method


def test_prompts_that_say_the_same_leave_no_interval() -> None:
    made = [Comparison(p, "a", "b", score) for p in "pqrs" for score in (1, 1, 0)]
    strength = number(rank_systems(["a", "b"], made).strengths[0])
    assert strength.value == pytest.approx(math.log(2) / 2)
    assert (strength.low, strength.high) == (None, None)
    assert "all prompts say the same" in strength.method


def test_differences_of_strengths_are_corrected_for_their_number() -> None:
    ranking = rank_systems(["s0", "s1", "s2"], verdicts(3, 40))
    assert [(one.one, one.other) for one in ranking.differences] == [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]
    strength = {name: number(s).value for name, s in zip(ranking.names, ranking.strengths, strict=True)}
    for one in ranking.differences:
        apart = number(one.scored)
        assert apart.value == pytest.approx(strength[one.one] - strength[one.other])
        assert apart.low is not None
        assert apart.p is not None
        assert "for all 3 differences at once (Bonferroni)" in apart.method
    assert ranking.differences[1].shown


def test_who_always_wins_leaves_all_unscored_with_the_reason() -> None:
    ranking = rank_systems(["a", "b"], [Comparison("p", "a", "b", 1), Comparison("q", "b", "a", 0)])
    assert ranking.order == ()
    for strength in ranking.strengths:
        assert isinstance(strength, Unscored)
        assert "a won all comparisons" in strength.reason
    assert ranking.notes == (ranking.strengths[0].as_data()["unscored"],)
    assert rank_systems(["a", "b"], [Comparison("p", "a", "b", 1)], prior=0.1).order == (0, 1)


def test_one_system_and_no_verdicts_are_said() -> None:
    for names in ([], ["a"], ["a", "b"]):
        ranking = rank_systems(names, [])
        assert [type(s) for s in ranking.strengths] == [Unscored] * len(names)
        assert len(ranking.notes) == 1
        assert isinstance(ranking.ties, Unscored)


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="alpha"):
        rank_systems(["alpha", "beta"], [Comparison("p", "alpa", "beta", 1)])
    with pytest.raises(ValueError, match="Two systems have one name"):
        rank_systems(["a", "a"], [])
    with pytest.raises(ValueError, match="Two systems are compared; both are 'a'"):
        Comparison("p", "a", "a", 1)
    with pytest.raises(ValueError, match="A score is from 0 to 1, not 2"):
        Comparison("p", "a", "b", 2)


def test_position_bias_and_ties() -> None:
    # A judge that always takes what it sees first, but once says the same.
    made = [
        Comparison("p", "a", "b", 1, shown_first=True),
        Comparison("p", "a", "b", 0, shown_first=False),
        Comparison("q", "b", "a", 1, shown_first=True),
        Comparison("q", "a", "b", 0.5, shown_first=True),
        Comparison("q", "a", "b", 0.5, shown_first=None),
    ]
    assert number(first_position_rate(made)).value == pytest.approx(3.5 / 4)
    assert number(tie_share(made)).value == pytest.approx(2 / 5)
    assert number(order_consistency(made)).value == 0
    assert first_position_rate(made[-1:]) == Unscored("no verdict says which story was shown first", 1)


def test_order_consistency_is_the_share_of_pairs_that_agree() -> None:
    made = [
        Comparison("p", "a", "b", 1, shown_first=True),
        Comparison("p", "b", "a", 0, shown_first=True),
        Comparison("q", "a", "b", 0.5, shown_first=True),
        Comparison("q", "a", "b", 0.5, shown_first=False),
        Comparison("r", "a", "b", 0.9, shown_first=True),
        Comparison("r", "a", "b", 0.5, shown_first=False),
        Comparison("s", "a", "b", 1, shown_first=True),
        Comparison("t", "a", "b", 1, shown_first=True, rater="x"),
        Comparison("t", "b", "a", 1, shown_first=True, rater="y"),
    ]
    found = number(order_consistency(made))
    assert (found.value, found.n) == pytest.approx((2 / 3, 3))
    more = [*made, Comparison("r", "b", "a", 0.2, shown_first=True)]
    assert number(order_consistency(more)).value == pytest.approx(2.5 / 3)
    assert order_consistency(made[-3:]) == Unscored("no pair of stories was shown in both orders", 3)


def test_length_against_wins() -> None:
    made = [
        Comparison("p", "a", "b", 1, longer=300),
        Comparison("q", "a", "b", 0, longer=-200),
        Comparison("r", "a", "b", 0.5, longer=10),
        Comparison("s", "a", "b", 1, longer=0),
        Comparison("t", "a", "b", 1),
    ]
    found = number(longer_wins(made))
    assert (found.value, found.n) == pytest.approx((2.5 / 3, 3))
    assert longer_wins(made[3:]) == Unscored("no verdict is on stories that are known to differ in length", 2)
    rho = number(length_against_wins(made))
    turned = [Comparison(c.prompt, "b", "a", 1 - c.score, longer=-c.longer) for c in made if c.longer is not None]
    assert (rho.value, rho.n) == pytest.approx((number(length_against_wins(turned)).value, 4))
    assert 0.5 < rho.value < 1
    assert length_against_wins(made[4:]) == Unscored("no lengths are known", 1)
    assert isinstance(length_against_wins([Comparison("p", "a", "b", 1, longer=0)]), Unscored)
