"""The pairs of the benchmark of preferences: sentences alone tell the preferred one apart."""

from __future__ import annotations

from benchmarks.preference_pairs import PLACES, pairs_of


def test_neither_words_nor_position_nor_place_say_which_is_preferred() -> None:
    train, aside = pairs_of(range(20), 200, seed=1), pairs_of(range(20, PLACES), 60, seed=2)
    for pairs in (train, aside):
        assert {(len(pair.chosen.split()), len(pair.rejected.split())) for pair in pairs} == {(47, 47)}
        assert sum(pair.chosen_first is True for pair in pairs) == len(pairs) / 2
        assert len({pair.id for pair in pairs}) == len(pairs)
        assert all(pair.chosen.count(".") in {4, 5} and pair.rejected.count(".") in {1, 2} for pair in pairs)
    assert {pair.group for pair in train}.isdisjoint({pair.group for pair in aside})
    assert pairs_of(range(20), 200, seed=1) == train
