from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fabula.craft.matching import ErrorFinding, assign, likeness, match_findings, parse_finding
from fabula.stats.classification import Confusion

LIMP = ErrorFinding(1, 6, "Marcus limps on his right leg", "Marcus says the injury is in his left leg")


@pytest.mark.parametrize(
    "text",
    [
        "In scene 1, the mug is blue was established, yet in scene 7, the mug is red happens",
        "In scene 1, the mug is blue was established, yet in scene 7, the mug is red happens.",
        "In scene 1, the mug is blue, yet in scene 7, the mug is red happens",
        "In scene 1, the mug is blue was established, yet in scene 7, the mug is red",
        "in Scene 1 the mug is blue, yet in scene 7 the mug is red.",
    ],
)
def test_a_finding_is_read_leniently(text: str) -> None:
    assert parse_finding(text) == ErrorFinding(1, 7, "the mug is blue", "the mug is red")


def test_commas_within_and_the_order_of_scenes_are_kept() -> None:
    text = "In scene 8, Diana, tired, calls Act Four, yet in scene 3, Oscar says three acts, no more happens"
    assert parse_finding(text) == ErrorFinding(8, 3, "Diana, tired, calls Act Four", "Oscar says three acts, no more")
    assert parse_finding(str(LIMP)) == LIMP


@pytest.mark.parametrize("text", ["", "The mug is blue.", "In scene one, a, yet in scene two, b", "In scene 1, yet"])
def test_other_texts_are_no_findings(text: str) -> None:
    assert parse_finding(text) is None


def test_likeness_is_half_of_the_facts_and_half_of_the_events() -> None:
    same_fact = ErrorFinding(1, 6, "the right leg of Marcus, limping", "a storm broke")
    assert likeness(LIMP, LIMP) == 1.0
    assert likeness(LIMP, same_fact) == 0.5
    assert likeness(LIMP, ErrorFinding(1, 6, "", "the")) == 0.0


def test_matching_wants_the_same_later_scene_and_a_near_earlier_one() -> None:
    moved = [
        ErrorFinding(2, 6, LIMP.fact, LIMP.event),
        ErrorFinding(3, 6, LIMP.fact, LIMP.event),
        ErrorFinding(1, 7, LIMP.fact, "x"),
    ]
    matching = match_findings(moved, [LIMP])
    assert [(i, j) for i, j, _ in matching.pairs] == [(0, 0)]
    assert matching.unmatched == (1, 2)
    assert matching.missed == ()
    assert match_findings(moved[1:], [LIMP]).counts == Confusion(0, 2, 1)
    assert match_findings([], []).counts == Confusion(0, 0, 0)


def test_the_whole_assignment_counts_not_the_first_best_pair() -> None:
    # Row 0 likes column 0 most, but row 1 can only have column 0.
    assert assign(np.array([[0.9, 0.8], [0.7, 0.0]])) == [(0, 1), (1, 0)]


def test_no_other_assignment_is_better() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        values = np.round(rng.random((rng.integers(1, 6), rng.integers(1, 6))), rng.integers(0, 4)) - rng.integers(0, 2)
        pairs = assign(values)
        wide = values if values.shape[0] <= values.shape[1] else values.T
        every = permutations(range(wide.shape[1]), wide.shape[0])
        best = max(sum(wide[row, column] for row, column in enumerate(columns)) for columns in every)
        assert sum(values[pair] for pair in pairs) == pytest.approx(best, abs=1e-9)
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs) == min(values.shape)
    assert assign(np.zeros((0, 3))) == []


def test_shares_of_nothing_are_none_and_counts_add_up() -> None:
    assert (Confusion(0, 0, 0).precision, Confusion(0, 0, 0).recall, Confusion(0, 0, 0).f1) == (None, None, None)
    whole = Confusion(11, 0, 5) + Confusion(11, 2, 2)
    assert whole == Confusion(22, 2, 7)
    assert whole.f1 == pytest.approx(44 / 53)
