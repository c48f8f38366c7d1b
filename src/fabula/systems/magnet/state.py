"""W, the world state of section 3.3, as a run keeps it: the dictionary of its variables, and what prompts show of it.

The paper's directed graph is drawn from the same facts by `fabula.story.world.graph`, for people; the agents see the
dictionary alone.

W is committed step by step into a world in memory, which is made again whenever the run goes through its steps; each
chapter's part of it is kept with the chapter (`records.py`). Added here is W_c, which the paper does not define.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from fabula.craft.packing import words
from fabula.story.personas import scalar
from fabula.story.world import Entity, flat
from fabula.story.world.facts import START
from fabula.story.world.flat import RESERVED, Commit, Refused, Variable, Write, key_of
from fabula.story.world.meaning import name_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.story.personas import Persona, Personas
    from fabula.story.world import Moment, WorldState
    from fabula.story.world.meaning import Value
    from fabula.systems.magnet.shapes import Update

AUTHOR: Final = "author"
LOCATION: Final = "location"
_MEMORY: Final = 20  # steps over which a variable's age counts
_NAMED: Final = 2  # points from which on a variable is a character's own
_LONGEST: Final = 64  # letters of a key
_MOST_WORDS: Final = 8  # of a key; what is longer is a sentence


@dataclass
class FlatWorld:
    """W in its flat view: variables in the order of insertion, each with the points that it has for each character.

    Attributes:
        world: where commits go. `fabula.story.world.flat.variables` gives these variables from it, and with them those
            that the system sets itself (current_goal and others), which prompts do not show.
        personas: all characters.
    """

    world: WorldState
    personas: tuple[Persona, ...]
    variables: dict[str, Variable] = field(default_factory=dict)
    _points: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _keys: dict[str, dict[str, None]] = field(default_factory=dict)
    _latest: tuple[object, list[Variable]] | None = None

    @classmethod
    def of(cls, start: Personas, world: WorldState, *, places: bool = False) -> FlatWorld:
        """W before the story: the author's variables, and each persona's state with the name before its key.

        With `places` it also holds where each persona is.
        """
        state = cls(world, start.people)
        names = Counter(name_key(name) for p in start.people for name in {p.name, *p.aliases})
        world.describe(  # a name that means two people is nobody's alias
            Entity(p.name, "character", tuple(a for a in p.aliases if names[name_key(a)] == 1)) for p in start.people
        )
        writes = [Write(key, value, AUTHOR, state.named(key, value)) for key, value in start.world]
        for persona in start.people:
            own = [*persona.state, *([(LOCATION, persona.location)] if places and persona.location else [])]
            writes += [Write(key_of_persona(persona, key), value, AUTHOR, (persona.name,)) for key, value in own]
        state.commit(0, START, writes, {"current_goal": start.goal} if start.goal else {})
        return state

    @property
    def flat(self) -> dict[str, Value]:
        """Keys and values, as agents see them."""
        return {key: variable.value for key, variable in self.variables.items()}

    def commit(self, step: int, at: Moment, writes: Sequence[Write], system: Mapping[str, Value]) -> Commit:
        """Algorithm 1, line 13, for all updates of a step: `flat.commit` writes them into the world; the view follows.

        What the step did is returned; see `fabula.story.world.flat.commit`, also for what is refused and raised.
        """
        made = flat.commit(self.world, step, writes, at=at, system=system)
        lost = {refused.key for refused in made.refused}
        for write in writes:
            if write.key not in lost and write.key not in RESERVED:
                self._set(Variable(write.key, write.value, step, write.actor, write.about, write.witnesses))
        self._latest = None
        return made

    def _set(self, variable: Variable) -> None:
        self.variables[variable.key] = variable
        self._points[variable.key] = tuple(_points(variable, persona) for persona in self.personas)
        for word in variable.key.split("_"):
            self._keys.setdefault(word, {})[variable.key] = None

    # what prompts show ----------------------------------------------------------------------------------------------

    def of_character(self, persona: Persona, goal: str, step: int, most: int) -> list[Variable]:
        """W_c: at most `most` variables that matter to one character, those that matter most first.

        Three points for a variable about the character, two for its name in key or value, one for a variable about
        somebody it has a tie with, one for a word of the goal, and up to one for a late write. What it did not witness
        is left out.
        """
        place = self.personas.index(persona)
        seen = (v for v in self.variables.values() if v.witnesses is None or persona.name in v.witnesses)
        points = self._points
        return self._best(seen, goal, step, most, {key: mine for key, all_ in points.items() if (mine := all_[place])})

    def latest(self, goal: str, step: int, most: int) -> list[Variable]:
        """At most `most` variables (0: all) that matter to everybody now, in the order of insertion."""
        if not most or len(self.variables) <= most:
            return list(self.variables.values())
        asked = (goal, step, most)
        if self._latest is None or self._latest[0] != asked:
            chosen = {v.key for v in self._best(self.variables.values(), goal, step, most, {})}
            self._latest = asked, [v for v in self.variables.values() if v.key in chosen]
        return self._latest[1]

    def keys_of(self, persona: Persona, shown: Iterable[Variable], most: int) -> list[str]:
        """Keys of a character that are not among those `shown`, the latest first, for a critic to use again."""
        place, hidden = self.personas.index(persona), {v.key for v in shown}
        own = [v for key, v in self.variables.items() if self._points[key][place] >= _NAMED and key not in hidden]
        return [v.key for v in nsmallest(most, own, key=lambda v: (-v.step, v.key))]

    def _best(
        self, pool: Iterable[Variable], goal: str, step: int, most: int, points: Mapping[str, int]
    ) -> list[Variable]:
        aims = {key for word in words(goal) for key in self._keys.get(word, ())}

        def order(v: Variable) -> tuple[float, int, str]:
            score = points.get(v.key, 0) + (v.key in aims) + max(0.0, 1.0 - (step - v.step) / _MEMORY)
            return -score, -v.step, v.key

        return nsmallest(most, pool, key=order)

    def location(self, persona: Persona) -> str:
        """Where a character is, as far as W says; else empty."""
        found = self.variables.get(key_of_persona(persona, LOCATION))
        return "" if found is None else str(found.value)

    # reading updates ------------------------------------------------------------------------------------------------

    def writes_of(
        self, updates: Iterable[Update], actor: str, witnesses: tuple[str, ...] | None = None
    ) -> tuple[tuple[Write, ...], tuple[Refused, ...]]:
        """Updates as a critic names them, as writes; and those that cannot be taken."""
        taken, refused = flat.updates_of({one.key[:_LONGEST]: scalar(one.value) for one in updates})
        for key, value in list(taken.items()):
            if value == "" or key.count("_") >= _MOST_WORDS:
                why = f"a key has at most {_MOST_WORDS} words" if value != "" else "it has no value"
                refused = (*refused, Refused(key, why))
                del taken[key]
        return tuple(Write(k, v, actor, self.named(k, v), witnesses) for k, v in taken.items()), refused

    def named(self, key: str, value: Value) -> tuple[str, ...]:
        """Whom a variable concerns, by the names and aliases in its key or value."""
        said = set(key.split("_")) | words(str(value))
        said |= {word.removesuffix("s") for word in said}
        return tuple(p.name for p in self.personas if any(words(name) <= said for name in (p.name, *p.aliases)))


def key_of_persona(persona: Persona, key: str) -> str:
    """The key of a persona's own variable; one whose name has no letters of a key has a key all the same."""
    name = key_of(persona.name)
    own = key_of(f"{name if name[:1].isalpha() else f'p_{name}'}_{key}")
    return own[:_LONGEST].rstrip("_")


def _points(variable: Variable, persona: Persona) -> int:
    """What a variable's content makes it matter to a character."""
    names = (persona.name, *persona.aliases)
    said = f"{variable.key} {variable.value}".casefold()
    score = 3 * any(name in variable.about for name in names)
    score += 2 * any(name.casefold() in said or (key_of(name) or name) in variable.key for name in names)
    return score + any(name in variable.about for name, _ in persona.relationships)


def shown(variable: Variable | Write) -> str:
    """A variable as prompts show it: key and value."""
    return f"{variable.key} = {plain_value(variable.value)}"


def plain_value(value: Value) -> str:
    """A value as agents read and write it."""
    if isinstance(value, tuple):
        return ", ".join(map(plain_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
