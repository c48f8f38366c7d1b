"""What a capable model writes goes through every improved system whole: nothing is cut, removed or capped.

Its replies are what help for small models used to damage: long and literary, in the present tense and the second
person, with a refrain, a letter, a list, dialogue without tags, remarks about a story, and an asterisk at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import pytest

from capable import Capable, flat
from fabula.engine.journal import Journal
from harness import Case, cases, run_case

REFRAIN: Final = "The lamp is lit, and nobody comes."
PEOPLE: Final = ("Mara", "Tobias")  # of the stories that are read for who is in them
_MARK: Final = re.compile(r"number \d+ ")

# Dramatron's free replies have a form of their own; with a plan its levels are given, and dialogue is free.
CASES: Final = [
    case
    for case in cases()
    if case.preset == "improved" and (case.plan or case.system.name != "dramatron") and not case.config.get("script")
]
KINDS: Final = (
    lambda n: f"You climb past stair number {n} and the brass is cold under your palm. {REFRAIN}",
    lambda n: (
        f"“You came back.”\n\n“I never left by door number {n} at all.”\n\n“Then who has been winding the clock?”"
    ),
    lambda n: f"The story began with boat number {n} and it does not end there, though you would like it to.",
    lambda n: f"My dear sister,\n\nforgive page number {n} of this; the ink is bad and so am I.\n\nYours, M.",
    lambda n: f"* one rope, coil number {n} of the old kind\n* two candles\n* no letters at all",
    lambda n: f"You said nothing at hour number {n} for about as long as it takes to coil a line. {REFRAIN}",
    lambda n: f"Here is what you know of tide number {n} then: it comes, it waits, it goes without you.",
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_nothing_of_a_capable_models_reply_is_lost(case: Case) -> None:
    model = Capable(KINDS, people=PEOPLE)
    with Journal() as journal:
        story = await run_case(case, model, journal)
        kept = "\n".join(journal.artefacts.newest(path) or "" for path in journal.artefacts.paths())
        removed = [(one.rule, one.path, one.text) for one in journal.calls.removals() if _MARK.search(one.text)]
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
