"""Cells put together are the narrative, whatever it is; and no quotation is cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.craft.cells import cells
from fabula.story.sentences import paragraph_spans, spans
from fabula.story.speech import speech

WORDS = st.sampled_from(["Mara", "lit", "the lamp", "e.g.", "Dr.", "at 5 p.m.", "and", "...", "\u2014", "she said"])
ENDS = st.sampled_from([". ", "! ", "? ", ".\n", ".\n\n", '." ', '.\u201d\n\n"', "\n\n\n", ' "', " \u201c", '"', "'"])
PROSE = st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), ENDS), max_size=60).map(
    lambda parts: "".join(text + end for text, end in parts)
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(PROSE, st.text(max_size=300)), st.integers(1, 12))
def test_concatenation_is_the_input(text: str, sentences: int) -> None:
    found = cells(text, sentences)
    assert "".join(found) == (text if spans(text) else "")
    assert all(cell.strip() for cell in found)


@settings(max_examples=150, deadline=None)
@given(PROSE, st.integers(1, 8))
def test_borders_are_ends_of_sentences_outside_quotations(text: str, sentences: int) -> None:
    starts = {start for start, _ in spans(text)}
    at = 0
    for cell in cells(text, sentences)[:-1]:
        at += len(cell)
        assert at in starts
        assert not any(start < at <= end for start, end in speech(text))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 20))
def test_without_quotations_no_cell_is_longer_than_a_third_more(count: int, sentences: int) -> None:
    text = " ".join(f"On day {n} Mara lit the lamp." for n in range(count))
    assert len(paragraph_spans(text)) == 1
    sizes = [len(spans(cell)) for cell in cells(text, sentences)]
    assert sum(sizes) == count
    assert max(sizes) <= sentences + int(sentences * 0.3)
