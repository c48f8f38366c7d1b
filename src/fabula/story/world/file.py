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
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.story.world.facts import MAX_NAME, MAX_SCENE, Entity, Fact, Moment, from_json, problems_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabula.base.yamltext import Node
    from fabula.story.world.meaning import Value
    from fabula.story.world.state import WorldState

MAX_BYTES: Final = 100_000_000
MAX_YAML_BYTES: Final = 4_000_000
FORMAT: Final = "fabula-world-1"
_TOP: Final = ("format", "many", "entities", "scenes", "facts")
MAX_PROBLEMS: Final = 50
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_YES_NO: Final = {"yes": True, "true": True, "no": False, "false": False}
_FACT: Final = (
    "id", "subject", "slot", "value", "denied", "modality", "source", "scene", "offset", "from", "to", "durability",
    "witnesses", "about", "quote", "span", "confidence", "change", "step", "origin", "restates", "closed", "learned",
)  # fmt: skip
_Plain: TypeAlias = Any  # what JSON gives


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
    problems: list[str] = []
    root = (_tree_of_json if is_json else _tree_of_yaml)(text, where, problems)
    found = WorldFile() if root is None else _world(root)
    if problems:
        more = (
            [(f"{where}: These are only the first problems. There may be more.")]
            if len(problems) > MAX_PROBLEMS
            else []
        )
        raise UsageError("\n".join([*problems[:MAX_PROBLEMS], *more]))
    return found


def _world(root: _Form) -> WorldFile:
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
        facts.append(_fact_of(form))
    entities = tuple(_entity_of(form) for form in root.forms("entities", "entity"))
    scenes = tuple(_scene_of(form) for form in root.forms("scenes", "scene"))
    return WorldFile(tuple(facts), entities, root.names("many") or (), scenes, tuple(learned))


# entries of a file: every field by its kind, every problem with its place ---------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """A mapping of a file: its fields, and where to report what is wrong with them.

    Attributes:
        file: what messages call the file.
        name: of the entry, such as "fact 3"; empty for the whole file.
        line: counted from 1; 0 where it is not known.
        lines: those of the fields.
    """

    file: str
    name: str
    line: int
    fields: dict[str, _Plain]
    lines: dict[str, int]
    problems: list[str]

    def wrong(self, field: str, what: str) -> None:
        """Record a problem with a field."""
        line = self.lines.get(field, self.line)
        place = f"{self.file}:{line}" if line else self.file
        self.problems.append(f"{place}: {f'{self.name} > ' if self.name else ''}{field}: {what}")

    def only(self, known: Sequence[str]) -> None:
        """Record unknown fields as problems."""
        for field in self.fields:
            if field not in known:
                self.wrong(field[:40], f"is no field of this entry. Known: {', '.join(known)}.")

    def text(self, field: str, default: str = "") -> str:
        """A text; a number is converted to its digits."""
        value = self.fields.get(field)
        if value is None or value == "":
            return default
        if isinstance(value, (dict, list, bool)):
            self.wrong(field, "is not text. Write one.")
            return default
        return str(value)

    def whole(self, field: str, default: int = 0, most: int = MAX_SCENE) -> int:
        """A whole number that is not negative."""
        text = self.text(field, str(default)).strip()
        if not _WHOLE.fullmatch(text) or int(text) > most:
            self.wrong(field, f"is {text[:40]!r}. Give a whole number from 0 to {most:,}.")
            return default
        return int(text)

    def real(self, field: str, default: float) -> float:
        """A number."""
        text = self.text(field, str(default))
        try:
            return float(text)
        except ValueError:
            self.wrong(field, f"is {text[:40]!r}. Give a number, such as 0.8.")
            return default

    def flag(self, field: str) -> bool:
        """A Boolean written as yes or no; no if it is left out."""
        value = self.fields.get(field)
        answer = value if isinstance(value, bool) else _YES_NO.get(self.text(field, "no").casefold())
        if answer is None:
            self.wrong(field, f"is {str(value)[:40]!r}. Write yes or no.")
        return bool(answer)

    def names(self, field: str) -> tuple[str, ...] | None:
        """A list of names, which may be given as a single name; `None` if it is left out."""
        value = self.fields.get(field)
        if value is None or value == "":
            return None
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, (str, int)) and str(item).strip() for item in items):
            self.wrong(field, "is not a list of names. Write [Mara, Tobias], or one name.")
            return None
        return tuple(str(item) for item in items)

    def span(self) -> tuple[int, int] | None:
        """A pair of positions in a text."""
        ends = self.names("span")
        if ends is None:
            return None
        if len(ends) != 2 or not all(_WHOLE.fullmatch(end) for end in ends):  # noqa: PLR2004 - a beginning and an end
            self.wrong("span", "is no pair of numbers. Write [120, 145].")
            return None
        return int(ends[0]), int(ends[1])

    def forms(self, field: str, name: str) -> Iterator[_Form]:
        """The mappings in a list."""
        value = self.fields.get(field)
        if value is None or value == "":
            return
        if not isinstance(value, list):
            self.wrong(field, "is not a list. Begin every entry with '- '.")
            return
        for number, item in enumerate(value, 1):
            entry = f"{self.name} > {name} {number}" if self.name else f"{name} {number}"
            if isinstance(item, _Mapping):
                yield _Form(self.file, entry, item.line, item.fields, item.lines, self.problems)
            elif isinstance(item, dict):
                yield _Form(self.file, entry, 0, item, {}, self.problems)
            else:
                self.wrong(field, f"{name} {number} is not a mapping. Write its fields, such as 'subject: Mara'.")
            if len(self.problems) > MAX_PROBLEMS:
                return


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A mapping of a YAML file, with its lines."""

    fields: dict[str, _Plain]
    lines: dict[str, int]
    line: int


def _fact_of(form: _Form) -> Fact:
    """The fact of an entry; what is wrong with it is noted."""
    before = len(form.problems)
    form.only(_FACT)
    fact = Fact(
        form.text("subject"),
        form.text("slot"),
        _value(form),
        Moment(form.whole("scene"), form.whole("offset", most=2**53 - 2)),
        not form.flag("denied"),
        form.text("modality", "author"),  # type: ignore[arg-type]  # checked below
        form.text("source"),
        form.text("durability", "durable"),  # type: ignore[arg-type]  # checked below
        form.names("witnesses"),
        form.names("about") or (),
        form.text("from"),
        form.text("to"),
        form.text("quote"),
        form.span(),
        form.real("confidence", 1.0),
        form.text("change", "unexplained"),  # type: ignore[arg-type]  # checked below
        form.whole("step", most=10**12) if "step" in form.fields else None,
        form.text("origin"),
    )
    if len(form.problems) == before:
        for field, what in problems_of(fact):
            form.wrong(field, what)
    return fact


def _value(form: _Form) -> Value:
    value = form.fields.get("value")
    if isinstance(value, _Mapping):
        form.wrong("value", "is a mapping. Write a text, or a list of texts.")
        return None
    try:
        return from_json(None if value == "" and form.lines else value)
    except UsageError as error:
        form.wrong("value", f"cannot stand. {error}")
        return None


def _entity_of(form: _Form) -> Entity:
    """The entity of an entry; what is wrong with it is noted."""
    form.only(("name", "kind", "aliases", "scene"))
    name, kind, aliases = form.text("name"), form.text("kind"), form.names("aliases") or ()
    if not name.strip():
        form.wrong("name", "is missing. Give it.")
    if max(len(text) for text in (name, kind, *aliases)) > MAX_NAME:
        form.wrong("name", f"or kind or an alias is longer than {MAX_NAME} characters. Shorten it.")
    return Entity(name, kind, aliases, form.whole("scene"))


def _scene_of(form: _Form) -> tuple[int, str]:
    """Number and title of a scene; what is wrong is noted."""
    form.only(("no", "title"))
    return form.whole("no"), form.text("title")[:MAX_NAME]


def _tree_of_json(text: str, where: str, problems: list[str]) -> _Form | None:
    """The whole of a JSON file."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        root = json.loads(text, parse_constant=refuse)
    except RecursionError:
        problems.append(f"{where}: This is nested too deeply. Use fewer levels.")
        return None
    except ValueError as error:
        problems.append(
            f"{where}: This is not valid JSON ({error}). Use a file that `fabula world --export json` wrote."
        )
        return None
    if not isinstance(root, dict):
        problems.append(f"{where}: A mapping with 'facts' is expected here. See `fabula world --export json`.")
        return None
    return _Form(where, "", 0, root, {}, problems)


def _tree_of_yaml(text: str, where: str, problems: list[str]) -> _Form | None:
    """The whole of a YAML file."""
    from fabula.base import yamltext  # noqa: PLC0415 - PyYAML is slow to import, and few commands need it

    try:
        node, refused = yamltext.read(text)
    except yamltext.YamlError as error:
        problems.append(f"{where}:{error.line}: {error}")
        return None
    problems += [f"{where}:{line}: {what}" for line, what in refused]
    root = None if node is None else _plain(node, where, problems)
    if not isinstance(root, _Mapping):
        if not problems:
            problems.append(f"{where}: A mapping with 'facts:' is expected here. See docs/how-to/world.md.")
        return None
    return _Form(where, "", root.line, root.fields, root.lines, problems)


def _plain(node: Node, where: str, problems: list[str]) -> _Plain:
    """A YAML tree as texts, lists and mappings; a key that comes twice is noted."""
    from fabula.base import yamltext  # noqa: PLC0415 - keeps `fabula --help` fast

    if isinstance(node, yamltext.Items):
        return [_plain(item, where, problems) for item in node.items]
    if not isinstance(node, yamltext.MappingPairs):
        return node.value if isinstance(node, yamltext.ScalarText) else ""
    found = _Mapping({}, {}, node.line)
    for key, value in node.pairs:
        if key.value in found.fields:
            problems.append(f"{where}:{key.line}: {key.value[:40]!r} appears twice. Keep only one.")
        found.fields[key.value], found.lines[key.value] = _plain(value, where, problems), key.line
    return found


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
