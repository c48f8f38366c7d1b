"""Cleaning a reply: what was cleaned stays as it is, and every sentence is either kept or recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.engine.replies import clean_prose, left_out
from fabula.engine.replies.loops import words_of

LABELS = ("Climax", "Story", "Key Plot Points")
REPLIES = Path(__file__).parents[1] / "golden" / "replies"
_PIECES = (
    "Sure! Here is the text you asked for:",
    "Here is the Climax part of the story:",
    "[Climax] The boat is late.",
    "# The Lamp",
    "The Lamp",
    "**Climax**",
    "* * *",
    "---",
    "*",
    "```",
    "“You came back.”",
    '"I never left at all," she says. "Did you?',
    "She said nothing for about as long as it takes to coil a line.",
    "The story began in the harbour, and it does not end there.",
    "The lamp is lit, and nobody comes.",
    "Dear Tobias,",
    "The End",
    "I hope this story helps! Let me know if you want changes.",
    "(Word count: 250)",
    "and on and on and on and on and on and on and on and on",
    "She was going to",
    "1. A list of things.",
    "<|im_end|>",
    "<think>What now?</think>",
)


@st.composite
def replies(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=30)), max_size=12))
    return "".join(piece + draw(st.sampled_from((" ", "\n", "\n\n"))) for piece in pieces)


@given(
    replies(), st.booleans(), st.booleans(), st.sampled_from(("prose", "notes")), st.sampled_from(("stop", "length"))
)
def test_what_was_cleaned_stays_as_it_is(text: str, aids: bool, last: bool, kind: str, finish: str) -> None:  # noqa: FBT001 - drawn
    once = _cleaned(text, aids=aids, last=last, kind=kind, finish=finish)
    assert _cleaned(once, aids=aids, last=last, kind=kind, finish=finish) == once


@pytest.mark.parametrize("aids", [True, False])
@pytest.mark.parametrize("name", sorted(path.stem for path in REPLIES.glob("*.txt")))
def test_a_real_reply_that_was_cleaned_stays_as_it_is(name: str, aids: bool) -> None:  # noqa: FBT001 - a column
    once = _cleaned((REPLIES / f"{name}.txt").read_text(encoding="utf-8"), aids=aids)
    assert _cleaned(once, aids=aids) == once


@given(replies(), st.booleans(), st.booleans())
def test_every_sentence_is_kept_or_recorded(text: str, aids: bool, last: bool) -> None:  # noqa: FBT001 - drawn
    cleaned = clean_prose(text, labels=LABELS, last=last, aids=aids)
    recorded = "\n\n".join((cleaned.text, *(one.text for one in cleaned.dropped)))
    words = set(words_of(recorded))
    assert [one for one in left_out(text, recorded) if not set(words_of(one)) <= words] == []


def _cleaned(text: str, *, aids: bool, last: bool = True, kind: str = "prose", finish: str = "stop") -> str:
    kinds = {"prose": "prose", "notes": "notes"}
    return clean_prose(text, labels=LABELS, last=last, kind=kinds[kind], finish=finish, aids=aids).text  # type: ignore[arg-type] # drawn
