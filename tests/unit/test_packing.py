"""What fits into a prompt: whole pieces, within their tokens, with a mark where something is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.craft.packing import ELLIPSIS, around, end_of, first_of, last_of, latest
from fabula.models.budget import estimate_tokens

SENTENCES = [f"The keeper counted boat number {n} of the evening." for n in range(30)]
PARAGRAPHS = [" ".join(SENTENCES[at : at + 3]) for at in range(0, 30, 3)]
STORY = "\n\n".join(PARAGRAPHS)
MARK = estimate_tokens(ELLIPSIS) + 2
texts = st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join), max_size=8).map(
    "\n\n".join
)


CHAPTERS = st.lists(
    st.lists(st.sampled_from([*SENTENCES, "Été à Orléans, çà et là.", " ", "", "* * *"]), max_size=6).map("\n\n".join),
    max_size=9,
)


@given(CHAPTERS, st.integers(0, 120))
def test_the_end_of_many_texts_is_the_end_of_the_text_that_they_make(parts: list[str], tokens: int) -> None:
    assert end_of(parts, tokens) == last_of("\n\n".join(parts), tokens)


@pytest.mark.parametrize("fit", [first_of, last_of])
def test_what_fits_is_not_changed(fit: object) -> None:
    assert callable(fit)
    for text in ("", "  odd \n\n\n spacing ", STORY):
        assert fit(text, estimate_tokens(text)) == text


def test_the_end_of_a_story_is_whole_paragraphs_and_marked() -> None:
    tokens = estimate_tokens("\n\n".join(PARAGRAPHS[-2:])) + 4
    assert last_of(STORY, tokens) == "\n\n".join([ELLIPSIS, *PARAGRAPHS[-2:]])


def test_the_end_of_a_long_paragraph_is_whole_sentences() -> None:
    tokens = estimate_tokens(SENTENCES[-1]) + 2
    assert last_of(STORY, tokens) == f"{ELLIPSIS}\n\n{SENTENCES[-1]}"
    assert last_of("One word after another without any stop " * 40, 5) == ""


def test_the_beginning_is_whole_sentences_and_marked() -> None:
    tokens = 2 * (estimate_tokens(SENTENCES[0]) + 1)
    assert first_of(STORY, tokens) == f"{SENTENCES[0]} {SENTENCES[1]} {ELLIPSIS}"
    assert first_of(STORY, 1) == ELLIPSIS


@given(texts, st.integers(0, 200))
def test_nothing_is_longer_than_its_tokens(text: str, tokens: int) -> None:
    assert estimate_tokens(last_of(text, tokens)) <= tokens + MARK
    assert estimate_tokens(first_of(text, tokens)) <= tokens + MARK
    kept = last_of(text, tokens).removeprefix(ELLIPSIS).strip()
    assert text.endswith(kept)


@given(st.lists(st.sampled_from(PARAGRAPHS), max_size=8), st.integers(0, 200))
def test_the_latest_are_as_many_as_fit(pieces: list[str], tokens: int) -> None:
    kept = latest(pieces, tokens)
    assert list(kept) == pieces[len(pieces) - len(kept) :]
    assert sum(estimate_tokens(piece) + 1 for piece in kept) <= tokens
    if len(kept) < len(pieces):
        one_more = pieces[len(pieces) - len(kept) - 1 :]
        assert sum(estimate_tokens(piece) + 1 for piece in one_more) > tokens


NAMES = [f"Scene {n}" for n in range(10)]
FULL = [f"{name}: {PARAGRAPHS[0]}" for name in NAMES]


def test_a_list_that_fits_is_told_in_full() -> None:
    assert around(FULL, NAMES, 4, 10_000) == tuple(FULL)
    assert around([], [], 0, 100) == ()


def test_a_list_is_told_in_full_near_its_middle_and_in_short_further_off() -> None:
    tokens = sum(estimate_tokens(name) + 2 for name in NAMES) + 2 * estimate_tokens(FULL[0])
    found = around(FULL, NAMES, 4, tokens)
    assert len(found) == len(NAMES)
    assert [at for at, shown in enumerate(found) if shown == FULL[at]] in ([4, 5], [4])
    assert all(shown in (FULL[at], NAMES[at]) for at, shown in enumerate(found))


def test_a_list_is_cut_far_from_its_middle() -> None:
    tokens = 3 * (estimate_tokens(NAMES[0]) + 2)
    found = around(FULL, NAMES, 4, tokens)
    assert found[0] == found[-1] == ELLIPSIS
    assert FULL[4] in found, "the entry that matters is told in full, whatever it takes"
    assert around(FULL, NAMES, 0, 1) == (FULL[0], ELLIPSIS)
    assert around(FULL, NAMES, 9, 1) == (ELLIPSIS, FULL[9])


@given(st.integers(0, 9), st.integers(0, 700))
def test_a_list_keeps_to_its_tokens_but_for_the_entry_that_matters(at: int, tokens: int) -> None:
    found = around(FULL, NAMES, at, tokens)
    assert FULL[at] in found
    others = [shown for shown in found if shown not in (FULL[at], ELLIPSIS)]
    assert sum(estimate_tokens(shown) + 2 for shown in others) <= tokens
    order = [FULL.index(shown) if shown in FULL else NAMES.index(shown) for shown in found if shown != ELLIPSIS]
    assert order == list(range(order[0], order[-1] + 1)), "no gap inside"
