"""Pairs of sentences that contradict each other, for any story that names somebody.

They are for kinds of which a story seldom says anything twice that cannot both be true, and for short stories.
"""

# ruff: noqa: E501 - pairs of sentences are read side by side

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

    from fabula.continuity.inject.labels import Kind


@dataclass(frozen=True, slots=True)
class Plant:
    """A fact about `{who}` and a sentence that contradicts it; both hold one of two values."""

    subject: str
    values: tuple[str, str]
    fact: str
    again: str


_SIDES: Final = (("left", "right"), ("right", "left"))
_YEARS: Final = (("1952", "1961"), ("1908", "1913"), ("1977", "1969"))
_TOWNS: Final = (("Harwick", "Velden"), ("Brannock", "Lindow"), ("Ostermouth", "Marrabel"))
_COLOURS: Final = (("green", "red"), ("black", "yellow"), ("blue", "brown"))
_COUNTS: Final = (("three", "five"), ("seven", "four"), ("six", "nine"))
_RANKS: Final = (("Captain", "Judge"), ("Major", "Sergeant"), ("Inspector", "Colonel"))
_INSTRUMENTS: Final = (("violin", "trumpet"), ("flute", "cello"), ("piano", "banjo"))
_KIN: Final = (("brothers", "brother"), ("sisters", "sister"), ("cousins", "cousin"))
_MENDED: Final = (("broken", "working"), ("locked", "unlocked"), ("empty", "full"))

_ALL: Final[dict[Kind, tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...]]] = {
    "side": (
        ("scar", "{who} had carried a scar on the {old} hand since childhood.", "The scar on the {new} hand of {who} had gone pale.", _SIDES),
        ("limp", "An old injury of the {old} leg made {who} limp.", "{who} rubbed the {new} leg, the one with the old injury.", _SIDES),
    ),
    "date": (
        ("birth", "{who} was born in {old}, as the register said.", "The papers said that {who} was born in {new}.", _YEARS),
        ("house", "The house of {who} was built in {old}.", "Over the door of the house of {who} stood that it was built in {new}.", _YEARS),
    ),
    "place": (
        ("birthplace", "{who} was born in {old}.", "{who}, who was born in {new}, had always missed it.", _TOWNS),
    ),
    "colour": (
        ("umbrella", "{who}'s umbrella was {old}.", "{who}'s {new} umbrella stood in its corner.", _COLOURS),
        ("satchel", "{who}'s satchel was {old}.", "{who}'s {new} satchel hung where it always hung.", _COLOURS),
    ),
    "number": (
        ("medals", "{who}'s {old} medals hung in a frame, all that there were.", "{who}'s {new} medals lay in a drawer.", _COUNTS),
        ("godchildren", "{who} had {old} godchildren.", "{who}'s {new} godchildren had all sent cards.", _COUNTS),
    ),
    "title": (
        ("rank", "On all papers the name was {old} {who}.", "The letter was for {new} {who}.", _RANKS),
    ),
    "object": (
        ("instrument", "The only instrument that {who} ever played was a {old}.", "{who} kept the {new}, played every day for years, in its case.", _INSTRUMENTS),
    ),
    "kin": (
        ("sibling", "{who} had never had any {old}.", "The {new} of {who} had written twice.", _KIN),
    ),
    "state": (
        ("safe", "The safe of {who} was {old}, and nothing could be done about it.", "As ever, the safe of {who} was {new}.", _MENDED),
    ),
}  # fmt: skip


PLANTED: Final = frozenset(_ALL)


def plants(kind: Kind, names: list[str], rng: random.Random) -> list[Plant]:
    """All pairs of a kind for these people, in a drawn order; none for kinds that only a story's own words can give."""
    made: list[Plant] = []
    for who in names:
        for subject, fact, again, values in _ALL.get(kind, ()):
            old, new = rng.choice(values)
            said = (fact.format(who=who, old=old), again.format(who=who, new=new))
            made.append(Plant(f"{subject} of {who}", (old, new), *said))
    rng.shuffle(made)
    return made
