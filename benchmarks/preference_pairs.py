"""Pairs with a preference that is known: of two passages with as many words, the one in shorter sentences.

Every passage tells six small things of one place. The preferred one makes four or five sentences of them, the other
one or two; both have the same number of words, and the preferred one stands first in every second pair. So neither
words nor position say which is preferred. Places, and with them people and things, are either trained on or held out.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from fabula.models.base import Message
from fabula.training.examples import PreferencePair

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACES: Final = (
    ("harbour", "the pilot", "the boats", "a rope", "the tide"),
    ("orchard", "the widow", "the ladders", "a basket", "the frost"),
    ("mill", "the miller", "the wheels", "a sack", "the stream"),
    ("school", "the teacher", "the children", "a slate", "the snow"),
    ("chapel", "the sexton", "the candles", "a key", "the wind"),
    ("market", "the grocer", "the carts", "a scale", "the crowd"),
    ("station", "the porter", "the trains", "a lamp", "the fog"),
    ("quarry", "the mason", "the hammers", "a chisel", "the dust"),
    ("kitchen", "the cook", "the kettles", "a spoon", "the smoke"),
    ("stable", "the groom", "the horses", "a brush", "the straw"),
    ("library", "the clerk", "the shelves", "a letter", "the silence"),
    ("vineyard", "the farmer", "the barrels", "a knife", "the sun"),
    ("forge", "the smith", "the bellows", "a nail", "the fire"),
    ("ferry", "the boatman", "the oars", "a coin", "the current"),
    ("theatre", "the prompter", "the curtains", "a mask", "the applause"),
    ("garden", "the gardener", "the roses", "a spade", "the rain"),
    ("hospital", "the nurse", "the beds", "a blanket", "the night"),
    ("lighthouse", "the keeper", "the stairs", "a lantern", "the storm"),
    ("bakery", "the baker", "the ovens", "a loaf", "the flour"),
    ("bridge", "the guard", "the wagons", "a whistle", "the river"),
    ("court", "the judge", "the benches", "a paper", "the heat"),
    ("tannery", "the tanner", "the hides", "a hook", "the smell"),
    ("castle", "the steward", "the gates", "a torch", "the dark"),
    ("farm", "the shepherd", "the sheep", "a crook", "the hail"),
    ("workshop", "the carpenter", "the planks", "a saw", "the noise"),
    ("inn", "the landlord", "the tables", "a jug", "the evening"),
    ("post office", "the postman", "the parcels", "a stamp", "the cold"),
    ("observatory", "the watcher", "the charts", "a lens", "the clouds"),
    ("shipyard", "the foreman", "the cranes", "a bolt", "the spray"),
    ("tower", "the ringer", "the bells", "a ladder", "the swallows"),
)
"""Each a place, one who is there, what stands there, a thing, and what comes over it."""

# Seven words each, whatever fills them.
_CLAUSES: Final = (
    "{one} looked again at {many}",
    "{one} carried {thing} up slowly",
    "{force} came much nearer than before",
    "{many} all stood quite still there",
    "nobody else spoke to {one} then",
    "{one} remembered what had been lost",
    "{force} took hold of {many}",
    "{one} put {thing} down here",
    "somebody had moved {many} far away",
    "{thing} lay close beside {one}",
    "{one} waited there for {force}",
    "almost everything depended on {force} now",
    "{one} counted {many} once more",
    "{thing} was still missing after all",
)
_JOINTS: Final = ("and", "while", "as", "because", "until", "so")
_OPENERS: Final = ("Then", "Soon", "Still", "Later", "Meanwhile", "Again")
_TOLD: Final = 6  # things in a passage
_SHORT, _LONG = (4, 5), (1, 2)  # sentences in it


def pairs_of(places: Sequence[int], count: int, seed: int) -> tuple[PreferencePair, ...]:
    """So many pairs of these places (by index), which take turns; the place is the group."""
    drawn = random.Random(seed)  # noqa: S311 - made-up texts
    rounds = [divmod(number, len(places)) for number in range(count)]
    # Half of all pairs, and half of those of each place, have the preferred one first.
    return tuple(_pair(turn, places[at], drawn, first=(turn + at) % 2 == 0) for turn, at in rounds)


PLACES: Final = len(_PLACES)


def _pair(turn: int, place: int, drawn: random.Random, *, first: bool) -> PreferencePair:
    name = _PLACES[place][0]
    prompt = (
        Message("system", "You write stories."),
        Message("user", f"Write a short passage about the {name}."),
    )
    texts = {sentences: _passage(place, drawn.choice(sentences), drawn) for sentences in (_SHORT, _LONG)}
    return PreferencePair(f"{name}-{turn}", "writer", name, prompt, texts[_SHORT], texts[_LONG], "ratings", first)


def _passage(place: int, sentences: int, drawn: random.Random) -> str:
    _, one, many, thing, force = _PLACES[place]
    told = [clause.format(one=one, many=many, thing=thing, force=force) for clause in drawn.sample(_CLAUSES, _TOLD)]
    begins = {0, *drawn.sample(range(1, _TOLD), sentences - 1)}
    text = ""
    for index, clause in enumerate(told):
        if index == 0:
            text += clause.capitalize()
        elif index in begins:
            text += f". {drawn.choice(_OPENERS)} {clause}"
        else:
            text += f" {drawn.choice(_JOINTS)} {clause}"
    return f"{text}."
