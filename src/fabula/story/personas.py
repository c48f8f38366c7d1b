"""Personas and a goal, the input of MAGNET (section 3.2), as a YAML or TOML file that a person writes and edits.

::

    goal: Mara keeps the lamp burning until the last boat is home.
    goal_hidden_from: [the inspector]   # characters whose players are not shown the goal
    setting: A lighthouse on a bare cape, in the autumn of 1962. The lamp will go out in the second night.
    public_setting: A lighthouse on a bare cape, in the autumn of 1962.   # shown to players instead
    opening: the lamp room, on an evening in October
    begins: 1962-10-28 18:00     # story time of the opening, if the story has dates
    present: [Mara]              # characters at the opening; empty: all
    world_hidden_from: {lamp_lit: [the inspector]}   # who does not know which keys when the story begins
    world:                       # state of the world before the story begins; names of lower-case letters, digits and _
      lamp_lit: true
    personas:
      - name: Mara
        role: protagonist
        description: Keeper of the lighthouse, seventy, sparing with words.
        personality: [patient, stubborn]
        goals: [to see the boats home]
        abilities: [reads the weather]
        relationships: {Tobias: the boy who brings her bread}
        location: the lamp room
        fears: [the dark]
        secret: She let the lamp go out once.
        knows: Tobias saw it, and has never said so.
        believes: The last boat is still out.          # a false belief
        state: {tired: true}
        aliases: [the keeper]
        appearance: a tall old woman with a rope for a belt; few words, often numbers

`appearance` is what everyone notices and what the players of other characters are shown. `secret`, `knows` (about the
others) and `believes` are shown to the character's own player, to the critic of its actions, and to the narrator; only
the critic and the narrator are told that the belief is false. A persona's `state` is known only to the character itself
(in the paper, to all characters). A persona's location is known to everyone except the characters in
`world_hidden_from`: `mara_location: [Tobias]`. All fields except the name are optional; a list with one entry may be
written as a text.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from fabula.base.errors import PlanError
from fabula.base.files import read_text
from fabula.base.tomltext import parse
from fabula.story import one_line, slug
from fabula.story.plan import story_time
from fabula.story.sentences import as_sentence
from fabula.story.sheets import SheetProblem, checked_sheet, read_as, read_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pydantic import TypeAdapter

    from fabula.base.yamltext import Node
    from fabula.story.plan import Character, Plan

Scalar: TypeAlias = str | int | float | bool
KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_TEXT: Final = 4_000
MAX_PERSONAS: Final = 50
MAX_BYTES: Final = 2_000_000
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
_LISTS: Final = ("personality", "goals", "abilities", "fears", "aliases")


@dataclass(frozen=True, slots=True)
class Persona:
    """A character as its agent knows it (section 3.2 of MAGNET; fabula adds the fields from `fears` on).

    Attributes:
        appearance: what everyone who meets the character notices.
        secret: what the character hides.
        knows: what the character knows about the others when the story begins.
        believes: what the character wrongly believes when the story begins.
    """

    name: str
    description: str = ""
    role: str = ""
    personality: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()
    relationships: tuple[tuple[str, str], ...] = ()
    location: str = ""
    fears: tuple[str, ...] = ()
    state: tuple[tuple[str, Scalar], ...] = ()
    aliases: tuple[str, ...] = ()
    appearance: str = ""
    secret: str = ""
    knows: str = ""
    believes: str = ""

    @property
    def block(self) -> str:
        """The persona as its own player knows it: one text with the non-empty fields in a fixed order."""
        return self._as_text("Believes")

    @property
    def full(self) -> str:
        """The persona for roles that know everything, in which the belief is marked as false."""
        return self._as_text("Believes wrongly")

    def _as_text(self, belief: str) -> str:
        ties = "; ".join(f"{name}: {tie}" for name, tie in self.relationships)
        fields = [
            ("Name", ", also called ".join([self.name, ", ".join(self.aliases)]) if self.aliases else self.name),
            ("Role", self.role),
            ("Description", self.description),
            ("Personality", ", ".join(self.personality)),
            ("Goals", "; ".join(self.goals)),
            ("Abilities", ", ".join(self.abilities)),
            ("Fears", ", ".join(self.fears)),
            ("Relationships", ties),
            ("Location", self.location),
            ("Hides from the others", self.secret),
            ("Knows of the others", self.knows),
            (belief, self.believes),
        ]
        return "\n".join(f"{label}: {value}" for label, value in fields if value)

    @property
    def public(self) -> Persona:
        """The persona without its secret and without its knowledge and beliefs about the others."""
        return replace(self, secret="", knows="", believes="")

    @classmethod
    def of(cls, character: Character) -> Persona:
        """The persona for a character of a plan."""
        parts = [character.setup, f"Speaks: {character.speech}" if character.speech else ""]
        sheet = ", ".join(part for part in (character.gender, character.age) if part)
        return cls(
            one_line(character.name),
            description=" ".join(part for part in (f"{sheet}." if sheet else "", *parts) if part),
            role=character.role,
            personality=(one_line(character.personality),) if character.personality.strip() else (),
            goals=(character.goal,) if character.goal else (),
            appearance=_noticed(character),
            secret=character.secret,
            knows=character.knows,
        )


def _noticed(character: Character) -> str:
    """What anybody notices of a plan's character, in one text."""
    speech = character.speech and f"Way of speaking: {character.speech}"
    who = ", ".join(part for part in (character.gender, character.age) if part)
    return " ".join(as_sentence(part) for part in (who, character.personality, speech) if part)


@dataclass(frozen=True, slots=True)
class Personas:
    """The people of a story, the first goal, and the state of the world before the story begins.

    Attributes:
        setting: where and when the story takes place.
        public_setting: the part of the setting that everybody knows and that players are shown; if empty, `setting`.
        opening: the place and time at which the story begins, in a few words.
        begins: the story time of the opening ("1962-10-28 18:00"); empty if the story has no dates.
        present: the characters who are present at the opening and act first; if empty, all characters.
        world_hidden_from: keys of the initial world, with the characters who do not know them.
        goal_hidden_from: the characters who do not know the goal and whose players are not shown it.
    """

    goal: str
    people: tuple[Persona, ...]
    world: tuple[tuple[str, Scalar], ...] = ()
    setting: str = ""
    opening: str = ""
    goal_hidden_from: tuple[str, ...] = ()
    public_setting: str = ""
    present: tuple[str, ...] = ()
    world_hidden_from: tuple[tuple[str, tuple[str, ...]], ...] = ()
    begins: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all personas."""
        return tuple(persona.name for persona in self.people)

    @classmethod
    def of(cls, plan: Plan) -> Personas:
        """The personas for a plan: its characters without the groups, and its central conflict as the first goal."""
        people = [character for character in plan.characters if not character.group] or list(plan.characters)
        first = " ".join(event.text for event in plan.scenes[0].outline) if plan.scenes else ""
        return cls(plan.conflict or first, tuple(map(Persona.of, people)), setting=plan.setting)


def parse_personas(text: str, where: str = "plan/personas.yaml") -> Personas:
    """The personas in a YAML file.

    Raises:
        PlanError: the file has problems; the message lists them all as "FILE:LINE: field: problem and remedy".
    """
    return read_sheet(text, where, "personas", _reader().validate_python, _checked)


def read_personas(path: Path) -> tuple[Personas, str]:
    """The personas in a YAML or TOML file (depending on its suffix), and the text of the file as YAML.

    Raises:
        UsageError: the file cannot be read.
        PlanError: the file has problems; the message lists them all.
    """
    text = read_text(path, MAX_BYTES, kind="personas (a YAML or TOML file)")
    if path.suffix != ".toml":
        return parse_personas(text, str(path)), text
    try:
        data = parse(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError([f"{path}: personas: {error}. Correct that line."]) from error
    found = checked_sheet(_texts(data), str(path), "personas", _reader().validate_python, _checked)
    return found, write_personas(found)


def _texts(data: object) -> object:
    """TOML's data with numbers and truth values as the texts that a YAML file would have."""
    if isinstance(data, dict):
        return {key: _texts(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_texts(value) for value in data]
    return str(data).lower() if isinstance(data, bool) else str(data)


def _checked(found: Personas) -> list[SheetProblem]:
    twice = [name for name, count in Counter(map(slug, found.names)).items() if count > 1]
    problems = [SheetProblem((), f"Two personas are called {twice[0]!r}. Rename one of them.")] if twice else []
    if found.begins and story_time(found.begins) is None:
        what = f"{found.begins[:40]!r} is not a story time. Use a number, or a date such as 1921-05-03 14:30."
        problems.append(SheetProblem(("begins",), what))
    return problems


def write_personas(start: Personas) -> str:
    """The personas as YAML that `parse_personas` can read; empty fields are left out."""
    from fabula.base import yamltext  # noqa: PLC0415 - keeps `fabula --help` fast
    from fabula.base.yamltext import Items, MappingPairs, ScalarText  # noqa: PLC0415 - keeps `fabula --help` fast

    def node(value: object) -> Node:
        if isinstance(value, tuple) and value and isinstance(value[0], tuple):
            return MappingPairs(tuple((ScalarText(str(key)), node(item)) for key, item in value))
        if isinstance(value, tuple):
            return Items(tuple(node(item) for item in value))
        return ScalarText(str(value).lower() if isinstance(value, bool) else str(value))

    def sheet(pairs: Iterable[tuple[str, object]]) -> MappingPairs:
        return MappingPairs(tuple((ScalarText(key), node(value)) for key, value in pairs if value not in ("", ())))

    personas = Items(tuple(sheet((field, getattr(p, field)) for field in Persona.__slots__) for p in start.people))
    first = [
        ("goal", start.goal),
        ("goal_hidden_from", start.goal_hidden_from),
        ("setting", start.setting),
        ("public_setting", start.public_setting),
        ("opening", start.opening),
        ("begins", start.begins),
        ("present", start.present),
        ("world_hidden_from", start.world_hidden_from),
        ("world", start.world),
    ]
    top = (*sheet(first).pairs, (ScalarText("personas"), personas))
    return yamltext.write(MappingPairs(top))


# reading ------------------------------------------------------------------------------------------------------------


def scalar(text: object) -> Scalar:
    """The value that a text represents: true, false, a number, or the text itself on one line."""
    if isinstance(text, bool | int | float):
        return text
    line = one_line(str(text))
    if line.casefold() in ("true", "false"):
        return line.casefold() == "true"
    if _NUMBER.fullmatch(line):
        return float(line) if "." in line else int(line)
    return line[:MAX_TEXT]


@cache
def _reader() -> TypeAdapter[Personas]:
    """Checks plain data and makes a `Personas` of it."""
    from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter  # noqa: PLC0415 - keeps `fabula --help` fast

    text = Annotated[str, Field(max_length=MAX_TEXT)]
    line = Annotated[text, AfterValidator(one_line)]
    one_or_more = BeforeValidator(lambda v: [v] if isinstance(v, str) and v else v or [])
    listed = Annotated[tuple[text, ...], one_or_more]
    lines = Annotated[tuple[line, ...], one_or_more]
    key = Annotated[str, Field(pattern=f"^{KEY.pattern}$")]
    none, pairs = BeforeValidator(lambda v: v or {}), AfterValidator(lambda found: tuple(found.items()))
    values = Annotated[dict[key, Annotated[text, AfterValidator(scalar)]], none, pairs]
    persona: Any = read_as(
        Persona,
        text,
        name=Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)],
        role=line,
        location=line,
        relationships=Annotated[dict[str, text], none, pairs],
        state=values,
        **dict.fromkeys(_LISTS, listed),
    )
    return TypeAdapter(
        read_as(
            Personas,
            text,
            goal=(text, ""),
            people=Annotated[
                tuple[persona, ...],
                Field(min_length=1, max_length=MAX_PERSONAS, validation_alias="personas"),
            ],
            world=values,
            opening=line,
            goal_hidden_from=lines,
            present=lines,
            world_hidden_from=Annotated[dict[key, lines], none, pairs],
            begins=line,
        )
    )
