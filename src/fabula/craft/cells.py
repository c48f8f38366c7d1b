"""A narrative in cells of about ten sentences (SNAP, section 3.1).

Cells end where a sentence ends, at the end of a paragraph where one is near, and never within a quotation, also one of
several paragraphs. Put together again they are the narrative, letter for letter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from fabula.base.errors import UsageError
from fabula.story.sentences import Span, paragraph_spans, spans
from fabula.story.speech import speech

SENTENCES: Final = 10  # section 3.1
_SLACK: Final = 0.3  # share of a cell's sentences by which a paragraph's end may come sooner or later
_OPENING: Final = "\"\u201c\u201e\u00ab\u00bb\u300c\u300e`\u2018'\u2019"


def cells(text: str, sentences: int = SENTENCES) -> list[str]:
    """The cells of a narrative, in order; none for a text without any letter.

    A cell has about `sentences` sentences: it ends with the paragraph that ends nearest to that, within 30 %, else
    with that sentence, and later where a quotation continues. What would be left for a last cell of less than 30 % goes
    with the one before.

    Raises:
        UsageError: `sentences` is below 1.
    """
    if sentences < 1:
        raise UsageError(f"A cell cannot have {sentences} sentences. Give 1 or more.")
    starts = [start for start, _ in spans(text)]
    if not starts:
        return []
    borders = _borders(text, starts, sentences)
    return [text[a:b] for a, b in zip([0, *borders], [*borders, len(text)], strict=True)]


def _borders(text: str, starts: Sequence[int], sentences: int) -> list[int]:
    """Where the second cell begins, and each one after it."""
    whole = _quotations(text)
    allowed = [not _within(whole, start) for start in starts]
    paragraphs = {start for start, _ in paragraph_spans(text)}
    slack = int(sentences * _SLACK)
    found: list[int] = []
    begin = 0
    while len(starts) - begin > sentences + slack:
        near = range(begin + max(sentences - slack, 1), begin + sentences + slack + 1)
        ends = [n for n in near if allowed[n] and starts[n] in paragraphs]
        later = (n for n in range(begin + sentences, len(starts)) if allowed[n])
        end = min(ends, key=lambda n: abs(n - begin - sentences)) if ends else next(later, len(starts))
        if end >= len(starts):
            break
        found.append(starts[end])
        begin = end
    return found


def _quotations(text: str) -> list[Span]:
    """What is spoken, from mark to mark; speech that goes on in the next paragraph is one piece."""
    ends = {end for _, end in paragraph_spans(text)}
    merged: list[Span] = []
    open_ = False
    for start, end in speech(text):
        begin = start - 1
        goes_on = open_ and text[begin : begin + 1] in _OPENING and not text[merged[-1][1] : begin].strip()
        if goes_on:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
        open_ = end in ends
    return merged


def _within(quotations: Sequence[Span], place: int) -> bool:
    """Whether a cut at `place` would divide a quotation."""
    at = bisect_left(quotations, (place, 0)) - 1
    return at >= 0 and quotations[at][0] < place <= quotations[at][1]
