from __future__ import annotations

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.continuity.inject import ERROR_KINDS, inject

PARTS = (
    "Marta Okafor walked to the harbour with her three lanterns. The green door of the shed stood open.",
    "“We are late,” Marta said. Elias laughed at that, and Elias sat down by the green door.",
    "Captain Holt waited in Lisbon with a violin. Nobody in Lisbon knew him. Marta stood still.",
    "The lanterns had burned low. The door was shut again. Elias turned, and Marta turned with Elias.",
    "Captain Holt put the violin away. The three lanterns were all that was left. Marta said nothing of it.",
)
STORY = "\n\n".join(
    f"{part} It went on like that for a while, as such things do, day {n}." for n in range(12) for part in PARTS
)


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_every_kind_has_a_labelled_error_with_its_places(kind: str) -> None:
    made = inject(STORY, [kind], n=2, seed=3, negatives=False)
    assert len(made.errors) + made.missing.get(kind, 0) == 2
    assert made.errors
    assert not made.negatives
    for label in made.errors:
        assert label.kind == kind
        for span in (label.fact, label.place):
            assert made.text[span.start : span.end] == span.quote
        assert label.fact.start < label.place.start
        if kind not in {"life", "kin"}:
            assert label.values[1].lower() in label.place.quote.lower()


def test_a_seed_decides_everything() -> None:
    assert inject(STORY, n=2, seed=5) == inject(STORY, n=2, seed=5)
    assert inject(STORY, n=2, seed=5).text != inject(STORY, n=2, seed=6).text


def test_without_the_changes_the_text_is_the_old_one() -> None:
    made = inject(STORY, ["colour"], seed=1, negatives=False)
    (label,) = made.labels
    if label.method == "swap":
        assert made.text.replace(label.values[1], label.values[0]) == STORY
    else:
        assert len(made.text) > len(STORY)


@pytest.mark.parametrize("distance", [100, 400, 800])
def test_the_distance_is_met(distance: int) -> None:
    made = inject(STORY, ["colour", "number", "side", "date", "kin", "state"], distance=distance, negatives=False)
    assert made.errors
    assert all(abs(label.distance - distance) <= distance * 0.3 for label in made.errors), [
        (label.id, label.distance) for label in made.errors
    ]


def test_negatives_match_and_go_through_the_reasons() -> None:
    made = inject(STORY, ["side"], n=3, seed=2)
    assert sorted(label.reason for label in made.negatives) == ["announced", "reported", "second"]
    assert len(made.errors) == 3
    for label in made.negatives:
        assert not label.error
        assert made.text[label.place.start : label.place.end] == label.place.quote
        assert made.text[label.fact.start : label.fact.end] == label.fact.quote


def test_what_found_no_place_is_told() -> None:
    made = inject("It rained.", ["name", "life"], n=2)
    assert made.missing == {"name": 2, "life": 2}
    assert made.text == "It rained."


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'colour'"):
        inject(STORY, ["color"])
    with pytest.raises(UsageError, match="The story is empty"):
        inject(" \n")
    with pytest.raises(UsageError, match="at least 1"):
        inject(STORY, n=0)
    with pytest.raises(UsageError, match="at least 1"):
        inject(STORY, distance=0)
