"""What pairs teach a model that reads nothing, and what is left out of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.models.base import Message
from fabula.training.examples import PreferencePair
from fabula.training.pairs import LESSONS, Lesson, changed_share, is_near, named, same_words, taught_by, without

ASKED = (Message("user", "Write."),)


def pair(number: int, chosen: int, rejected: int, kind: str = "retake", *, first: bool | None = None) -> PreferencePair:
    """A pair of texts of so many words, with none in common."""
    texts = " ".join(f"a{n}" for n in range(chosen)), " ".join(f"b{n}" for n in range(rejected))
    return PreferencePair(f"p{number}", "writer", f"g{number}", ASKED, *texts, kind, first)


def test_the_share_of_each_trivial_rule_and_what_pairs_teach_by_it() -> None:
    pairs = [pair(n, 20, 10) for n in range(20)] + [pair(n, 10, 20) for n in range(20, 22)]
    teaching = taught_by(pairs)
    shares = {name: getattr(share, "value", None) for name, share in teaching.rules.items()}
    assert shares == pytest.approx(
        {"longer": 20 / 22, "shorter": 2 / 22, "first": 0.5, "later": 0.5, "more dialogue": 0.5}
    )
    assert getattr(teaching.words, "value", None) == pytest.approx((20 * 10 - 2 * 10) / 22)
    assert teaching.only == ("length",)


def test_dialogue_is_a_rule_too() -> None:
    said = PreferencePair("p", "writer", "g", ASKED, '"I shall go," she said.', "She went away at once.", "edit")
    assert getattr(taught_by([said]).rules["more dialogue"], "value", None) == 1.0


def test_only_what_a_judge_saw_side_by_side_can_teach_a_place() -> None:
    edits = [pair(n, 10, 10, "edit", first=False) for n in range(20)]
    assert taught_by(edits).only == ()
    assert getattr(taught_by(edits).rules["later"], "value", None) == 1.0
    judged = [pair(n, 10, 10, "ratings", first=True) for n in range(20)]
    assert taught_by(judged).only == ("position",)
    left, gone = without([*judged, pair(20, 10, 10, "ratings", first=False)], ["position"])
    assert len(left) == 2
    assert set(gone.values()) == {"position"}
    assert without(edits, ["position"]) == (edits, {})


def test_length_is_balanced_and_what_differs_most_goes_first() -> None:
    pairs = [pair(1, 50, 10), pair(2, 12, 10), pair(3, 10, 14), pair(4, 30, 10)]
    left, gone = without(pairs, ["length"])
    assert [one.id for one in left] == ["p2", "p3"]
    assert gone == {"p1": "length", "p4": "length"}


def test_texts_that_hardly_differ() -> None:
    text = " ".join(f"w{n}" for n in range(300))
    near = PreferencePair("p", "writer", "g", ASKED, text.replace("w7 ", "x7 "), text, "edit")
    assert is_near(near)
    assert not is_near(pair(1, 10, 10))
    assert without([near], ["near"]) == ([], {"p": "near"})
    assert changed_share("a b c d", "a b c e") == 0.25
    assert same_words("“So,” he said \u2014 and went.", '"So," he said - and\nwent.')
    assert not same_words("He went.", "He went!")


@pytest.mark.parametrize(
    ("performer", "shown"),
    [
        ("program:/srv/mara/w.py:say@c80", "program:w.py:say@c80"),
        ("/opt/models/small.gguf#12ab", "small.gguf#12ab"),
        ("C:\\Users\\mara\\small.gguf", "small.gguf"),
        ("~/models/small.gguf", "small.gguf"),
        ("openrouter:meta-llama/llama-3-8b", "openrouter:meta-llama/llama-3-8b"),
        ("judge", "judge"),
    ],
)
def test_who_wrote_a_text_names_no_folder_of_the_machine(performer: str, shown: str) -> None:
    assert named(performer) == shown


_PAIRS = st.lists(
    st.tuples(
        st.integers(1, 9), st.integers(1, 9), st.sampled_from(["edit", "ratings"]), st.sampled_from([None, True, False])
    ),
    max_size=25,
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(_PAIRS, st.sets(st.sampled_from(LESSONS)), st.randoms(use_true_random=False))
def test_what_is_left_teaches_no_lesson_whatever_the_order(
    made: list[tuple[int, int, str, bool | None]], lessons: set[Lesson], chance: object
) -> None:
    pairs = [pair(n, a, b, kind, first=first) for n, (a, b, kind, first) in enumerate(made)]
    left, gone = without(pairs, lessons)
    assert [one for one in pairs if one.id not in gone] == left
    shuffled = list(pairs)
    chance.shuffle(shuffled)  # type: ignore[attr-defined] # a Random
    assert without(shuffled, lessons)[1].keys() == gone.keys()
    longer = [len(one.chosen.split()) - len(one.rejected.split()) for one in left]
    seen = [one.chosen_first for one in left if one.kind == "ratings"]
    if "length" in lessons:
        assert sum(n > 0 for n in longer) == sum(n < 0 for n in longer)
    if "position" in lessons:
        assert seen.count(True) == seen.count(False)
    if "near" in lessons:
        assert not any(map(is_near, left))
