"""A world as a file: JSON as it is exported, YAML or JSON as a person writes it.

Of a fact only subject and slot must be there::

    many: [owns]                       # slots that hold several values at a time
    entities:
      - name: Mara
        kind: character
        aliases: [the keeper]
    facts:
      - subject: Mara
        slot: eye colour
        value: grey
        durability: permanent          # or durable, transient
        scene: 2                       # where it is told; 0, before the story, if left out
        offset: 4                      # paragraph or character in the scene
        from: 1921-10-30               # story times between which it is true
        to: 1921-11-02
        witnesses: [Tobias]            # who learns of it; everybody if left out, [] nobody
        quote: her grey eyes
      - subject: Mara
        slot: owns
        value: the lamp
        denied: yes                    # she does not
        modality: reported             # author if left out; or asserted, believed, planned, hypothetical, dream
        source: Tobias                 # who says so
        about: [Jonas]                 # others that it concerns
        change: update                 # or explained, retcon: how the text accounts for what this replaces
        confidence: 0.8

In YAML every value is text, as in plans. What is wrong is reported all at once, with file, line, entry and field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.story.world.facts import Entity, Fact, Moment
from fabula.story.world.form import MAX_PROBLEMS, Form, entity_of, fact_of, scene_of, tree_of_json, tree_of_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.story.world.state import WorldState

MAX_BYTES: Final = 100_000_000
MAX_YAML_BYTES: Final = 4_000_000
FORMAT: Final = "fabula-world-1"
_TOP: Final = ("format", "many", "entities", "scenes", "facts")


@dataclass(frozen=True, slots=True)
class WorldFile:
    """What a file says; `learned` are pairs of a fact's place in `facts` and who learned of it when."""

    facts: tuple[Fact, ...] = ()
    entities: tuple[Entity, ...] = ()
    many: tuple[str, ...] = ()
    scenes: tuple[tuple[int, str], ...] = ()
    learned: tuple[tuple[int, str, Moment], ...] = ()

    def add_to(self, world: WorldState) -> None:
        """Put all of it into an empty world.

        Raises:
            UsageError: names contradict each other.
            ProjectError: the world cannot be written.
        """
        self.add_names_to(world)
        made = world.add(self.facts)
        for place, who, at in self.learned:
            world.learn(made[place].id, who, at)

    def add_names_to(self, world: WorldState) -> None:
        """Put all but the facts into a world.

        Raises:
            UsageError: names contradict each other.
            ProjectError: the world cannot be written.
        """
        world.hold_many(*self.many)
        world.describe(self.entities)
        for no, title in self.scenes:
            world.put_scene(no, title)


def read_world(path: Path) -> WorldFile:
    """The world in a file: JSON if its name ends in .json, else YAML.

    Raises:
        UsageError: the file cannot be read, is larger than 100 MB (YAML: 4 MB), or something in it is wrong; names all
            of it.
    """
    is_json = path.suffix.lower() == ".json"
    return parse_world(read_text(path, MAX_BYTES if is_json else MAX_YAML_BYTES), str(path), is_json=is_json)


def parse_world(text: str, where: str = "world.yaml", *, is_json: bool = False) -> WorldFile:
    """The world in a text; `where` is what messages call it.

    Raises:
        UsageError: something is wrong; a line for each, "FILE:LINE: fact 3 > scene: what, and what to do".
    """
    problems: list[str] = []
    root = (tree_of_json if is_json else tree_of_yaml)(text, where, problems)
    found = WorldFile() if root is None else _world(root)
    if problems:
        more = [f"{where}: More may be wrong; these are the first problems."] if len(problems) > MAX_PROBLEMS else []
        raise UsageError("\n".join([*problems[:MAX_PROBLEMS], *more]))
    return found


def _world(root: Form) -> WorldFile:
    root.only(_TOP)
    if (named := root.text("format", FORMAT)) != FORMAT:
        root.wrong("format", f"is {named[:40]!r}; this fabula reads {FORMAT}. Upgrade it, or leave the field out.")
    facts: list[Fact] = []
    learned: list[tuple[int, str, Moment]] = []
    for form in root.forms("facts", "fact"):
        learned += [
            (len(facts), one.text("who"), Moment(one.whole("scene"), one.whole("offset")))
            for one in form.forms("learned", "learned")
        ]
        facts.append(fact_of(form))
    entities = tuple(entity_of(form) for form in root.forms("entities", "entity"))
    scenes = tuple(scene_of(form) for form in root.forms("scenes", "scene"))
    return WorldFile(tuple(facts), entities, root.names("many") or (), scenes, tuple(learned))


def write_world(world: WorldState, facts: Sequence[Fact] | None = None) -> str:
    """The world, or some of its facts, as JSON that `read_world` reads back; what was withdrawn is left out."""
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
    """Who learned of a fact later, as plain data; nothing if nobody did."""
    data = [{"who": who, "scene": at.scene, "offset": at.offset} for who, at in world.learned(fact.id)]
    return {"learned": data} if data else {}


def fact_data(fact: Fact) -> dict[str, Any]:
    """A fact as plain data; fields that say nothing are left out."""
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
