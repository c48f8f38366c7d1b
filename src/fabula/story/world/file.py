"""A world in a file: exported as JSON, or written by a person as YAML or JSON.

A fact requires only a subject and a slot::

    many: [owns]                       # slots that can have several values at a time
    entities:
      - name: Mara
        kind: character
        aliases: [the keeper]
    facts:
      - subject: Mara
        slot: eye colour
        value: grey
        durability: permanent          # or durable, transient
        scene: 2                       # where the fact is told; by default 0, before the story
        offset: 4                      # paragraph or character in the scene
        from: 1921-10-30               # story times between which the fact is true
        to: 1921-11-02
        witnesses: [Tobias]            # who learns of the fact; everybody by default; [] means nobody
        quote: her grey eyes
      - subject: Mara
        slot: owns
        value: the lamp
        denied: yes                    # Mara does not own the lamp
        modality: reported             # author by default; or asserted, believed, planned, hypothetical, dream
        source: Tobias                 # who says so
        about: [Jonas]                 # others whom the fact concerns
        change: update                 # or explained, retcon: how the text explains the change
        confidence: 0.8

In YAML, all values are text, as in plans. All problems are reported at once with file, line, entry and field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.story.sheets import MAX_PROBLEMS, SheetProblem, checked_sheet, read_sheet
from fabula.story.world.facts import FORMAT, Entity, Fact, Moment, problems_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.story.world.state import WorldState

MAX_BYTES: Final = 100_000_000
MAX_YAML_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class WorldFile:
    """The contents of a file; `learned` contains, for a fact's index in `facts`, who learned of the fact when."""

    facts: tuple[Fact, ...] = ()
    entities: tuple[Entity, ...] = ()
    many: tuple[str, ...] = ()
    scenes: tuple[tuple[int, str], ...] = ()
    learned: tuple[tuple[int, str, Moment], ...] = ()

    def add_to(self, world: WorldState) -> None:
        """Add all contents to an empty world.

        Raises:
            UsageError: names contradict each other.
            ProjectError: the world cannot be written.
        """
        self.add_names_to(world)
        made = world.add(self.facts)
        for place, who, at in self.learned:
            world.learn(made[place].id, who, at)

    def add_names_to(self, world: WorldState) -> None:
        """Add all contents except the facts to a world.

        Raises:
            UsageError: names contradict each other.
            ProjectError: the world cannot be written.
        """
        world.hold_many(*self.many)
        world.describe(self.entities)
        for no, title in self.scenes:
            world.put_scene(no, title)


def read_world(path: Path) -> WorldFile:
    """The world in a file, which is JSON if its name ends in .json, and otherwise YAML.

    Raises:
        UsageError: the file cannot be read, is larger than 100 MB (YAML: 4 MB), or has errors; the message lists all
            errors.
    """
    is_json = path.suffix.lower() == ".json"
    return parse_world(
        read_text(path, MAX_BYTES if is_json else MAX_YAML_BYTES, kind="a world (a YAML or JSON file)"),
        str(path),
        is_json=is_json,
    )


def parse_world(text: str, where: str = "world.yaml", *, is_json: bool = False) -> WorldFile:
    """The world in a text; `where` is the name of the text in messages.

    Raises:
        UsageError: the text has errors; the message has one line per error, as "FILE:LINE: fact 3 > scene: problem and
            remedy".
    """
    from fabula.story.world.sheet import fields_at, read_data  # noqa: PLC0415 - keeps `fabula --help` fast

    def made(data: object) -> WorldFile:
        found = read_data(data, is_json=is_json)
        learned = tuple((n, who, at) for n, (_, later) in enumerate(found["facts"]) for who, at in later)
        facts = tuple(fact for fact, _ in found["facts"])
        return WorldFile(facts, tuple(found["entities"]), found["many"], tuple(found["scenes"]), learned)

    if is_json:
        return checked_sheet(_json_in(text, where), where, "the world", made, _problems)
    return read_sheet(text, where, "the world", made, _problems, fields_at)


def _json_in(text: str, where: str) -> object:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise UsageError(f"{where}: This is nested too deeply. Use fewer levels.") from error
    except ValueError as error:
        raise UsageError(
            f"{where}: This is not valid JSON ({error}). Use a file that `fabula world --export json` wrote."
        ) from error


def _problems(found: WorldFile) -> list[SheetProblem]:
    every = ((n, *problem) for n, fact in enumerate(found.facts) for problem in problems_of(fact))
    return [SheetProblem(("facts", n, field), what) for n, field, what in islice(every, MAX_PROBLEMS)]


# writing --------------------------------------------------------------------------------------------------------------


def write_world(world: WorldState, facts: Sequence[Fact] | None = None) -> str:
    """The world, or some of its facts, as JSON that `read_world` can read; withdrawn facts are left out."""
    chosen = world.facts() if facts is None else facts
    scenes = [{"no": scene.no, "title": scene.title} for scene in world.scenes()]
    data = {
        "format": FORMAT,
        "many": sorted(world.index.many),
        "entities": [entity_data(entity) for entity in world.entities()],
        "scenes": scenes,
        "facts": [fact_data(fact) | learned_data(world, fact) for fact in chosen],
    }
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def entity_data(entity: Entity) -> dict[str, Any]:
    """An entity as plain data."""
    data = {"name": entity.name, "kind": entity.kind, "aliases": list(entity.aliases), "scene": entity.scene}
    return {name: value for name, value in data.items() if value}


def learned_data(world: WorldState, fact: Fact) -> dict[str, Any]:
    """The later learners of a fact as plain data; empty if there are none."""
    data = [{"who": who, "scene": at.scene, "offset": at.offset} for who, at in world.learned(fact.id)]
    return {"learned": data} if data else {}


def fact_data(fact: Fact) -> dict[str, Any]:
    """A fact as plain data; empty fields are left out."""
    data: dict[str, Any] = {"id": fact.id, "subject": fact.subject, "slot": fact.slot, "value": fact.value}
    data |= {"modality": fact.modality, "scene": fact.told.scene}
    data |= _only(
        offset=fact.told.offset,
        denied=not fact.polarity,
        source=fact.source,
        about=list(fact.about),
        quote=fact.quote,
        span=list(fact.span) if fact.span else None,
        origin=fact.origin,
        restates=fact.restates,
    )
    data |= _only(**{"from": fact.story_from, "to": fact.story_to})
    data |= {"durability": fact.durability} if fact.durability != "durable" else {}
    data |= {"change": fact.change} if fact.change != "unexplained" else {}
    data |= {"confidence": fact.confidence} if fact.confidence != 1 else {}
    data |= {"witnesses": list(fact.witnesses)} if fact.witnesses is not None else {}
    data |= {"step": fact.step} if fact.step is not None else {}
    if fact.closed is not None:
        data["closed"] = {
            "by": fact.closed.by, "scene": fact.closed.at.scene, "offset": fact.closed.at.offset,
            "reason": fact.closed.reason,
        }  # fmt: skip
    return data


def _only(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}
