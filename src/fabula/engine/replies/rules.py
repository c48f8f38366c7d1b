"""The rules that remove something from a reply: the name of each rule and the reason for it.

Every removed piece is recorded under the name of its rule (`Run.removed`), and `fabula show --removed` lists it with
the reason given here. Nothing is removed under any other name.
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
    "markup": "Thoughts, marks of chat templates and a code fence around the whole reply are not part of the text.",
    "chatter": "A model's remarks to its reader are not part of the text.",
    "label": "The scratchpad already has the prompt's name for a part, or the title of the text.",
    "fragment": "A reply that was cut off ends in half a sentence.",
    "speaker": "Another character's speech is not part of this character's turn.",
    "announcement": "A line that announces a list is not one of its items.",
    "echo": "A small model repeats its prompt instead of continuing.",
    "loop": "A small model falls into a loop and does not leave it.",
    "repeat": "A small model repeats a long sentence word for word.",
    "script": "A small model changes to a script that its text does not use.",
    "ending": 'A small model writes "The End" and continues after it.',
    "length": "A small model cannot shorten a text, so sentences are left out.",
    "field": "A small model writes more than it was asked for, or repeats itself.",
    "size": "A reply that is many times longer than its limit is out of control.",
    "reply": "The whole reply was not what the prompt asked for, so the model was asked again.",
}
"""Why each rule removes something, by the name of the rule."""


def why(rule: str) -> str:
    """Why a rule removes something; a journal may hold a rule of a newer fabula."""
    return next(
        (reason for name, reason in RULES.items() if name == rule), "This version of fabula does not know the rule."
    )


def left_out(before: str, after: str) -> list[str]:
    """The sentences of `before` that `after` lacks, each as often as it is missing.

    Only words count. Punctuation and a speaker's name with a colon do not.
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
