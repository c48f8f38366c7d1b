"""Fitting what a prompt should hold into the tokens it may have. Tokens are estimates (`models.budget`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabula.base.remembering import remembered
from fabula.models.budget import estimate_tokens
from fabula.story import plain
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ELLIPSIS = "[...]"
_FAR = 2  # times the tokens that are shown: what lies further back cannot be among them
_PARAGRAPHS = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w+")


def last_of(text: str, tokens: int) -> str:
    """The end of `text` that has about `tokens` tokens at most: whole paragraphs, else whole sentences of the last one.

    What is left out is marked at the front. Texts that fit come back as they are.
    """
    if estimate_tokens(text) <= tokens:
        return text
    kept = _last(_PARAGRAPHS.split(text), tokens, "\n\n")
    if not kept:
        kept = _last(sentences(_PARAGRAPHS.split(text)[-1]), tokens, " ")
    return f"{ELLIPSIS}\n\n{kept}" if kept else ""


def end_of(texts: Sequence[str], tokens: int) -> str:
    """`last_of` these texts, a blank line between them; those that lie too far back to be shown are not looked at."""
    seen, at = 0, len(texts)
    while at and seen <= _FAR * tokens:
        at -= 1
        seen += estimate_tokens(texts[at]) - 1  # which was rounded up
    near = texts[at:]
    parted = all(text and text == text.strip() for text in near)  # else where two of them meet is no end of a paragraph
    parts = [part for text in near for part in _parts(text)] if parted and seen > _FAR * tokens else []
    kept = "\n\n".join(latest(parts, tokens))
    return f"{ELLIPSIS}\n\n{kept}" if kept else last_of("\n\n".join(near), tokens)


@remembered(16, 200_000)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(_PARAGRAPHS.split(text))


def first_of(text: str, tokens: int) -> str:
    """The beginning of `text` that has about `tokens` tokens at most, in whole sentences; marked where it was cut."""
    if estimate_tokens(text) <= tokens:
        return text
    kept: list[str] = []
    for sentence in sentences(text):
        tokens -= estimate_tokens(sentence) + 1
        if tokens < 0:
            break
        kept.append(sentence)
    return " ".join([*kept, ELLIPSIS])


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, which blank lines part."""
    return [part for part in _PARAGRAPHS.split(plain(text)) if part.strip()]


def words(text: str) -> set[str]:
    """The different words of a text, without case."""
    return set(_WORD.findall(text.casefold()))


def overlap(a: set[str], b: set[str]) -> float:
    """The share of what two sets have in common in what they have together (Jaccard); 0 for two empty ones."""
    return len(a & b) / len(a | b) if a or b else 0.0


def _last(pieces: Sequence[str], tokens: int, between: str) -> str:
    return between.join(latest(pieces, tokens))


def latest(pieces: Sequence[str], tokens: int) -> tuple[str, ...]:
    """The last of `pieces` that fit together into `tokens`."""
    at = len(pieces)
    while at and (tokens := tokens - estimate_tokens(pieces[at - 1]) - 1) >= 0:
        at -= 1
    return tuple(pieces[at:])


def around(full: Sequence[str], short: Sequence[str], at: int, tokens: int) -> tuple[str, ...]:
    """A list with full entries near `at`, short ones further off, and none beyond what fits.

    Args:
        full: each entry in full.
        short: each entry in few words.
        at: index of the entry that matters most; it is always shown in full.
        tokens: the whole list's.

    Returns:
        The entries that fit, in their order; an ellipsis stands for those left out.
    """
    near = sorted(range(len(full)), key=lambda i: (abs(i - at), -i))
    shown: dict[int, str] = {}
    left = tokens
    for form in (short, full):
        for index in near:
            more = estimate_tokens(form[index]) + 2 - (estimate_tokens(shown[index]) + 2 if index in shown else 0)
            if index not in shown and form is full:
                continue
            if more > left and index != at:
                break
            left -= more
            shown[index] = form[index]
    return tuple(_with_gaps(shown, len(full)))


def _with_gaps(shown: dict[int, str], length: int) -> Iterable[str]:
    places = sorted(shown)
    if places and places[0] > 0:
        yield ELLIPSIS
    for index in places:
        yield shown[index]
    if places and places[-1] < length - 1:
        yield ELLIPSIS
