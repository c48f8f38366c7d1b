"""A sample of `python -m benchmarks mutated`: replies damaged at random, in every system and evaluator."""

from __future__ import annotations

from benchmarks.mutated import Tally, cases, play_round


def test_broken_replies_end_in_our_errors_and_leave_projects_that_go_on() -> None:
    tally = Tally()
    for number, case in enumerate(cases()[::7], 1):
        play_round(case, number, tally, large=number % 4 == 0)
    assert tally.replies > 10
    assert not tally.untyped
    assert not tally.control
    assert not tally.shut
    assert max(tally.large.values()) < 3  # seconds; 1 on a machine that is idle


def test_personas_too_long_to_be_read_again_are_made_anew() -> None:
    tally = Tally()
    play_round(next(case for case in cases() if "paragraph_words" in str(case.config)), 5373, tally)
    assert not tally.shut
