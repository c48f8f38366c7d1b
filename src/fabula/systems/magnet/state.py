"""The world state W (section 3.3): variables that committed actions overwrite, and every write there was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.craft.packing import overlap, words
from fabula.craft.personas import KEY, Scalar, key_of, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.craft.personas import Company, Persona

RESERVED: Final = frozenset(
    ("turn", "characters", "story_id", "current_goal", "goal_history", "goal_domain", "goal_completed")
)
AUTHOR: Final = "author"
_ALIKE: Final = 0.6  # share of common words in two keys, from which on they may mean one thing
_MEMORY: Final = 20  # steps over which a variable's age counts


@dataclass(frozen=True, slots=True)
class Update:
    """What an action changes: a variable, its new value, and whom it concerns."""

    key: str
    value: Scalar
    about: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.key} = {_shown(self.value)}"


@dataclass(frozen=True, slots=True)
class Variable:
    """A state variable as it stands: its value, the step and the character that wrote it, whom it concerns."""

    key: str
    value: Scalar
    step: int
    actor: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key} = {_shown(self.value)}"


@dataclass(frozen=True, slots=True)
class Write:
    """One write; `old` is `None` for an inserted key."""

    key: str
    old: Scalar | None
    new: Scalar
    step: int
    actor: str
    about: tuple[str, ...] = ()


@dataclass
class World:
    """W: the flat view in the order of insertion, and the writes that led to it.

    The graph of section 3.3 is another view of the same: `world`, its characters, its variables, and an edge from each
    variable to every character it concerns.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)

    @classmethod
    def of(cls, company: Company) -> World:
        """The world before the story: the author's variables, and each persona's state with the name before its key."""
        world = cls()
        world.commit(
            0, AUTHOR, [Update(key, value, _named(key, value, company.personas)) for key, value in company.world]
        )
        for persona in company.personas:
            own = [Update(key_of(f"{persona.name}_{key}"), value, (persona.name,)) for key, value in persona.state]
            world.commit(0, AUTHOR, own)
        return world

    @property
    def flat(self) -> dict[str, Scalar]:
        """Keys and values, as agents see them."""
        return {key: variable.value for key, variable in self.variables.items()}

    def commit(self, step: int, actor: str, updates: Iterable[Update]) -> list[str]:
        """Write `updates` one after the other: a new key is inserted, an existing one overwritten.

        Returns:
            Remarks: refused keys, a value written twice in one step, a key much like another one.
        """
        remarks = []
        for update in updates:
            if update.key in RESERVED or not KEY.fullmatch(update.key):
                remarks.append(f"{actor} may not write {update.key!r}; dropped.")
                continue
            old = self.variables.get(update.key)
            if old is None and (near := self.near(update.key)):
                remarks.append(f"{update.key!r} is much like {near!r}, which is there already.")
            elif old is not None and old.step == step and old.value != update.value:
                remarks.append(f"{update.key!r} is written twice in step {step}; {_shown(update.value)} stands.")
            self._write(Write(update.key, old.value if old else None, update.value, step, actor, update.about))
        return remarks

    def _write(self, write: Write) -> None:
        self.writes.append(write)
        known = self.variables.get(write.key)
        about = tuple(dict.fromkeys((*(known.about if known else ()), *write.about)))
        self.variables[write.key] = Variable(write.key, write.new, write.step, write.actor, about)

    def at(self, step: int) -> World:
        """The world as it stood after `step`, rebuilt from its writes."""
        world = World()
        for write in self.writes:
            if write.step <= step:
                world._write(write)
        return world

    def near(self, key: str) -> str:
        """An existing key that may mean the same as `key`; empty if there is none."""
        parts = set(key.split("_"))
        for known in self.variables:
            if known != key and overlap(parts, set(known.split("_"))) >= _ALIKE:
                return known
        return ""

    def of_character(self, persona: Persona, goal: str, step: int, most: int) -> list[Variable]:
        """W_c: at most `most` variables that matter to one character, those that matter most first.

        Three points for a variable about the character, two for its name in key or value, one for a variable about
        somebody it has a tie with, one for a word of the goal, and up to one for a late write.
        """
        return sorted(self.variables.values(), key=_relevance(persona, goal, step))[:most]

    def latest(self, goal: str, step: int, most: int) -> list[Variable]:
        """At most `most` variables that matter to everybody now, in the order of insertion."""
        chosen = set(map(id, sorted(self.variables.values(), key=_relevance(None, goal, step))[:most]))
        return [variable for variable in self.variables.values() if id(variable) in chosen]


def _relevance(persona: Persona | None, goal: str, step: int):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a sort key
    aims = words(goal)
    names = (persona.name, *persona.aliases) if persona else ()
    ties = {name for name, _ in persona.relationships} if persona else set()

    def points(variable: Variable) -> tuple[float, int, str]:
        told = f"{variable.key} {variable.value}".casefold()
        score = 3.0 * any(name in variable.about for name in names)
        score += 2.0 * any(name.casefold() in told or key_of(name) in variable.key for name in names)
        score += 1.0 * bool(ties & set(variable.about))
        score += 1.0 * bool(aims & set(variable.key.split("_")))
        score += max(0.0, 1.0 - (step - variable.step) / _MEMORY)
        return -score, -variable.step, variable.key

    return points


def _named(key: str, value: Scalar, personas: Sequence[Persona]) -> tuple[str, ...]:
    """Whom a variable concerns, by the names and aliases in its key or value."""
    told = set(key.split("_")) | words(str(value))
    return tuple(
        persona.name for persona in personas if any(words(name) <= told for name in (persona.name, *persona.aliases))
    )


def updates_of(told: Iterable[Mapping[str, object]], personas: Sequence[Persona]) -> tuple[Update, ...]:
    """Updates as a critic names them, with keys as they are written here."""
    found = []
    for update in told:
        key, value = key_of(str(update["key"])), scalar(update["value"])
        if key:
            found.append(Update(key, value, _named(key, value, personas)))
    return tuple(found)


def _shown(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
