"""What changed between two texts, and what two people made of one."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.story.comparing import compare, merge, taken, word_pieces
from fabula.story.sentences import sentences
from growth import LINEAR, growth

WORDS = st.sampled_from(["the", "lamp", "went", "she", "saw", "her", "old", "house", "and", "Mara", "Mr.", "5", "no"])
SENTENCES = st.builds(
    lambda words, stop: " ".join(words).capitalize() + stop,
    st.lists(WORDS, min_size=1, max_size=7),
    st.sampled_from([".", "!", "?", "…", '."']),
)
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=4)
PROSE = st.lists(PARAGRAPHS, max_size=5).map(lambda found: "\n\n".join(" ".join(one) for one in found))
ANY = st.text(st.sampled_from("a b.\n\r\t!?\"“”字。\u200f\ud800\0'-*#"), max_size=60)
TEXTS = st.one_of(PROSE, ANY)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text with some of its sentences changed, taken out or added."""
    found = [paragraph.split(" ") for paragraph in text.split("\n\n")]
    for _ in range(draw(st.integers(0, 3))):
        paragraph = draw(st.sampled_from(found))
        at = draw(st.integers(0, len(paragraph)))
        paragraph[at : at + draw(st.integers(0, 2))] = draw(st.lists(WORDS, max_size=2))
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, len(found))), draw(PARAGRAPHS))
    return "\n\n".join(" ".join(filter(None, one)) for one in found if any(one))


@st.composite
def revisions(draw: st.DrawFn, count: int) -> list[str]:
    """A text, and as many texts made of it as `count` says."""
    base = draw(PROSE)
    return [base, *(draw(edited(base)) for _ in range(count))]


BOTH = st.one_of(st.tuples(TEXTS, TEXTS), revisions(1).map(tuple))


@given(both=BOTH, lines=st.booleans())
def test_all_accepted_is_the_new_text_and_none_the_old_one(both: tuple[str, str], *, lines: bool) -> None:
    old, new = both
    found = compare(old, new, lines=lines)
    numbers = [one.number for one in found if one.number]
    assert taken(found, numbers) == new
    assert taken(found, []) == old
    assert numbers == list(range(1, len(numbers) + 1))
    assert all((one.old == one.new) == (one.number == 0) for one in found)
    assert all(old[one.start : one.end] == one.old for one in found)


@given(revisions(1), st.sets(st.integers(1, 12)))
def test_any_choice_is_a_well_formed_text_of_whole_sentences(both: list[str], accepted: set[int]) -> None:
    found = compare(*both)
    text = taken(found, accepted)
    assert text == text.strip()
    assert not re.search(r"  |\n\n\n|[ ]\n|\n[ ]|[^\n]\n[^\n]", text)
    parts = [part for one in found for part in sentences(one.new if one.number in accepted else one.old)]
    assert "".join(text.split()) == "".join("".join(parts).split())
    broken = [paragraph.count("\n\n") for paragraph in both]
    assert 0 <= text.count("\n\n") <= sum(broken)


@given(BOTH)
def test_pieces_of_words_are_both_texts(both: tuple[str, str]) -> None:
    found = word_pieces(*both)
    for side, other in enumerate(("new", "gone")):
        assert "".join(piece.text for piece in found if piece.kind != other) == both[side]
    assert all(piece.text for piece in found)


@given(both=BOTH, lines=st.booleans())
def test_who_changes_alone_has_no_conflict(both: tuple[str, str], *, lines: bool) -> None:
    base, changed = both
    for mine, theirs in ((changed, base), (base, changed), (changed, changed)):
        merged = merge(base, mine, theirs, lines=lines)
        assert (merged.text, merged.conflicts) == (changed, ())


@settings(max_examples=200)
@given(revisions(2))
def test_conflicts_stand_where_they_say_and_without_one_the_order_is_no_matter(texts: list[str]) -> None:
    base, mine, theirs = texts
    merged = merge(base, mine, theirs)
    for one in merged.conflicts:
        assert merged.text[one.start :].startswith(one.mine)
        assert one.mine != one.theirs
        assert one.base in base
    other = merge(base, theirs, mine)
    assert len(other.conflicts) == len(merged.conflicts)
    if not merged.conflicts:
        assert other.text == merged.text


@given(PARAGRAPHS, PARAGRAPHS, PARAGRAPHS, SENTENCES, SENTENCES)
def test_changes_in_different_paragraphs_are_both_kept(
    first: list[str], middle: list[str], last: list[str], mine: str, theirs: str
) -> None:
    def text(*found: list[str]) -> str:
        return "\n\n".join(" ".join(one) for one in found)

    middle = ["Between the two nothing was changed.", *middle]
    base = text(["Here it begins."], first, middle, last, ["Here it ends."])
    merged = merge(
        base,
        text(["Here it begins."], [*first, f"One {mine}"], middle, last, ["Here it ends."]),
        text(["Here it begins."], first, middle, [f"Two {theirs}", *last], ["Here it ends."]),
    )
    wanted = text(["Here it begins."], [*first, f"One {mine}"], middle, [f"Two {theirs}", *last], ["Here it ends."])
    assert (merged.text, merged.conflicts) == (wanted, ())


def test_five_sentences_that_changed_are_five_changes() -> None:
    old = "Mara woke. The lamp was out. She heard the sea. Nobody called. The door stood open."
    new = "Mara woke late. The lamp was lit. She heard the wind. Nobody called her. The door was shut."
    found = compare(old, new)
    assert [one.number for one in found] == [1, 2, 3, 4, 5]
    assert taken(found, {1, 3, 5}) == (
        "Mara woke late. The lamp was out. She heard the wind. Nobody called. The door was shut."
    )
    assert [(piece.kind, piece.text) for piece in word_pieces(found[1].old, found[1].new)] == [
        ("same", " The lamp was "),
        ("gone", "out"),
        ("new", "lit"),
        ("same", "."),
    ]


def test_a_paragraph_that_came_or_went_is_one_change() -> None:
    old = "One came. It stayed.\n\nTwo left. It rained.\n\nThree slept."
    new = "One came. It stayed.\n\nThree slept.\n\nFour sang. All heard it."
    found = [(one.old, one.new) for one in compare(old, new) if one.number]
    assert found == [("\n\nTwo left. It rained.", ""), ("", "\n\nFour sang. All heard it.")]


def test_sheets_are_compared_by_line() -> None:
    old, new = "title: A\nscenes:\n  - one\n  - two\n", "title: B\nscenes:\n  - one\n  - new\n  - two\n"
    found = [(one.old, one.new) for one in compare(old, new, lines=True) if one.number]
    assert found == [("title: A", "title: B"), ("", "\n  - new")]


def test_a_sentence_that_both_changed_is_a_conflict_and_mine_stands() -> None:
    base = "The lamp went out. Mara waited. It was cold."
    merged = merge(
        base, base.replace("went out", "burned low"), base.replace("went out", "fell").replace("cold", "warm")
    )
    assert merged.text == "The lamp burned low. Mara waited. It was warm."
    (conflict,) = merged.conflicts
    assert (conflict.base, conflict.mine, conflict.theirs) == (
        "The lamp went out.",
        "The lamp burned low.",
        "The lamp fell.",
    )


@pytest.mark.parametrize("text", ["字。他走了。", "她说。灯灭了。"])
def test_scripts_without_blanks_are_compared_by_character(text: str) -> None:
    pieces = word_pieces(text, text.replace("了", "过"))
    assert [piece.text for piece in pieces if piece.kind == "new"] == ["过"]


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_long_texts_are_compared_in_linear_time(share: float) -> None:
    words = [*(f"word{n}" for n in range(600)), *("the", "a", "and", "of") * 60]

    def texts(paragraphs: int) -> tuple[str, str]:
        rng = random.Random(paragraphs)  # noqa: S311 - no secrets

        def sentence() -> str:
            return " ".join(rng.choices(words, k=rng.randint(5, 20))).capitalize() + "."

        old = "\n\n".join(" ".join(sentence() for _ in range(4)) for _ in range(paragraphs))
        return old, " ".join(rng.choice(words) if rng.random() < share else word for word in old.split(" "))

    def compared(of: tuple[str, str]) -> None:
        for one in compare(*of):
            word_pieces(one.old, one.new)

    assert growth(compared, texts, 160) < LINEAR
