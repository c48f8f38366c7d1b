"""W, the world state of section 3.3: a directed graph, and the dictionary of its state variables that agents are given.

The graph has a root, a node for each character, a node for each state variable, and edges: the world contains the
characters and has the variables, a variable is about characters, and a character has relationships with others. It is
kept once, as facts of a `WorldState`; `WorldGraph.graph` and `WorldGraph.variables` are views of them. The world is in
memory, and follows from the steps that are kept with each part of the story (`parts.py`). What they write becomes facts
when something asks W: a story of which every part is there asks nothing. Added here is W_c, which the paper does not
define.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from fabula.base.remembering import remembered
from fabula.craft.packing import words
from fabula.story import one_line
from fabula.story.personas import Persona, Personas, scalar
from fabula.story.world import Entity, Fact, Moment, WorldState, flat
from fabula.story.world.facts import MAX_NAME, START
from fabula.story.world.flat import RESERVED, RefusedUpdate, Variable, Write, key_of
from fabula.story.world.graph import Graph, graph_of
from fabula.story.world.meaning import Value, name_key

if TYPE_CHECKING:
    from fabula.systems.magnet.shapes import Update


AUTHOR: Final = "author"
LOCATION: Final = "location"
_LONGEST: Final = 64  # letters of a key


@dataclass
class WorldGraph:
    """W, as its facts have it.

    Attributes:
        personas: all characters.
        time: the story time of what is written; empty where that is not known.
    """

    _facts: WorldState
    personas: tuple[Persona, ...]
    time: str = ""
    _to_record: list[tuple[Callable[[], object], Sequence[Write]]] = field(default_factory=list)
    _view: dict[str, Variable] | None = None
    _known: dict[str, dict[str, Variable]] = field(default_factory=dict)

    @classmethod
    def of(cls, start: Personas, world: WorldState, *, known: bool = False) -> WorldGraph:
        """W before the story: the characters, their relationships, the author's variables, and each persona's state.

        A persona's state has its name before each key. With `known` W also holds where each persona is, a persona's
        state is known to that persona alone, and a variable not to those from whom `start` hides it; else everybody
        knows all.
        """
        names = Counter(name_key(name) for p in start.people for name in {p.name, *p.aliases})
        world.describe(  # a name that means two people is nobody's alias
            Entity(p.name, "character", tuple(a for a in p.aliases if names[name_key(a)] == 1)) for p in start.people
        )
        world.add(_relationship(p, other, tie) for p in start.people for other, tie in p.relationships if other.strip())
        made = cls(world, start.people)
        hidden = {key: set(named(start.people, names)) for key, names in start.world_hidden_from} if known else {}

        def write(key: str, value: Value, about: tuple[str, ...], knowing: tuple[str, ...] | None) -> Write:
            if key in hidden:
                knowing = tuple(name for name in knowing or start.names if name not in hidden[key])
            return Write(key, value, AUTHOR, about, knowing)

        writes = [write(key, value, made.named(key, value), None) for key, value in start.world]
        for p in start.people:
            own = (p.name,)
            writes += [write(key_of_persona(p, key), value, own, own if known else None) for key, value in p.state]
            if known and p.location:
                writes.append(write(key_of_persona(p, LOCATION), p.location, own, None))
        made.commit(0, START, writes, {"current_goal": start.goal} if start.goal else {})
        return made

    # views ----------------------------------------------------------------------------------------------------------

    @property
    def world(self) -> WorldState:
        """The facts, with all that was written."""
        self._catch_up()
        return self._facts

    @property
    def graph(self) -> Graph:
        """The directed graph: the world, all characters, the variables as they stand, and the edges between them."""
        ties = (fact for fact in self.world.snapshot() if fact.about and fact.modality == AUTHOR and fact.step is None)
        people = (self.world.entity(persona.name) for persona in self.personas)
        return graph_of(self.world, [*ties, *flat.standing(self.world)], people)

    @property
    def variables(self) -> dict[str, Variable]:
        """The state variables by key, in the order of insertion; without those that the system sets for itself."""
        self._catch_up()
        if self._view is None:
            self._view = {v.key: v for v in flat.variables(self._facts) if v.key not in RESERVED}
        return self._view

    @property
    def flat(self) -> dict[str, Value]:
        """The dictionary that agents are given: keys and values."""
        return {key: variable.value for key, variable in self.variables.items()}

    @property
    def known(self) -> dict[str, dict[str, Variable]]:
        """The state variables that each character knows, by its name and by key."""
        self._catch_up()
        return self._known

    # writing --------------------------------------------------------------------------------------------------------

    def commit(self, step: int, at: Moment, writes: Sequence[Write], system: Mapping[str, Value]) -> None:
        """Algorithm 1, line 13, for all updates of a step (`flat.commit`)."""
        record = partial(flat.commit, self._facts, step, writes, at=at, system=system, time=self.time)
        self._to_record.append((record, writes))

    def amend(self, at: Moment, writes: Iterable[Write], time: str | None = None) -> None:
        """Set variables between two steps, where a person or a transition changed them, or another scene begins.

        `time` is the story time; by default that of the scene that is written.
        """
        own = [write for write in writes if write.key not in RESERVED]
        record = partial(flat.amend, self._facts, own, at, self.time if time is None else time)
        self._to_record.append((record, own))

    def put_scene(self, no: int, title: str) -> None:
        """Name the scene of that number, as W knows it."""
        self._to_record.append((partial(self._facts.put_scene, no, title), ()))

    def near(self, writes: Sequence[Write]) -> int:
        """How many keys that W does not have are much like one that it has."""
        return len({new for new, _ in flat.near(self.world, writes)})

    def _catch_up(self) -> None:
        """Record what was written since something was asked last."""
        to_record, self._to_record = self._to_record, []
        for record, writes in to_record:
            record()
            for write in writes:
                self._learn(write)
        if to_record:
            self._view = None

    def _learn(self, write: Write) -> None:
        """Who sees a write knows it; who does not still knows what it saw last."""
        last = flat.variable(self._facts, write.key)
        made = Variable(write.key, write.value, write.actor, write.about, write.witnesses, last.step if last else 0)
        for p in self.personas:
            if write.witnesses is None or p.name in write.witnesses:
                own = self._known.setdefault(p.name, {})
                own.pop(write.key, None)
                if write.value is not None and write.key not in RESERVED:
                    own[write.key] = made

    # what prompts show ----------------------------------------------------------------------------------------------

    def of_character(self, persona: Persona, goal: str, most: int) -> list[Variable]:
        """W_c: at most `most` variables that matter to one character, those that matter most first.

        Two points for a variable about the character, one for one about somebody it has a tie with, and one for a word
        of the goal; of equal ones the latest. What it did not witness is left out; what it saw before that stands, as
        the character knows it.
        """
        return self._best(self.known.get(persona.name, {}).values(), goal, most, persona)

    def latest(self, goal: str, most: int, persona: Persona | None = None) -> list[Variable]:
        """At most `most` variables that matter now, to one `persona` above all, in the order of insertion."""
        chosen = {v.key for v in self._best(self.variables.values(), goal, most, persona)}
        return [v for v in self.variables.values() if v.key in chosen]

    def _best(self, pool: Iterable[Variable], goal: str, most: int, persona: Persona | None) -> list[Variable]:
        aims, own = words(goal), {persona.name} if persona else set()
        ties = set(named(self.personas, (other for other, _ in persona.relationships))) if persona else set()

        def rank(one: Variable) -> tuple[int, int, str]:
            about, said = set(one.about), one.key.split("_")
            points = 2 * bool(about & own) + bool(about & ties) + (not aims.isdisjoint(said))
            return -points, -one.step, one.key

        return nsmallest(most, pool, key=rank)

    # reading updates ------------------------------------------------------------------------------------------------

    def writes_of(
        self, updates: Iterable[Update], actor: str, witnesses: tuple[str, ...] | None = None
    ) -> tuple[tuple[Write, ...], tuple[RefusedUpdate, ...]]:
        """Updates as a critic names them, as writes; and those that cannot be taken."""
        named: dict[str, list[Update]] = {}
        for one in updates:
            named.setdefault(_short_key(one.key), []).append(one)
        taken, refused = flat.updates_of({key: scalar(same[-1].value) for key, same in named.items()})
        refused += tuple(
            RefusedUpdate(one.key[:80], f"another key has the same first {_LONGEST} letters")
            for same in named.values()
            for one in same[:-1]
            if one.key != same[-1].key
        )
        refused += tuple(RefusedUpdate(key, "it has no value") for key, value in taken.items() if value == "")
        writes = (Write(k, v, actor, self.named(k, v), witnesses) for k, v in taken.items() if v != "")
        return tuple(writes), refused

    def named(self, key: str, value: Value) -> tuple[str, ...]:
        """Whom a variable concerns, by the names and aliases in its key or value."""
        said = set(key.split("_")) | words(str(value))
        said |= {word.removesuffix("s") for word in said}
        return tuple(p.name for p in self.personas if any(_words(name) <= said for name in (p.name, *p.aliases)))


@remembered(1000, 200)
def _words(name: str) -> frozenset[str]:
    """The words of a character's name, which is looked for in each key and value."""
    return frozenset(words(name))


def named(people: Iterable[Persona], names: Iterable[str], but: str = "") -> tuple[str, ...]:
    """The characters that a text names, by name or alias, without `but`."""
    said = {name.casefold().strip() for name in names}
    return tuple(p.name for p in people if p.name != but and said & {n.casefold() for n in (p.name, *p.aliases)})


def _relationship(persona: Persona, other: str, tie: str) -> Fact:
    """An edge between two characters; the one knows what the other is to them."""
    other = one_line(other)[: MAX_NAME - 20]
    return Fact(
        persona.name,
        f"relationship to {other}",
        tie,
        modality="author",
        source=AUTHOR,
        witnesses=(persona.name,),
        about=(other,),
    )


def key_of_persona(persona: Persona, key: str) -> str:
    """The key of a persona's own variable; one whose name has no letters of a key has a key all the same."""
    name = key_of(persona.name)
    own = key_of(f"{name if name[:1].isalpha() else f'p_{name}'}_{key}")
    return own[:_LONGEST].rstrip("_")


def _short_key(key: str) -> str:
    """A key that an agent wrote, of at most 64 letters."""
    return key if len(key) <= _LONGEST else key_of(key)[:_LONGEST].rstrip("_") or key[:_LONGEST]


def shown(variable: Variable | Write) -> str:
    """A variable as prompts show it: key and value."""
    return f"{variable.key} = {plain_value(variable.value)}"


def plain_value(value: Value) -> str:
    """A value as agents read and write it."""
    if isinstance(value, tuple):
        return ", ".join(map(plain_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
