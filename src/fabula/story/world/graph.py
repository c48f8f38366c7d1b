"""The world as a graph: MAGNET's (section 3.3) and, in the same form, that of any facts.

Nodes are the world, entities and state variables. The world `contains` entities; it and they have `has_state` edges to
their variables; a variable is `about` entities. A fact about an entity that concerns others is an edge between them,
named by its slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.story import slug
from fabula.story.personas import KEY
from fabula.story.world.flat import WORLD, variables
from fabula.story.world.state import NOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.story.world.facts import Entity, Fact, Moment, Value
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


def magnet_graph(world: WorldState, *, step: int | None = None, at: Moment | None = None) -> Graph:
    """The graph of W: the world, its characters, and a node for each variable, with their edges."""
    builder = _Builder(world)
    for entity in world.entities():
        if entity.kind == "character":
            builder.entity(entity.name)
    for v in variables(world, step=step, at=at):
        builder.state(v.key, {"value": v.value, "last_step": v.step, "last_actor": v.actor}, v.about)
    row = None if step is None else world.step(step)
    for fact in world.snapshot(at or (row.at if row else NOW)):
        if fact.about and world.index.owner(fact.subject) != WORLD and (step is None or (fact.step or 0) <= step):
            builder.fact(fact)
    return builder.graph({"step": step})


def graph_of_flat(view: Mapping[str, Value]) -> Graph:
    """The state nodes of a flat view and their `has_state` edges."""
    nodes = [Node(WORLD, WORLD, WORLD)]
    nodes += [Node(f"{STATE}:{key}", STATE, key, {"value": value}) for key, value in view.items()]
    return Graph(tuple(nodes), tuple(Edge(WORLD, "has_state", node.id) for node in nodes[1:]))


def flat_of(graph: Graph) -> dict[str, Value]:
    """The flat view of a graph: the variables that the world has, in the order of their nodes."""
    owned = {edge.target for edge in graph.edges if edge.source == WORLD and edge.relation == "has_state"}
    return {node.label: node.attributes["value"] for node in graph.nodes if node.id in owned}


def graph_of(world: WorldState, facts: Iterable[Fact]) -> Graph:
    """The graph of some of the world's facts."""
    builder = _Builder(world)
    for fact in facts:
        builder.fact(fact)
    return builder.graph({})


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

    def graph(self, attributes: Mapping[str, Any]) -> Graph:
        """All nodes and edges, the world first."""
        known = {name: value for name, value in attributes.items() if value is not None}
        return Graph((Node(WORLD, WORLD, WORLD, known), *self._nodes.values()), tuple(self._edges))
