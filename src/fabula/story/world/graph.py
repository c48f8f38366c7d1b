"""Facts about the world as a graph in the form used by MAGNET (section 3.3), and its export to GraphML and Mermaid.

The nodes are the world, entities and state variables. The world has `contains` edges to the entities, the world and the
entities have `has_state` edges to their variables, and variables have `about` edges to entities. A fact about an entity
that concerns other entities is an edge between them, labelled with the slot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final

from fabula.story import slug
from fabula.story.personas import KEY
from fabula.story.world.flat import WORLD

if TYPE_CHECKING:
    from fabula.story.world.facts import Entity, Fact
    from fabula.story.world.state import WorldState


STATE: Final = "state"
MAX_DRAWN: Final = 60
_LABEL: Final = 60
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_TURNING: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ATTRIBUTES: Final = (
    *("value", "scene", "modality", "source", "denied"),  # of facts
    *("description", "aliases", "evidence"),  # of what a reader of scenes found
)
_TYPES: Final = {"scene": "int", "denied": "boolean"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node, with `kind` being "world", "state", or the kind of an entity ("entity" if the kind is unknown)."""

    id: str
    kind: str
    label: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge between two nodes, which are given by their ids."""

    source: str
    relation: str
    target: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges in a fixed order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(world: WorldState, facts: Iterable[Fact], entities: Iterable[Entity] = ()) -> Graph:
    """The graph of a selection of facts; `entities` are nodes even if no fact mentions them."""
    builder = _Builder(world)
    for entity in entities:
        builder.entity(entity.name)
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
        """The id of the node for an entity."""
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
        """Add a variable of the world or of an entity."""
        number = self._free(f"{STATE}:{name or key}")
        self._nodes[number] = Node(number, STATE, key, attributes)
        self._edges.append(Edge(owner, "has_state", number))
        self._edges += [Edge(number, "about", self.entity(name)) for name in about]

    def fact(self, fact: Fact) -> None:
        """Add a fact as an edge if it concerns others, and otherwise as a variable."""
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
        """All nodes and edges, starting with the world."""
        return Graph((Node(WORLD, WORLD, WORLD), *self._nodes.values()), tuple(self._edges))


def graphml(graph: Graph) -> str:
    """The graph as GraphML for Gephi, yEd and networkx, with values as JSON."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'  <key id="{name}" for="node" attr.name="{name}" attr.type="string"/>' for name in ("kind", "label")]
    lines.append('  <key id="relation" for="edge" attr.name="relation" attr.type="string"/>')
    lines += [
        f'  <key id="{name}" for="all" attr.name="{name}" attr.type="{_TYPES.get(name, "string")}"/>'
        for name in _ATTRIBUTES
    ]
    lines.append('  <graph id="world" edgedefault="directed">')
    for node in graph.nodes:
        data = _data({"kind": node.kind, "label": node.label}, node.attributes)
        lines.append(f'    <node id="{_xml(node.id)}">{data}</node>')
    for number, edge in enumerate(graph.edges):
        data = _data({"relation": edge.relation}, edge.attributes)
        ends = f'source="{_xml(edge.source)}" target="{_xml(edge.target)}"'
        lines.append(f'    <edge id="e{number}" {ends}>{data}</edge>')
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _data(own: Mapping[str, str], attributes: Mapping[str, Any]) -> str:
    pairs = [(name, text) for name, text in own.items()]
    pairs += [(name, _plain(name, attributes[name])) for name in _ATTRIBUTES if name in attributes]
    return "".join(f'<data key="{name}">{_xml(text)}</data>' for name, text in pairs)


def _plain(name: str, value: object) -> str:
    if name == "value":
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml(text: str) -> str:
    """`text` as XML may hold it: control characters become U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text))


def mermaid(graph: Graph, most: int = MAX_DRAWN) -> str:
    """The graph as a Mermaid flowchart with at most `most` edges; a comment shows how many edges were left out.

    The world's `contains` edges are always left out, because they are not informative.
    """
    edges = [edge for edge in graph.edges if edge.relation != "contains"]
    drawn, nodes = edges[:most], {node.id: node for node in graph.nodes}
    used = dict.fromkeys(number for edge in drawn for number in (edge.source, edge.target))
    if not drawn:
        used = dict.fromkeys([node.id for node in graph.nodes][:most])
    names = {number: f"n{count}" for count, number in enumerate(used)}
    lines = ["flowchart LR", *(f"  {names[number]}{_shape(nodes[number])}" for number in used)]
    lines += [f"  {names[e.source]} -->|{_quoted(_relation(e))}| {names[e.target]}" for e in drawn]
    if len(edges) > most:
        lines.append(f"  %% {len(edges) - most} more edges are left out")
    return "\n".join([*lines, ""])


def _relation(edge: Edge) -> str:
    value = edge.attributes.get("value")
    said = f"{edge.relation}: {value}" if value and isinstance(value, str) else edge.relation
    return f"not {said}" if edge.attributes.get("denied") else said


def _shape(node: Node) -> str:
    if node.kind != "state":
        return f"({_quoted(node.label)})"
    value = node.attributes.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"[{_quoted(f'{node.label}: {text}')}]"


def _quoted(text: str) -> str:
    """A label in quotes; all but letters, digits and harmless marks stand as numbers, which Mermaid shows as signs."""
    line = " ".join(_TURNING.sub("", _NOT_XML.sub("\ufffd", text)).split())
    short = line if len(line) <= _LABEL else line[: _LABEL - 1] + "…"
    return '"' + "".join(_signs(short)) + '"'


def _signs(text: str) -> Iterator[str]:
    for sign in text or " ":
        yield sign if sign.isalnum() or sign in " .,_-…" else f"#{ord(sign)};"
