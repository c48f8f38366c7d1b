"""The codex of a story: what the author sets down about people, places, things and rules (`plan/codex.yaml`).

::

    entries:
    - name: Mara Quist
      kind: person                 # or place, thing, rule
      aliases: [the keeper, Mara]  # as the story spells them, in every form that its language has
      description: Keeper of the light, seventy, sparing with words.   # what everybody may know
      facts: {eye colour: grey}    # so before the story begins; texts that say otherwise are contradictions
      secret: She let the lamp go out once.
      known_to: [Mara, Tobias]     # who knows the secret when the story begins; by default only Mara
      notes: Make her older?       # for the author; no model ever sees them
    left_out: [Harbour]            # names that the codex does not show

All fields except the name are optional. A secret is given only to a role that plays somebody who knows it, and to a
writer of prose only where somebody is present who does.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from fabula.base.errors import PlanError
from fabula.base.files import read_text
from fabula.base.kept import of_text
from fabula.base.remembering import remembered
from fabula.story.people import NameFinder, among, called, strangers
from fabula.story.sentences import as_sentence
from fabula.story.sheets import SheetProblem, read_as, read_sheet
from fabula.story.story import one_line
from fabula.story.world.facts import Entity, Fact
from fabula.story.world.file import WorldFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pydantic import TypeAdapter

    from fabula.base.yamltext import Node
    from fabula.story.plan import Character, Plan, ScenePlan

Kind: TypeAlias = Literal["person", "place", "thing", "rule"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FILE: Final = "plan/codex.yaml"
SECRET: Final = "secret"  # noqa: S105 - of a character
"""The slot of the fact that holds an entry's secret."""
MAX_NAME: Final = 200
MAX_TEXT: Final = 4_000
MAX_ENTRIES: Final = 2_000
MAX_BYTES: Final = 2_000_000
_LEAST: Final = 20  # of room, without which nothing more is given
_IN_WORLD: Final = {"person": "character", "place": "location", "thing": "object", "rule": "rule"}
_HEAD: Final = "# The codex of this story. `fabula codex set --help` names the fields; no model ever sees `notes`.\n"


@dataclass(frozen=True, slots=True)
class CodexEntry:
    """What the author has set down about a person, place, thing or rule.

    Attributes:
        aliases: other names, as the story spells them.
        description: what everybody in the story may know.
        facts: properties and their values before the story begins, which everybody may know.
        secret: what only those in `known_to` know.
        known_to: who knows the secret when the story begins; if empty, only the person whose entry it is.
        notes: the author's own notes, which no model sees.
    """

    name: str
    kind: Kind = "person"
    aliases: tuple[str, ...] = ()
    description: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    secret: str = ""
    known_to: tuple[str, ...] = ()
    notes: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    @property
    def open(self) -> str:
        """What everybody may know, in sentences; empty if nothing is set down."""
        return " ".join(map(as_sentence, filter(None, (self.description, *(f"{s}: {v}" for s, v in self.facts)))))

    @property
    def knowing(self) -> tuple[str, ...]:
        """Who knows the secret when the story begins: those in `known_to`; without it, the person it is about."""
        return self.known_to or ((self.name,) if self.kind == "person" else ())

    def known_by(self, name: str) -> bool:
        """Whether a character knows the secret when the story begins."""
        return among(name, self.knowing) is not None

    def of(self, who: str) -> CodexEntry:
        """The entry as a character knows it: without notes, and with the secret only if the character knows it."""
        return replace(self, notes="") if self.known_by(who) else replace(self, notes="", secret="", known_to=())

    def saying(self, *said: str) -> str:
        """What is said of the entry, behind all its names; empty if nothing is."""
        text = " ".join(filter(None, said))
        return f"{', also '.join(self.names)}: {text}" if text else ""

    def beside(self, prompt: str, here: Iterable[str]) -> str:
        """What the entry says to a writer if `here` are present, except what the prompt says; empty if that is all."""
        hidden = self.secret and self.secret not in prompt
        who = ", ".join(name for name in here if hidden and self.known_by(name))
        secret = f"A secret that nobody present knows but {who}: {as_sentence(self.secret)}" if who else ""
        return self.saying("" if self.open in prompt else self.open, secret)


@dataclass(frozen=True, slots=True)
class Codex:
    """The author's entries, and the names that the codex does not show."""

    entries: tuple[CodexEntry, ...] = ()
    left_out: tuple[str, ...] = ()

    def find(self, name: str) -> CodexEntry | None:
        """The entry with that name or alias, whatever its case."""
        key = name.casefold()
        return next((one for one in self.entries if key in map(str.casefold, one.names)), None)

    def named(self, text: str) -> dict[str, int]:
        """The names of the entries that a text names, each with the last place where it does."""
        return {place.name: place.start for place in _finder(self.entries).find(text)}

    def of(self, texts: Iterable[str], people: Iterable[str] = ()) -> tuple[CodexEntry, ...]:
        """The entries that texts name, and those of people."""
        who, named = list(people), self.named("\n\n".join(texts))
        return tuple(
            one
            for one in self.entries
            if one.name in named or (one.kind == "person" and any(among(name, one.names) for name in who))
        )

    def told(self, who: str, texts: Iterable[str], people: Iterable[str]) -> tuple[str, ...]:
        """What a character may know of those who are present, and of what texts name, an entry in each text."""
        found = ((one.name, one.open, as_sentence(one.of(who).secret)) for one in self.of(texts, people))
        return tuple(f"{name}: {' '.join(filter(None, said))}" for name, *said in found if any(said))

    def told_to_writer(
        self, prompt: str, present: Iterable[str], most: int, size: Callable[[str], int] = len
    ) -> tuple[str, ...]:
        """What a writer of prose is given beside a prompt, an entry in each text; nothing that the prompt already says.

        These are the rules, the people who are `present`, and what the prompt names. If their `size` is more than
        `most` together, those count that the prompt names last. A secret is given only if somebody who is present
        knows it.
        """
        here = tuple(dict.fromkeys(filter(None, map(self._meant, present))))
        places = self.named(prompt) | {one.name: len(prompt) for one in self.entries if one.kind == "rule"}
        places |= dict.fromkeys(here, len(prompt))
        kept = dict[str, str]()
        for one in sorted((one for one in self.entries if one.name in places), key=lambda one: -places[one.name]):
            if most > _LEAST and (said := one.beside(prompt, here)) and size(said) <= most:
                kept[one.name] = said
                most -= size(said)
        return tuple(kept[one.name] for one in self.entries if one.name in kept)

    def _meant(self, name: str) -> str:
        """The name of the entry of a person; the name itself if no entry is meant, nothing if several may be."""
        if (one := self.find(name)) is not None:
            return one.name
        people = [one.name for one in self.entries if one.kind == "person"]
        return among(name, people) or "".join(strangers((name,), people))

    @property
    def statements(self) -> str:
        """All that the entries say, secrets too, for somebody who looks for contradictions: a paragraph for each."""
        return "\n\n".join(filter(None, (one.saying(one.open, as_sentence(one.secret)) for one in self.entries)))

    @property
    def world(self) -> WorldFile:
        """The entries as names and facts of a world; secrets are facts whose witnesses know them."""
        facts = [Fact(one.name, slot, value, modality="author", origin=FILE) for one in self.entries
                 for slot, value in one.facts]  # fmt: skip
        facts += [Fact(one.name, SECRET, one.secret, modality="author", witnesses=one.knowing, origin=FILE)
                  for one in self.entries if one.secret]  # fmt: skip
        entities = tuple(Entity(one.name, _IN_WORLD[one.kind], one.aliases) for one in self.entries)
        return WorldFile(tuple(facts), entities, many=(SECRET,) if any(one.secret for one in self.entries) else ())


@remembered(4)
def _finder(entries: tuple[CodexEntry, ...]) -> NameFinder:
    return NameFinder(mentioned_by((one.name, one.kind, one.aliases) for one in entries))


def mentioned_by(entries: Iterable[tuple[str, str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """The names by which texts mention entries with these names, kinds and aliases: of a person, parts of names too."""
    found = list(entries)
    people = called({name: aliases for name, kind, aliases in found if kind == "person"})
    return {name: people.get(name, (name, *aliases)) for name, _, aliases in found}


# in a plan ----------------------------------------------------------------------------------------------------------


def with_codex(plan: Plan, codex: Codex) -> Plan:
    """A plan with what the codex says, for those who may know it; unchanged if the codex is empty.

    What everybody may know of a rule belongs to the setting; of a person, to their sheet; of a place or thing, to the
    place of the scenes that name it. A secret belongs to the sheets of those who know it, and to nothing else.
    """
    if not codex.entries:
        return plan
    rules = [one.open for one in codex.entries if one.kind == "rule" and one.open]
    setting = " ".join((plan.setting, *rules)).strip() if rules else plan.setting
    people = tuple(_with_knowledge(one, codex) for one in plan.characters)
    return replace(
        plan, setting=setting, characters=people, scenes=tuple(_with_things(one, codex) for one in plan.scenes)
    )


def _with_knowledge(character: Character, codex: Codex) -> Character:
    """A character's sheet with what the codex says about the character, and the secrets that the character knows."""
    own = next((one for one in codex.of((), (character.name,))), None)
    known = [
        f"{one.name}: {as_sentence(one.secret)}"
        for one in codex.entries
        if one.secret and one is not own and one.known_by(character.name)
    ]
    return replace(
        character,
        setup=_joined(character.setup, own.open if own else ""),
        secret=_joined(character.secret, own.secret if own and own.known_by(own.name) else ""),
        knows=_joined(character.knows, " ".join(known)),
    )


def _with_things(scene: ScenePlan, codex: Codex) -> ScenePlan:
    """A scene whose place says what everybody may know of the places and things that the scene names."""
    named = codex.of((scene.place, *(event.text for event in scene.outline), *(one.place for one in scene.outline)))
    here = [f"{one.name}: {one.open}" for one in named if one.kind in ("place", "thing") and one.open]
    return replace(scene, place=_joined(scene.place, " ".join(here))) if here else scene


def _joined(text: str, more: str) -> str:
    return text if not more or more in text else " ".join((as_sentence(text), more)) if text else more


# the file -----------------------------------------------------------------------------------------------------------


def codex_in(folder: Path) -> Codex:
    """What the author of a project has set down; empty without the file.

    Raises:
        PlanError: the file has problems.
        UsageError: the file cannot be read.
    """
    file = folder / FILE
    return parse_codex(read_text(file, MAX_BYTES)) if file.is_file() else Codex()


def parse_codex(text: str, where: str = FILE, *, proposed: bool = False) -> Codex:
    """The codex in a YAML text; where a model `proposed` the entries, two of them may have a name in common.

    Raises:
        PlanError: the text has problems; the message lists them all as "FILE:LINE: field: problem and remedy".
    """
    checks = (lambda _: []) if proposed else _checked
    return of_text(
        f"codex {where} {proposed}",
        text,
        lambda text: _known_by_name(read_sheet(text, where, "codex", _reader().validate_python, checks, _known)),
    )


def _known_by_name(codex: Codex) -> Codex:
    """The codex with the entries' names in place of aliases in `known_to`."""
    names = {alias.casefold(): one.name for one in codex.entries for alias in one.aliases}
    return replace(
        codex,
        entries=tuple(
            replace(one, known_to=tuple(names.get(who.casefold(), who) for who in one.known_to))
            if one.known_to
            else one
            for one in codex.entries
        ),
    )


def _known(place: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(CodexEntry if place else Codex))


def _checked(codex: Codex) -> list[SheetProblem]:
    found, taken = list[SheetProblem](), dict[str, tuple[int, str]]()
    for number, one in enumerate(codex.entries):
        for name in one.names:
            other, whose = taken.setdefault(name.casefold(), (number, one.name))
            if other != number:
                what = f"{name!r} is also a name of entry {whose!r}. Rename one of them, or join them."
                found.append(SheetProblem(("entries", number, "name" if name == one.name else "aliases"), what))
    return found


@cache
def _reader() -> TypeAdapter[Codex]:
    """Checks plain data and makes a `Codex` of it."""
    from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter  # noqa: PLC0415 - keeps `fabula --help` fast

    text = Annotated[str, Field(max_length=MAX_TEXT)]
    name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(one_line)]
    one_or_more = BeforeValidator(lambda value: [value] if isinstance(value, str) and value else value or [])
    names = Annotated[tuple[name, ...], one_or_more]
    facts = Annotated[
        dict[name, Annotated[text, AfterValidator(one_line)]],
        BeforeValidator(lambda value: value or {}),
        AfterValidator(lambda found: tuple(found.items())),
    ]
    entry: Any = read_as(CodexEntry, text, name=name, kind=Kind, aliases=names, facts=(facts, ()), known_to=names)
    listed = BeforeValidator(lambda value: value or [])
    entries = Annotated[tuple[entry, ...], listed, Field(max_length=MAX_ENTRIES)]
    return TypeAdapter(read_as(Codex, text, entries=(entries, ()), left_out=names))


def changed_codex(text: str, name: str, entry: CodexEntry | None) -> str:
    """A codex's text with `entry` in place of the entry with that name, or without it; new entries come last.

    All other lines stay as their author wrote them.

    Raises:
        PlanError: the text has problems.
    """
    codex = parse_codex(text) if text.strip() else Codex()
    was = next((one for one in codex.entries if one.name.casefold() == name.casefold()), None)
    wanted = replace(
        codex,
        entries=tuple(filter(None, (entry if one is was else one for one in codex.entries)))
        + ((entry,) if entry and was is None else ()),
    )
    return _spliced(text, codex, was, entry, wanted) or write_codex(wanted)


def changed_left_out(text: str, names: Iterable[str]) -> str:
    """A codex's text with these names left out.

    Raises:
        PlanError: the text has problems.
    """
    codex = parse_codex(text) if text.strip() else Codex()
    wanted = replace(codex, left_out=tuple(dict.fromkeys(names)))
    head = [line for line in text.splitlines() if not line.startswith("left_out:")]
    said = _yaml([("left_out", wanted.left_out)]) if wanted.left_out else ""
    return _if_right("\n".join((*head, said)), wanted) or write_codex(wanted)


def _spliced(text: str, codex: Codex, was: CodexEntry | None, entry: CodexEntry | None, wanted: Codex) -> str:
    """The text with only the lines of one entry changed; empty if its form is not one that this can be done with."""
    lines, starts = text.splitlines(), list(_starts(text))
    if len(starts) != len(codex.entries) or not starts:
        return ""
    if any(not lines[at - 1].lstrip().startswith("- ") for at in starts) or len(set(starts)) < len(starts):
        return ""
    ends = [*starts[1:], next((n for n, line in enumerate(lines, 1) if n > starts[-1] and line[:1].isalpha()), 0)]
    place = codex.entries.index(was) if was is not None else len(starts) - 1
    first, last = starts[place] - 1, (ends[place] or len(lines) + 1) - 1
    while last > first and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    blanks = " " * (len(lines[first]) - len(lines[first].lstrip()))
    new = indent(dedent(_yaml([("entries", (entry,))]).partition("\n")[2]), blanks).splitlines() if entry else []
    lines[first if was is not None else last : last] = new
    return _if_right("\n".join(lines), wanted)


def _if_right(text: str, wanted: Codex) -> str:
    """The text if it says what is wanted, with a line end; otherwise an empty text."""
    try:
        return text.rstrip("\n") + "\n" if parse_codex(text) == wanted else ""
    except PlanError:
        return ""


def _starts(text: str) -> Iterator[int]:
    """The lines in which entries begin, from 1."""
    from fabula.base.yamltext import Items, MappingPairs, read  # noqa: PLC0415 - keeps `fabula --help` fast

    node = read(text)[0] if text.strip() else None
    if isinstance(node, MappingPairs):
        for key, value in node.pairs:
            if key.value == "entries" and isinstance(value, Items):
                yield from (item.line for item in value.items)


def write_codex(codex: Codex) -> str:
    """The codex as YAML that `parse_codex` can read; empty fields are left out."""
    parts: list[tuple[str, object]] = [("entries", codex.entries)] if codex.entries else []
    parts += [("left_out", codex.left_out)] if codex.left_out else []
    return _HEAD + (_yaml(parts) if parts else "entries:\n")


def _yaml(parts: Sequence[tuple[str, object]]) -> str:
    from fabula.base.yamltext import Items, MappingPairs, ScalarText, write  # noqa: PLC0415 - keeps `fabula --help` fast

    def node(value: object) -> Node:
        if isinstance(value, CodexEntry):
            found = ((one.name, getattr(value, one.name)) for one in fields(value))
            return MappingPairs(tuple((ScalarText(name), node(of)) for name, of in found if of not in ("", ())))
        if isinstance(value, tuple) and value and isinstance(value[0], tuple):
            return MappingPairs(tuple((ScalarText(str(key)), node(of)) for key, of in value))
        if isinstance(value, tuple):
            return Items(tuple(map(node, value)))
        return ScalarText(str(value))

    return write(MappingPairs(tuple((ScalarText(name), node(value)) for name, value in parts)))
