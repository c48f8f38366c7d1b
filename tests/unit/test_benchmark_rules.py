"""The protocol by which a rule earns its place: errors put into a text, and families chosen on other stories."""

from __future__ import annotations

import sys
from pathlib import Path

from ground_truth import data_folder

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import rules

from fabula.continuity import DETECTORS


def test_all_errors_are_put_in_and_found_again_at_their_places() -> None:
    errors = [
        {"find": "grey", "replace": "bright green"},
        {"find": "Ann", "replace": "Bo"},
        {"find": ", now", "replace": ""},
    ]
    text, places = rules.broken("Ann has grey eyes, now.", errors)
    assert text == "Bo has bright green eyes."
    assert [text[a:b] for a, b in places] == ["bright green", "Bo", "."]


def test_a_family_is_kept_where_it_was_right_elsewhere_and_more_than_once() -> None:
    none = {name: rules.Tally() for name in DETECTORS}
    good = none | {"name": rules.Tally(3, 2), "age": rules.Tally(9, 2), "side": rules.Tally(1, 1)}
    assert rules.chosen([good, none]) == ("name",)
    assert rules.chosen([none]) == ()


def test_on_the_planted_stories_no_strict_family_is_kept() -> None:
    data_folder("planted")
    cases = list(rules.planted(data_folder()))
    assert rules.chosen([rules.tally(case, strict=True) for case in cases]) == ()
    assert sum(case.errors for case in cases) == 101
