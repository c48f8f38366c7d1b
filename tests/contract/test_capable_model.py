"""What a capable model writes goes through every improved system whole: nothing is cut, removed or capped.

Its replies are what help for small models used to damage: long and literary, in the present tense and the second
person, with a refrain, a letter, a list, dialogue without tags, remarks about a story, and an asterisk at the end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import pytest

from fabula.engine.dry_run import example
from fabula.engine.journal import Journal
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from harness import Case, cases, run_case
from schemas import wrong_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.models.base import Json, Request

REFRAIN: Final = "The lamp is lit, and nobody comes."
NAMES: Final = frozenset(
    {"name", "names", "speaker", "character", "characters", "title", "place", "places", "location", "key"}
)
USUAL_WORDS: Final = 190
LONG_WORDS: Final = 150  # of a text in a typed reply: 800 characters, more than any cap that there was
_WANTED: Final = re.compile(
    r"between ([\d,]+) and ([\d,]+)(?: words)?|([\d,]+) (?:to|and) ([\d,]+) words|about ([\d,]+) words"
)
_MARK: Final = re.compile(r"number \d+ ")

# Dramatron's free replies have a form of their own; with a plan its levels are given, and dialogue is free.
CASES: Final = [
    case
    for case in cases()
    if case.preset == "improved" and (case.plan or case.system.name != "dramatron") and not case.config.get("script")
]


class Capable(ScriptedModel):
    """Writes literary prose of the length it is asked for; every sentence but the refrain has a number of its own."""

    def __init__(self) -> None:
        super().__init__(self.answer, capabilities=Capabilities(schema=True, choices=True, context=200_000))
        self.numbers = count(1)
        self.replies: list[str] = []

    def answer(self, request: Request) -> str:
        if request.choices:
            return request.choices[0]
        if request.schema is not None:
            assert not [*wrong_in(request.schema, short=False)], request.path
            return json.dumps(self.filled(request.schema, example(request.schema, request.path)))
        return self.written(wanted(request))

    def written(self, words: int) -> str:
        """About `words` words of prose."""
        paragraphs: list[str] = []
        have = 0
        for kind in _cycle(words):
            text = kind(f"number {next(self.numbers)} ")
            have += len(text.split())
            if paragraphs and have > words:
                break
            paragraphs.append(text)
        text = "\n\n".join(paragraphs)
        self.replies.append(text)
        return text

    def filled(self, schema: Json, value: Any, field: str = "") -> Any:  # noqa: ANN401 - JSON data
        """`value` with long prose wherever the schema leaves room for it."""
        if isinstance(value, dict):
            inner = schema.get("properties", {})
            return {key: self.filled(inner.get(key, {}), part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [self.filled(schema.get("items", {}), part, field) for part in value]
        free = isinstance(value, str) and field not in NAMES
        bound = {"enum", "const", "pattern", "format", "maxLength"} & schema.keys()
        return self.written(LONG_WORDS).replace("\n\n", " ") if free and not bound else value


def wanted(request: Request) -> int:
    """The number of words that a prompt asks for, as a reader would understand it."""
    found = _WANTED.findall(request.messages[-1].content)
    if not found:
        return USUAL_WORDS
    numbers = [int(number.replace(",", "")) for number in found[-1] if number]
    return sum(numbers) // len(numbers)


def _cycle(words: int) -> Iterator[Any]:
    kinds = [
        lambda n: f"You climb past stair {n}and the brass is cold under your palm. {REFRAIN}",
        lambda n: f"“You came back.”\n\n“I never left by door {n}at all.”\n\n“Then who has been winding the clock?”",
        lambda n: f"The story began with boat {n}and it does not end there, though you would like it to.",
        lambda n: f"My dear sister,\n\nforgive page {n}of this; the ink is bad and so am I.\n\nYours, M.",
        lambda n: f"* one rope, coil {n}of the old kind\n* two candles\n* no letters at all",
        lambda n: f"You said nothing at hour {n}for about as long as it takes to coil a line. {REFRAIN}",
        lambda n: f"Here is what you know of tide {n}then: it comes, it waits, it goes without you.",
    ]
    while True:
        yield from kinds


def flat(text: str) -> str:
    return " ".join(text.replace("*", " ").split())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_nothing_of_a_capable_models_reply_is_lost(case: Case) -> None:
    model = Capable()
    with Journal() as journal:
        story = await run_case(case, model, journal)
        kept = "\n".join(journal.newest(path) or "" for path in journal.paths())
        removed = [(one.rule, one.path, one.text) for one in journal.removals() if _MARK.search(one.text)]
    assert not removed, "no rule took anything out"
    prompts = "\n".join(message.content for request in model.asked for message in request.messages)
    shown = flat(f"{story.text}\n{kept}\n{prompts}")
    lost = []
    for reply in model.replies:
        pieces = [flat(piece) for piece in reply.split("\n\n") if _MARK.search(piece)]
        there = [piece.rstrip(".") in shown for piece in pieces]  # a note may stand in a list without its full stop
        if any(there) and not all(there):  # what was not chosen may go as a whole, never in part
            lost += [piece for piece, found in zip(pieces, there, strict=True) if not found]
    assert not lost
    written = Counter(_MARK.findall(story.text))
    assert written, "the story holds what the model wrote"
    assert set(written.values()) == {1}, "and nothing of it twice"
    whole = flat(story.text)
    wanted_refrains = sum(flat(reply).count(REFRAIN) for reply in model.replies if _first(reply) in whole)
    assert whole.count(REFRAIN) >= wanted_refrains > 0, "and its refrain wherever it stands"


def _first(reply: str) -> str:
    return flat(reply.split("\n\n", maxsplit=1)[0])
