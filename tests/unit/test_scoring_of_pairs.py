"""Which of two replies a model prefers, beside rules that read nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabula.models.base import Message
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.training.examples import PreferencePair
from fabula.training.scoring import Likelihood, ScoredPair, accuracies, gains


def pair(number: int, chosen: str = "a b", rejected: str = "c d", *, first: bool | None = None) -> PreferencePair:
    prompt = (Message("user", "Go on."),)
    return PreferencePair(str(number), "character", f"g{number // 2}", prompt, chosen, rejected, "ratings", first)


def scored(
    one: PreferencePair, chosen: tuple[float, float], rejected: tuple[float, float], tokens: int = 2
) -> ScoredPair:
    return ScoredPair(one, Likelihood(*chosen, 2), Likelihood(*rejected, tokens))


def value(number: Scored) -> float:
    assert isinstance(number, Estimate)
    return number.value


def test_training_that_raises_the_preferred_reply_is_seen_though_the_other_stays_likelier() -> None:
    learned = [scored(pair(n), (-9.0, -7.0), (-5.0, -6.0)) for n in range(12)]
    found = accuracies(learned)
    assert value(found["implicit reward"]) == 1.0
    assert value(found["log-probability, base"]) == value(found["log-probability, tuned"]) == 0.0
    assert learned[0].margin == 3.0


def test_a_long_reply_is_less_likely_in_sum_and_may_be_likelier_by_token() -> None:
    found = accuracies([scored(pair(n), (-4.0, -4.0), (-6.0, -6.0), tokens=6) for n in range(8)])
    assert value(found["log-probability, tuned"]) == 1.0
    assert value(found["log-probability a token, tuned"]) == 0.0
    assert value(found["implicit reward"]) == 0.5, "what training has not moved is a tie"


def test_rules_know_words_and_position_alone() -> None:
    first = [scored(pair(n, "a b c", "d", first=n % 4 == 0), (-1, -1), (-2, -2)) for n in range(12)]
    found = accuracies([*first, scored(pair(99), (-1, -1), (-2, -2))])
    assert value(found["rule: longer"]) == pytest.approx(12.5 / 13)
    assert value(found["rule: shorter"]) == pytest.approx(0.5 / 13)
    position = found["rule: first"]
    assert isinstance(position, Estimate)
    assert (position.value, position.n) == (0.25, 6), "a pair that was shown in both orders has no position"
    assert value(found["rule: later"]) == 0.75


def test_an_authors_edit_is_always_the_later_text_so_no_rule_of_position_is_right_about_it() -> None:
    edits = [scored(replace(pair(n, first=False), kind="edit"), (-1, -1), (-2, -2)) for n in range(12)]
    found = accuracies([*edits, *(scored(pair(n, first=n % 2 == 0), (-1, -1), (-2, -2)) for n in range(20, 32))])
    later = found["rule: later"]
    assert isinstance(later, Estimate)
    assert (later.value, later.n) == (0.5, 6)


def test_no_pair_with_a_position_leaves_these_rules_unscored() -> None:
    found = accuracies([scored(pair(n), (-1, -1), (-2, -2)) for n in range(8)])
    assert isinstance(found["rule: first"], Unscored)


def test_gains_are_differences_by_pair_over_groups() -> None:
    better = [scored(pair(n), (-5.0, -1.0), (-3.0, -3.0)) for n in range(20)]
    same = [scored(pair(n), (-1.0, -1.0), (-3.0, -3.0)) for n in range(20, 24)]
    gain = gains([*better, *same])["log-probability: tuned less base"]
    assert isinstance(gain, Estimate)
    assert gain.value == pytest.approx(20 / 24)
    assert gain.low is not None
    assert gain.low > 0
    assert "by 12 groups" in gain.method
    above = gains(better)["implicit reward less longer"]
    assert isinstance(above, Estimate)
    assert (above.value, above.n) == (0.5, 10)


def test_records_hold_numbers_and_no_text() -> None:
    record = scored(pair(3, "secret words", "other"), (-5.0, -1.0), (-3.0, -3.0)).record()
    assert record["margin"] == 4.0
    assert (record["id"], record["group"], record["chosen_base"], record["rejected_tokens"]) == ("3", "g1", -5.0, 2)
    assert "secret" not in str(record)
