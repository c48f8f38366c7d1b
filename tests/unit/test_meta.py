"""A judge beside people: coefficients by system agree with the plain ones, and properties that must hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.stats.correlation import COEFFICIENTS, by_row, levelled
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.meta import ComparedPairs, Stories, meta
from fabula.stats.verdicts import Verdict, by_rater, preferences_of, scores_of

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

VALUES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7)


def score(system: str, prompt: str, value: float, rater: str = "a") -> Verdict:
    return Verdict(rater, (f"{system}/{prompt}",), value, (system,), prompt)


def both(pairs: list[tuple[int, int]], prompts: int = 2) -> tuple[list[Verdict], list[Verdict]]:
    """People's and the judge's scores of as many systems as there are pairs, the same on every prompt."""
    human = [score(f"s{n}", f"p{p}", h) for p in range(prompts) for n, (h, _) in enumerate(pairs)]
    judge = [score(f"s{n}", f"p{p}", m, "m") for p in range(prompts) for n, (_, m) in enumerate(pairs)]
    return human, judge


@settings(deadline=None)
@given(VALUES, st.sampled_from(list(COEFFICIENTS)))
def test_coefficients_of_many_rows_are_those_of_single_ones(values: list[tuple[int, int]], what: str) -> None:
    x, y = (np.array([pair[side] for pair in values], dtype=np.float64) for side in (0, 1))
    plain = COEFFICIENTS[what](x, y)  # type: ignore[index] # one of its names
    for number in by_row(what, np.stack([x, x]), np.stack([y, y])):  # type: ignore[arg-type] # one of its names
        assert (not math.isfinite(number)) if plain is None else number == pytest.approx(plain)


@settings(max_examples=30, deadline=None)
@given(VALUES)
def test_within_prompts_that_are_alike_the_mean_is_the_plain_coefficient(values: list[tuple[int, int]]) -> None:
    human, judge = both(values)
    x, y = [float(h) for h, _ in values], [float(m) for _, m in values]
    found = {(f.of, f.what): f.scored for f in meta(judge, human, {}).findings}
    scored = found["judge", "stories: spearman"]
    if len(set(x)) == 1:
        assert isinstance(scored, Unscored)
        return
    assert isinstance(scored, Estimate)
    assert scored.value == pytest.approx(COEFFICIENTS["spearman"](x, y) or 0)
    assert scored.low is None or scored.low <= scored.value
    constant = found["constant", "stories: accuracy"]
    assert isinstance(constant, Estimate)
    assert constant.value == 0.5


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_the_order_in_which_a_pair_is_shown_makes_no_difference(rows: list[tuple[str, bool, float]]) -> None:
    straight = [Verdict(who, ("x", "y"), value) for who, _, value in rows]
    turned = [Verdict(v.rater, ("y", "x"), 1 - v.value) if flip else v
              for v, (_, flip, _) in zip(straight, rows, strict=True)]  # fmt: skip
    assert preferences_of(turned) == pytest.approx(preferences_of(straight))
    assert scores_of(turned) == pytest.approx(scores_of(straight))
    np.testing.assert_allclose(by_rater(turned)[2], by_rater(straight)[2])


def test_raters_are_columns_and_what_is_missing_is_no_number() -> None:
    verdicts = [score("x", "p", 1), score("x", "p", 2), score("y", "p", 4), score("x", "p", 3, "b")]
    prompts, raters, table = by_rater(verdicts)
    assert (prompts, raters) == (["prompt p", "prompt p"], ["a", "b"])
    np.testing.assert_array_equal(table, [[1.5, 3.0], [4.0, np.nan]])


def test_stories_without_prompts_are_compared_with_each_other() -> None:
    human = [Verdict("a", (f"i{n}",), n) for n in range(6)]
    judge = [Verdict("m", (f"i{n}",), n % 4) for n in range(6)]
    found = meta(judge, human, {f"i{n}": "word " * n for n in range(6)})
    by = {(f.of, f.what): f.scored for f in found.findings}
    plain = COEFFICIENTS["kendall"]([float(n) for n in range(6)], [float(n % 4) for n in range(6)])
    kendall = by["judge", "stories: kendall"]
    assert isinstance(kendall, Estimate)
    assert kendall.value == plain
    assert by["judge", "systems: spearman"] == Unscored("the ratings do not name the system of every story", 6)
    assert found.notes[0].startswith("No two prompts with several stories")
    assert found.sentence.startswith("The judge does not beat the trivial baseline 'length': accuracy")


def test_a_judge_that_is_only_a_little_better_is_not_shown_to_be() -> None:
    human, _ = both([(0, 0), (1, 0), (2, 0)], 4)
    judge = [score(v.systems[0], v.prompt, v.value if v.prompt != "p0" else -v.value, "m") for v in human]
    texts = {v.items[0]: "word " * int(v.value + 1 if v.prompt != "p1" else 5 - v.value) for v in human}
    found = meta(judge, human, texts)
    assert found.beats is False
    assert "does not beat the trivial baseline 'length': accuracy 0.750 against 0.750" in found.sentence
    better = [score(v.systems[0], v.prompt, v.value, "m") for v in human]
    close = meta(better, human, texts)
    assert close.beats is False
    assert "is not shown to beat the trivial baseline 'length'" in close.sentence
    assert "reaches 0" in close.sentence


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3, st.booleans()), min_size=2, max_size=12),
    st.randoms(use_true_random=False),
)
def test_what_stories_are_called_makes_no_difference(rows: list[tuple[float, ...]], chance: random.Random) -> None:
    names = [f"{system}/{n}" for n in range(len(rows)) for system in ("long", "short")]
    new = dict(zip(names, chance.sample([f"story {n:03}" for n in range(len(names))], len(names)), strict=True))

    def sides(called: Mapping[str, str]) -> tuple[list[Verdict], list[Verdict]]:
        pairs = [(called[one], called[other]) for one, other in zip(names[::2], names[1::2], strict=True)]
        human = [
            Verdict(rater, pair, row[place], ("long", "short"), str(n // 2))
            for n, (pair, row) in enumerate(zip(pairs, rows, strict=True))
            for place, rater in enumerate("ab")
        ]
        judge = [
            Verdict("m", pair[::-1], row[2], ("short", "long"), str(n // 2))
            if row[3]
            else Verdict("m", pair, row[2], ("long", "short"), str(n // 2))
            for n, (pair, row) in enumerate(zip(pairs, rows, strict=True))
        ]
        return judge, human

    texts = {name: "word " * (3 + n % 4) for n, name in enumerate(names)}
    old = meta(*sides({name: name for name in names}), texts)
    again = meta(*sides(new), {new[name]: text for name, text in texts.items()})
    assert (again.sentence, again.beats, again.notes) == (old.sentence, old.beats, old.notes)
    for one, other in zip(old.findings, again.findings, strict=True):
        assert (one.of, one.what) == (other.of, other.what)
        assert shown(one.scored) == pytest.approx(shown(other.scored), abs=1e-9), one


def shown(scored: Estimate | Unscored) -> list[float]:
    return (
        [-9.0 if x is None else x for x in (scored.value, scored.low, scored.high)]
        if isinstance(scored, Estimate)
        else []
    )


def test_kappa_of_pairs_is_that_of_both_sides() -> None:
    """`long` is called first by the alphabet, `zlong` second: kappa stays the same."""
    kappas = []
    for name in ("long", "zlong"):
        human = [
            Verdict("a", (f"{name}/{n}", f"short/{n}"), float(n % 5 > 0), (name, "short"), f"p{n}") for n in range(20)
        ]
        judge = [Verdict("m", v.items, float(n % 4 > 0), v.systems, v.prompt) for n, v in enumerate(human)]
        mixed = [Verdict(v.rater, (f"b/{n}", f"c/{n}"), v.value, (), v.prompt) for n, v in enumerate(human)]
        found = {(f.of, f.what): f.scored for f in meta([*judge, *mixed], [*human, *mixed], {}).findings}
        kappas.append(found["judge", "pairs: kappa"])
        assert found["judge", "pairs: spearman"].n == 40
    assert kappas[0] == kappas[1]
    human = [Verdict("a", (f"x{n}", f"y{n}"), value, (), str(n)) for n, value in enumerate([1, 1, 1, 0.0])]
    judge = [Verdict("m", (f"x{n}", f"y{n}"), value, (), str(n)) for n, value in enumerate([1, 1, 0.0, 0.0])]
    by = {(f.of, f.what): f.scored for f in meta(judge, human, {}).findings}
    kappa = by["judge", "pairs: kappa"]
    assert isinstance(kappa, Estimate)
    assert kappa.value == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))  # by chance one half, since either may be first
    assert kappa.n == 4


def test_system_means_that_rounding_alone_sets_apart_are_ties() -> None:
    rows = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [3.0, 3.0, 3.0]]
    (a, b, c), *_ = rows
    assert a + b + c != c + b + a, "the same numbers in another order"
    human = [score(f"s{n}", f"p{p}", value) for n, row in enumerate(rows) for p, value in enumerate(row)]
    judge = [score(f"s{n}", f"p{p}", n, "m") for n in range(3) for p in range(3)]
    by = {(f.of, f.what): f.scored for f in meta(judge, human, {}).findings}
    spearman = by["judge", "systems: spearman"]
    assert isinstance(spearman, Estimate)
    assert spearman.value == pytest.approx(0.8660254)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.floats(0.001, 1e6))
def test_what_rounding_sets_apart_is_the_same_and_nothing_else(values: list[int], scale: float) -> None:
    exact = np.array(values) * scale
    noisy = exact + np.spacing(np.abs(exact).max()) * (np.arange(len(exact)) % 3 - 1)
    found = levelled(noisy)
    assert len(set(found.tolist())) == len(set(values))
    assert np.argsort(found, kind="stable").tolist() == np.argsort(values, kind="stable").tolist()
    rows = levelled(np.array([[1.0, math.nan, 1.0 + 1e-16], [math.nan] * 3]))
    assert rows[0][0] == rows[0][2]
    assert np.isnan(rows).sum() == 4


def test_only_where_it_is_so_a_statistic_counts_as_0() -> None:
    human, judge = both([(0, 1), (1, 2)], 3)
    flat = [*judge[:-1], score("s1", "p2", 1, "m")]
    by = {(f.of, f.what): f.scored for f in meta(flat, human, {}).findings}
    methods = {
        what: scored.method for (of, what), scored in by.items() if of == "judge" and isinstance(scored, Estimate)
    }
    assert "counts as 0 on 1 of 3 where the judge sees no difference" in methods["stories: spearman"]
    assert "counts as 0" not in methods["stories: accuracy"]
    assert "counts as 0" not in methods["stories: accuracy (legacy_fig3)"]


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(ValueError, match="No story was judged by both sides"):
        meta([score("x", "p", 1)], [score("y", "p", 1)], {})


def test_pairs_that_one_side_did_not_compare_are_left_to_the_stories() -> None:
    human = [Verdict("a", ("x/p", "y/p"), 1.0, ("x", "y"), "p"), Verdict("a", ("x/q", "y/q"), 0.0, ("x", "y"), "q")]
    judge = [Verdict("m", ("y/p", "x/p"), 0.0, ("y", "x"), "p"), Verdict("m", ("x/q", "z/q"), 1.0, ("x", "z"), "q")]
    pairs = ComparedPairs.of(judge, human)
    assert pairs.pairs == (("x/p", "y/p"),)
    assert pairs.credit(pairs.judge).tolist() == [1.0]
    assert pairs.shown_first.tolist() == [0.0]
    stories = Stories.of(judge, human)
    assert stories.items == ("x/p", "y/p", "x/q")  # as people's verdicts name them
    assert not stories.scored


def test_where_people_see_no_difference_nothing_can_be_said() -> None:
    human, judge = both([(3, 1), (3, 2)])
    found = meta(judge, human, {})
    assert found.beats is None
    assert found.sentence.startswith("Whether the judge beats the trivial baselines cannot be said")
    by = {(f.of, f.what): f.scored for f in found.findings}
    assert by["judge", "stories: accuracy"] == Unscored(
        "no two stories of a prompt between which people see a difference", 4
    )
    assert by["judge", "systems: pearson"] == Unscored("one of the two sides sees no difference between the systems", 2)
    assert found.notes == ("Prompts left out by story: 2 (one story, or people see no difference).",)


def test_one_system_a_missing_text_and_fine_scores_are_said_so() -> None:
    human = [score("s", f"p{n}", n / 10, rater) for n in range(20) for rater in "ab"]
    judge = [score("s", f"p{n}", n, "m") for n in range(20)]
    by = {(f.of, f.what): f.scored for f in meta(judge, human, {"s/p0": "word"}).findings}
    assert by["judge", "systems: spearman"] == Unscored("fewer than two systems", 1)
    assert by["length", "stories: spearman"] == Unscored("the text of 's/p1' is not there; give it with --stories", 20)
    assert by["judge", "stories: kappa"] == Unscored("kappa is for a few labels, not for 20 different scores", 20)
    assert isinstance(by["people", "Fleiss' kappa"], Unscored)
    alpha = by["people", "Krippendorff's alpha, interval"]
    assert isinstance(alpha, Estimate)
    assert alpha.value == pytest.approx(1)


def test_a_missing_text_is_said_for_pairs_too() -> None:
    human = [Verdict("a", ("x/p", "y/p"), 1.0, ("x", "y"), "p")]
    found = meta([Verdict("m", ("x/p", "y/p"), 1.0, ("x", "y"), "p")], human, {"x/p": "word"})
    by = {(f.of, f.what): f.scored for f in found.findings}
    assert by["length", "pairs: accuracy"] == Unscored("the text of 'y/p' is not there; give it with --stories", 1)
    assert found.beats is None or found.beats is False


def compared_without_prompts(stories: int) -> tuple[list[Verdict], list[Verdict]]:
    """Every two of the stories, by people and by a judge who misreads the first."""
    pairs = [(f"i{a}", f"i{b}") for a in range(stories) for b in range(a + 1, stories)]
    human = [Verdict("a", pair, 1.0) for pair in pairs]
    return [Verdict("m", pair, float("i0" not in pair)) for pair in pairs], human


def test_pairs_that_share_stories_are_not_taken_for_independent() -> None:
    found = {f.what: f.scored for f in meta(*compared_without_prompts(8), {}).findings if f.of == "judge"}
    for what, n in (("pairs: accuracy", 1), ("pairs: kappa", 28)):
        scored = found[what]
        assert isinstance(scored, Estimate)
        assert (scored.n, scored.low) == (n, None)


def test_pairs_of_stories_of_their_own_are_units() -> None:
    human = [Verdict("a", (f"x{n}", f"y{n}"), 1.0) for n in range(10)]
    judge = [Verdict("m", (f"x{n}", f"y{n}"), float(n > 1)) for n in range(10)]
    found = {f.what: f.scored for f in meta(judge, human, {}).findings if f.of == "judge"}
    accuracy = found["pairs: accuracy"]
    assert isinstance(accuracy, Estimate)
    assert accuracy.low == pytest.approx(0.49, abs=0.01)


def test_people_who_compare_the_stories_of_one_prompt_have_no_interval_by_pair() -> None:
    judge, human = compared_without_prompts(6)
    again = [Verdict("b", v.items, float(n % 3 > 0)) for n, v in enumerate(human)]
    found = {f.what: f.scored for f in meta(judge, human + again, {}).findings if f.of == "people"}
    scored = found["Fleiss' kappa"]
    assert isinstance(scored, Estimate)
    assert scored.low is None
