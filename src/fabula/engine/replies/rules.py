"""The rules that take something out of a reply: what each is called, why it exists, and for whom it works.

Whatever a rule takes out is recorded under its name (`Run.removed`), and `fabula show --removed` lists it with the
reason given here. Nothing is taken out under any other name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a rule takes something out, and whether it does so for small models alone."""

    why: str
    aid: bool


RULES: Final[dict[RuleName, Rule]] = {
    "markup": Rule("Thoughts, marks of chat templates and a code fence around the whole are no text.", aid=False),
    "chatter": Rule("What a model says to its reader around a text is none of it.", aid=False),
    "label": Rule(
        "A name that the prompt uses for a part, or a title before the text, stands in the scratchpad already.",
        aid=False,
    ),
    "fragment": Rule("A reply that was cut off ends in half a sentence.", aid=False),
    "speaker": Rule("What a reply says for somebody else is not this character's turn.", aid=False),
    "announcement": Rule("A line that announces a list is no item of it.", aid=False),
    "echo": Rule("A small model repeats its prompt instead of going on.", aid=True),
    "loop": Rule("A small model runs in circles, and does not come out again.", aid=True),
    "repeat": Rule("A small model says a long sentence again, word for word.", aid=True),
    "script": Rule("A small model falls into another script than that of its text.", aid=True),
    "ending": Rule('A small model writes "The End", and goes on behind it.', aid=True),
    "length": Rule("A small model cannot shorten a text, so sentences are left out.", aid=True),
    "field": Rule("A small model fills a field with noise, or with more than it should hold.", aid=True),
    "size": Rule("A reply that is many times longer than it was allowed to be has run out of control.", aid=False),
    "reply": Rule("The whole reply was none of what was asked for, and was asked for again.", aid=False),
}
"""All rules by name."""
