"""The rules that take something out of a reply: what each is called, and why it exists.

Whatever a rule takes out is recorded under its name (`Run.removed`), and `fabula show --removed` lists it with the
reason given here. Nothing is taken out under any other name.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from fabula.engine.replies.loops import words_of
from fabula.story.sentences import sentences

RuleName: TypeAlias = Literal[
    "markup",
    "chatter",
    "label",
    "fragment",
    "speaker",
    "announcement",
    "echo",
    "loop",
    "repeat",
    "script",
    "ending",
    "length",
    "field",
    "reply",
    "size",
]


RULES: Final[dict[RuleName, str]] = {
    "markup": "Thoughts, marks of chat templates and a code fence around the whole are no text.",
    "chatter": "What a model says to its reader around a text is none of it.",
    "label": "A name that the prompt uses for a part, or a title before the text, stands in the scratchpad already.",
    "fragment": "A reply that was cut off ends in half a sentence.",
    "speaker": "What a reply says for somebody else is not this character's turn.",
    "announcement": "A line that announces a list is no item of it.",
    "echo": "A small model repeats its prompt instead of going on.",
    "loop": "A small model runs in circles, and does not come out again.",
    "repeat": "A small model says a long sentence again, word for word.",
    "script": "A small model falls into another script than that of its text.",
    "ending": 'A small model writes "The End", and goes on behind it.',
    "length": "A small model cannot shorten a text, so sentences are left out.",
    "field": "A small model says more than it was asked for, or the same again.",
    "size": "A reply that is many times longer than it was allowed to be has run out of control.",
    "reply": "The whole reply was none of what was asked for, and was asked for again.",
}
"""Why each rule takes something out, by its name."""


def why(rule: str) -> str:
    """Why a rule takes something out; a journal may hold one that a newer fabula has."""
    return next((reason for name, reason in RULES.items() if name == rule), "This fabula does not know the rule.")


def left_out(before: str, after: str) -> list[str]:
    """The sentences of `before` that `after` does not have, as often as they are missing.

    Only words count, not the marks around them, nor a name with a colon before a speech.
    """
    left = f" {' '.join(words_of(after))} "
    missing: list[str] = []
    for sentence in sentences(before):
        for said in (sentence, sentence.partition(":")[2]):
            words = f" {' '.join(words_of(said))} "
            if words.strip() and words in left:
                left = left.replace(words, " \n ", 1)
                break
        else:
            if words_of(sentence):
                missing.append(sentence)
    return missing
