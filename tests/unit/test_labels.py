"""Labels of comparisons and yes/no answers in replies, as models really write them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.engine.replies import LABELS, ReplyProblem, label_of, read_label, read_yes_no

CHOICES = "[[A>>B]], [[A>B]], [[A=B]], [[B>A]], [[B>>A]]"
NUMBERED = (
    "1. Story A is significantly better: [[A>>B]]\n2. Story A is slightly better: [[A>B]]\n3. A tie: [[A=B]]\n"
    "4. Story B is slightly better: [[B>A]]\n5. Story B is significantly better: [[B>>A]]"
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A: vivid. B: flat. Therefore: [[A>>B]]", 2),
        ("Therefore: **[[A>B]]**.", 1),
        ("[[ A = B ]]", 0),
        ("[[B>A]]\n", -1),
        ("So:\n\n[[B\u00bbA]]", -2),
        ("[[A\u226bB]]", 2),
        ("[[A&gt;&gt;B]]", 2),
        ("[[a>b]]", 1),
        ("[[Story A > Story B]]", 1),
        ("[[A<B]]", -1),
        ("[[A<<B]]", -2),
        ("[[B<A]]", 1),
        ("[[A==B]]", 0),
        ("[[B=A]]", 0),
        ("[A>B]", 1),
        ("Verdict: A>B", 1),
        ("A has more depth.\n\nB > A", -1),
        # The last verdict counts.
        ("At first sight [[B>A]]. But the ending of A is earned, and its images are its own, so in all: [[A>B]]", 1),
        ("Not [[A>>B]], but [[A>B]]", 1),
        # The choices, told again, are no verdict; what goes before or behind them is.
        (f"{NUMBERED}\n\nTherefore: [[B>A]]", -1),
        (f"{CHOICES}\n[[A=B]]", 0),
        (f"Hence: [[A>B]]\n\nRemember, I must end with one of {CHOICES}", 1),
        (f"{CHOICES} are the labels. {'Both stories are well made, and it is hard to part them. ' * 2}[[A>B]]", 1),
        # Without a label, the last sentences' words.
        ("Both are sound. Overall, Story B is slightly better.", -1),
        ("Story A is significantly better than Story B.", 2),
        ("All in all, it is a tie.", 0),
    ],
)
def test_a_label_is_read(text: str, value: int) -> None:
    assert read_label(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "It ends with no label"),
        ("Both stories have their merits.", "It ends with no label"),
        ("[[A]]", "It ends with no label"),
        (NUMBERED, "It lists the labels without choosing one"),
        (f"I choose one of {CHOICES}", "It lists the labels"),
        ("[[A>>B]], [[A>B]], [[A=B]]", "It lists the labels"),
        ("A>B or B>A", "It ends with several labels"),
        ("Story A is not significantly better.", "It ends with no label"),
        ("If x<y and y>z, then A is B.", "It ends with no label"),
        ("A>B\nThat was my first thought.", "It ends with no label"),
    ],
)
def test_no_label_or_several_is_a_problem_that_says_what_is_wanted(text: str, reason: str) -> None:
    with pytest.raises(ReplyProblem, match=reason) as caught:
        read_label(text)
    assert str(caught.value).endswith(f"End with exactly one of {CHOICES}.")


@given(st.sampled_from(sorted(LABELS.items())), st.text(st.characters(exclude_characters="[]"), max_size=60))
def test_a_label_at_the_end_is_read_whatever_stands_before(label: tuple[str, int], before: str) -> None:
    spelt, value = label
    assert read_label(f"{before}[[{spelt}]]") == value
    assert label_of(value) == spelt


@given(st.text(max_size=200))
def test_any_text_has_a_label_or_a_problem(text: str) -> None:
    with suppress(ReplyProblem):
        assert read_label(text) in LABELS.values()
    with suppress(ReplyProblem):
        read_yes_no(text, "end")


def test_swapping_the_names_swaps_the_sign() -> None:
    swap = str.maketrans("AB", "BA")
    for label, value in LABELS.items():
        assert read_label(f"[[{label.translate(swap)}]]") == -value


@pytest.mark.parametrize(
    ("text", "place", "yes"),
    [
        ("Yes, the end is earned.", "start", True),
        ("no", "start", False),
        ("**No.** It stops.", "start", False),
        ("Answer: Yes, since ...", "start", True),
        ("No. Some would say yes.", "start", False),
        ("Weighing it ...\nAnswer: No", "end", False),
        ("Yes at first. Then the end fails it.\n\n**Answer:** No.", "end", False),
        ("... so the answer is yes.", "end", True),
        ("There is no easy answer. It holds.\nYes", "end", True),
        ("Yes, it holds together.", "end", True),
        ("Answer: no\nOn second thoughts.\nFinal answer: Yes", "end", True),
    ],
)
def test_yes_and_no_are_read_where_they_were_asked_for(text: str, place: str, *, yes: bool) -> None:
    assert read_yes_no(text, "start" if place == "start" else "end") is yes


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "start"),
        ("Yesterday it rained.", "start"),
        ("The story ends well. Yes.", "start"),
        ("Yes or no? Hard to say.", "start"),
        ("Nothing is settled.", "end"),
        ("It has its moments.\nAnswer: Yes or No", "end"),
        ("I do not know the answer, no doubt it is hard", "end"),
    ],
)
def test_neither_is_a_problem(text: str, place: str) -> None:
    with pytest.raises(ReplyProblem, match="neither yes nor no"):
        read_yes_no(text, "start" if place == "start" else "end")
