"""Facts about the world as a graph, in the form of MAGNET's (section 3.3).

Nodes are the world, entities and state variables. The world `contains` entities; it and they have `has_state` edges to
their variables; a variable is `about` entities. A fact about an entity that concerns others is an edge between them,
named by its slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.story import slug
from fabula.story.personas import KEY
from fabula.story.world.flat import WORLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.story.world.facts import Entity, Fact
    from fabula.story.world.state import WorldState

STATE: Final = "state"


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `kind` is "world", "state", or the kind of an entity ("entity" where that is not known)."""

    id: str
    kind: str
    label: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge between the nodes of two ids."""

    source: str
    relation: str
    target: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges, each in a fixed order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(world: WorldState, facts: Iterable[Fact]) -> Graph:
    """The graph of some of the world's facts."""
    builder = _Builder(world)
    for fact in facts:
        builder.fact(fact)
    return builder.graph()


class _Builder:
    """Collects nodes and edges, each once."""

    def __init__(self, world: WorldState) -> None:
        self._owner = world.index.owner
        self._known: dict[str, Entity] = {self._owner(entity.name): entity for entity in world.entities()}
        self._ids: dict[str, str] = {WORLD: WORLD}
        self._taken = {WORLD}
        self._nodes: dict[str, Node] = {}
        self._edges: list[Edge] = []

    def entity(self, name: str) -> str:
        """The id of an entity's node."""
        owner = self._owner(name)
        if owner not in self._ids:
            known = self._known.get(owner)
            kind, label = (known.kind or "entity", known.name) if known else ("entity", name)
            self._ids[owner] = number = self._free(f"{slug(kind)}:{slug(label)}")
            self._nodes[number] = Node(number, kind, label)
            self._edges.append(Edge(WORLD, "contains", number))
        return self._ids[owner]

    def _free(self, wanted: str) -> str:
        """`wanted`, or with a number after it where two names make one slug."""
        number, count = wanted, 1
        while number in self._taken:
            count += 1
            number = f"{wanted}-{count}"
        self._taken.add(number)
        return number

    def state(
        self, key: str, attributes: Mapping[str, Any], about: Iterable[str], owner: str = WORLD, name: str = ""
    ) -> None:
        """A variable of the world or of an entity."""
        number = self._free(f"{STATE}:{name or key}")
        self._nodes[number] = Node(number, STATE, key, attributes)
        self._edges.append(Edge(owner, "has_state", number))
        self._edges += [Edge(number, "about", self.entity(name)) for name in about]

    def fact(self, fact: Fact) -> None:
        """A fact, as an edge if it concerns others and as a variable if not."""
        attributes: dict[str, Any] = {"value": fact.value, "scene": fact.told.scene, "modality": fact.modality}
        attributes |= {"denied": True} if not fact.polarity else {}
        attributes |= {"source": fact.source} if fact.source else {}
        if self._owner(fact.subject) == WORLD:
            self.state(fact.slot, attributes, fact.about, name="" if KEY.fullmatch(fact.slot) else slug(fact.slot))
            return
        mine = self.entity(fact.subject)
        if fact.about:
            self._edges += [Edge(mine, fact.slot, self.entity(name), attributes) for name in fact.about]
        else:
            self.state(fact.slot, attributes, (), mine, f"{mine}:{slug(fact.slot)}")

    def graph(self) -> Graph:
        """All nodes and edges, the world first."""
        return Graph((Node(WORLD, WORLD, WORLD), *self._nodes.values()), tuple(self._edges))
