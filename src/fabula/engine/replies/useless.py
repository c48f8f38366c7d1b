"""Useless replies: empty, copied from the prompt, or a heading without a text.

A capable model does not give such replies, because it uses its own words. A useless reply is asked for again, never in
the same words (`Run.again`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.base.lazily import Module
from fabula.base.remembering import remembered
from fabula.engine.replies.echoes import covered, grams, marks
from fabula.engine.replies.loops import words_of
from fabula.story import count_words
from fabula.story.sentences import ends_whole, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.replies import chatter
else:
    chatter = Module("fabula.engine.replies.chatter")  # its patterns take 0.02 s


_SHARE: Final = 0.85  # of a reply's words that stand in the prompt in runs of five
_RUN: Final = 3  # words of a prompt file that show that an instruction was copied
_INSTRUCTION: Final = 0.3  # of a reply's words that stand in such runs
_SENTENCE, _COPIED = 4, 0.5  # words of a sentence that may be copied, and the share of them in such runs
_LONG: Final = 8  # words; a shorter reply may well say what the prompt says: a refrain, a name, an answer
_SLUG: Final = re.compile(r"\A\W*(?:INT|EXT|I/E)\b[./ ]")


def fault_of(
    text: str,
    prompt: str | Callable[[], str],
    instructions: Sequence[str],
    *,
    least: int = 1,
    before: Sequence[str] = (),
) -> str:
    """Why a reply is not what was asked for, in a sentence for its writer; empty if the reply can be used.

    Args:
        text: the reply, without chatter.
        prompt: the prompt, or a function that makes it when it is needed.
        instructions: the texts of the prompt file itself, without the values filled in.
        least: the fewest words that a text of its kind has.
        before: texts that the reply must not repeat, such as the brief.
    """
    words = words_of(text)
    if not words:
        return "It held no text."
    if _is_heading(text):
        return "It held a heading and no text."
    if (count := count_words(text)) < least:
        return f"It had {count} {'word' if count == 1 else 'words'}."
    again = len(words) >= _LONG and any(all(covered(words, [one])) for one in before)
    return "It repeated what it was told." if again or _copies(words, prompt, instructions) else ""


def without_instructions(text: str, instructions: Sequence[str]) -> str:
    """A text without the sentences that a small model has mostly copied from the prompt file."""
    known = _grams_of(tuple(instructions))
    kept, at = "", 0
    for start, end in spans(text):
        words = words_of(text[start:end])
        if len(words) < _SENTENCE or sum(marks(words, known, _RUN)) < _COPIED * len(words):
            kept += text[at if kept else start : end]
        at = end
    return kept.strip()


def _is_heading(text: str) -> bool:
    lines = (line for line in text.splitlines() if words_of(line))
    return all(
        (chatter.is_heading(line) or chatter.is_framed(line) or _SLUG.match(line)) and not ends_whole(line)
        for line in lines
    )


def _copies(words: Sequence[str], prompt: str | Callable[[], str], instructions: Sequence[str]) -> bool:
    """Whether a reply is made of the prompt's words, its instructions among them."""
    if len(words) < _LONG:
        said = f" {' '.join(words)} "
        return len(words) > 1 and any(said in f" {' '.join(words_of(text))} " for text in instructions)
    instructed = sum(marks(words, _grams_of(tuple(instructions)), _RUN)) >= _INSTRUCTION * len(words)
    return instructed and sum(covered(words, [prompt() if callable(prompt) else prompt])) >= _SHARE * len(words)


@remembered(256, 20_000)  # prompt files are few, and asked with again and again
def _grams_of(instructions: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(grams(instructions, _RUN))
