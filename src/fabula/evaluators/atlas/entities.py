"""Who and what a story is about, carried from scene to scene: one row for all names of an entity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fabula.continuity.lexicon import TITLES
from fabula.story import slug
from fabula.story.people import same_person
from fabula.story.world.facts import name_key


@dataclass
class Row:
    """An entity: its id, the name it was first given, and all others."""

    id: str
    type: str
    name: str
    scene: int
    aliases: set[str] = field(default_factory=set)


_DETERMINERS: Final = frozenset({"the", "a", "an", "his", "her", "their", "my", "our"})


@dataclass
class Table:
    """The canonical entities of a story; scenes are to be given in their order.

    A name is an entity's where it is one of its names, or, for characters, a part of exactly one character's name
    ("Voss" of "Elena Voss"), titles left out.
    """

    rows: list[Row] = field(default_factory=list)
    _known: dict[tuple[str, str], Row] = field(default_factory=dict)

    def check_cast(self, type_: str, name: str, aliases: tuple[str, ...], scene: int) -> Row:
        """The row of a name that a scene gives with other names of the same entity; a new one where there is none."""
        forms = [form for said in (name, *aliases) if (form := bare(said))]
        row = next((self._known[type_, form] for form in forms if (type_, form) in self._known), None)
        if row is None and type_ == "Character":
            row = next((found for form in forms if (found := self._assignment(form))), None)
        if row is None:
            row = Row(self._free_id(type_, name), type_, name, scene)
            self.rows.append(row)
        row.aliases |= {said for said in (name, *aliases) if said != row.name and said}
        for form in forms:
            self._known.setdefault((type_, form), row)
        return row

    def _assignment(self, form: str) -> Row | None:
        """The one character whose name has all these words, or is made of some of them."""
        found = [
            row for (type_, known), row in self._known.items() if type_ == "Character" and same_person(form, known)
        ]
        rows = {row.id: row for row in found}
        return next(iter(rows.values())) if len(rows) == 1 else None

    def _free_id(self, type_: str, name: str) -> str:
        taken, wanted = {row.id for row in self.rows}, f"{type_.lower()}:{slug(name)}"
        return next(
            told for n in range(1, len(taken) + 2) if (told := wanted if n == 1 else f"{wanted}-{n}") not in taken
        )


def bare(name: str) -> str:
    """A name as it is compared: without case, without titles and words such as "the" before it."""
    pieces = name_key(name).replace(".", " ").split()
    left = [piece for piece in pieces if piece not in _DETERMINERS and piece not in TITLES]
    return " ".join(left or pieces)
