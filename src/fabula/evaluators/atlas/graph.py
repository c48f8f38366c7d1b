"""Passes 1 to 3 and the attribute pass: a scene as a typed graph, every item of it with words that stand there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.craft.raters import mark_for
from fabula.evaluators.atlas.schema import (
    ENTITY_TYPES,
    EVENT,
    PASSING,
    RELATIONS,
    Attribute,
    Edge,
    Node,
    allowed,
    normal,
)
from fabula.evaluators.atlas.shapes import Attributes, Entities, Events, Relations
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from fabula.continuity import NumberedScene
    from fabula.engine.run import Run
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.entities import Table
    from fabula.evaluators.atlas.grounding import Ground
    from fabula.evaluators.atlas.shapes import AttributeSaid, EntitySaid, RelationSaid

GRAPHER: Final = "grapher"
_FEWEST_EVENTS: Final = 3  # below that ATLAS is blind (section 5.1)


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """What a scene says, as checked; `sparse` where it is too little to compare."""

    scene: int
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    @property
    def sparse(self) -> bool:
        """Whether there are fewer than three events, or no entity."""
        events = sum(node.type == EVENT for node in self.nodes)
        return events < _FEWEST_EVENTS or events == len(self.nodes)

    def facts(self, *, lasting: bool = False) -> Iterator[tuple[str, str]]:
        """Entity and fact as lines for a prompt, attributes first; `lasting` leaves out what holds for a moment."""
        names = {node.id: node.name for node in self.nodes}
        things = [node for node in self.nodes if node.type != EVENT]
        attributes = [one for one in self.attributes if not (lasting and one.passing)]
        edges = [edge for edge in self.edges if not (lasting and edge.relation in PASSING)]
        yield from ((names[one.node], f"{one.predicate}: {one.value}") for one in attributes)
        yield from ((node.name, f"{node.type}: {node.description}") for node in things if node.description)
        yield from ((names[edge.source], f"{edge.relation} {names[edge.target]}") for edge in edges)
        yield from (("events", node.description or node.name) for node in self.nodes if node.type == EVENT)


@dataclass(frozen=True, slots=True)
class Grapher:
    """The four passes over a scene."""

    desk: Desk
    ground: Ground
    attr_mode: str

    async def read(self, scene: NumberedScene) -> SceneGraph:
        """The graph of a scene; its entities are not joined with those of others yet.

        Raises:
            ModelError: the model did not answer.
            BudgetError: the cap is reached.
        """
        at = self.desk.run.scope("graph", scene.number)
        shown = {"scene": scene, "mark": mark_for(scene.text)}
        events = await self.desk.ask(at, Events, GRAPHER, "events", **shown)
        nodes = list(self._events(scene.number, events)) if events else []
        entities = await self.desk.ask(at, Entities, GRAPHER, "entities", nodes=nodes, **shown)
        nodes += self._entities(scene.number, entities.entities, len(nodes)) if entities else []
        edges: Sequence[Edge] = ()
        attributes: Sequence[Attribute] = ()
        if nodes:
            relations = await self.desk.ask(at, Relations, GRAPHER, "relations", nodes=nodes, kinds=_KINDS, **shown)
            edges = list(self._edges(scene.number, relations.relations, nodes)) if relations else ()
            attributes = await self._attributes(at, nodes, shown)
        graph = SceneGraph(scene.number, tuple(nodes), tuple(dict.fromkeys(edges)), tuple(attributes))
        self.desk.counts["sparse_scenes"] += graph.sparse
        return graph

    def _events(self, scene: int, said: Events) -> Iterator[Node]:
        number = 0
        for event in said.events:
            if self._stands(scene, event.evidence, "event") and one_line(event.name):
                number += 1
                name, told = one_line(event.name), one_line(event.description)
                yield Node(f"{scene}:e{number}", EVENT, name, (), told, scene, event.evidence, f"e{number}")

    def _entities(self, scene: int, said: Sequence[EntitySaid], events: int) -> Iterator[Node]:
        number = 0
        for one in said:
            linked = tuple(sorted({n for n in one.events if 1 <= n <= events}))
            if one.type not in ENTITY_TYPES or not one_line(one.name):
                self.desk.counts["dropped_unknown_type"] += 1
            elif not linked:
                self.desk.counts["dropped_without_event"] += 1
            elif self._stands(scene, one.evidence, "entity"):
                number += 1
                aliases = tuple(name for alias in one.aliases if (name := one_line(alias)))
                node = Node(
                    f"{scene}:n{number}", one.type, one_line(one.name), aliases, one_line(one.description), scene,
                    one.evidence, f"n{number}", linked,
                )  # fmt: skip
                yield node

    def _edges(self, scene: int, said: Sequence[RelationSaid], nodes: Sequence[Node]) -> Iterator[Edge]:
        known = {node.short: node for node in nodes}
        for one in said:
            source, target = known.get(one.source.strip().casefold()), known.get(one.target.strip().casefold())
            if source is None or target is None or source is target:
                self.desk.counts["dropped_edge_without_node"] += 1
            elif not allowed(one.relation, source.type, target.type):
                self.desk.counts["dropped_outside_schema"] += 1
            elif self._stands(scene, one.evidence, "edge"):
                yield normal(Edge(source.id, one.relation, target.id, scene, one.evidence))

    async def _attributes(self, at: Run, nodes: Sequence[Node], shown: dict[str, Any]) -> list[Attribute]:
        """All attributes of the scene's entities: one call for the scene, or one for each node."""
        if self.attr_mode == "scene":
            said = await self.desk.ask(at, Attributes, GRAPHER, "attributes", nodes=nodes, **shown)
            return list(self._kept(said.attributes, {node.short: node for node in nodes})) if said else []
        found: list[Attribute] = []
        for node in nodes:
            asked = at.scope("node", node.short)
            spans = _evidence(node, nodes)
            told = await self.desk.ask(asked, Attributes, GRAPHER, "node", node=node, spans=spans, mark=shown["mark"])
            own = [one.model_copy(update={"node": node.short}) for one in told.attributes] if told else []
            found += self._kept(own, {node.short: node})
        return found

    def _kept(self, said: Sequence[AttributeSaid], known: dict[str, Node]) -> Iterator[Attribute]:
        for one in said:
            node, predicate, value = (
                known.get(one.node.strip().casefold()),
                one_line(one.predicate),
                one_line(one.value),
            )
            if node is None or not predicate or not value:
                self.desk.counts["dropped_attribute_without_node"] += 1
            elif not one.evidence or self._stands(node.scene, one.evidence, "attribute"):
                yield Attribute(node.id, predicate, value, node.scene, one.evidence or node.evidence, one.passing)

    def _stands(self, scene: int, evidence: str, what: str) -> bool:
        """Whether the evidence stands in the scene; what has none there is dropped and counted."""
        stands = self.ground.find(scene, evidence) is not None
        self.desk.counts[f"dropped_{what}_without_evidence"] += not stands
        return stands


def _evidence(node: Node, nodes: Sequence[Node]) -> list[str]:
    """The words tied to a node: its own, and those of the events that it takes part in."""
    events = [one.evidence for one in nodes if one.type == EVENT]
    return list(dict.fromkeys([node.evidence, *(events[number - 1] for number in node.events)]))


# For prompts: each relation, and what it goes from and to.
_KINDS: Final = [
    (name, " or ".join(sorted({a for a, _ in pairs})), " or ".join(sorted({b for _, b in pairs})))
    for name, pairs in RELATIONS.items()
]


async def graphs_of(grapher: Grapher, scenes: Sequence[NumberedScene], table: Table) -> tuple[SceneGraph, ...]:
    """The graphs of all scenes, with ids that they share where they name the same entity.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(grapher.read(scene)) for scene in scenes]
    return tuple(joined(task.result(), table) for task in tasks)


def joined(graph: SceneGraph, table: Table) -> SceneGraph:
    """A scene's graph with the ids and names of the story's entities; scenes are to be given in their order."""
    ids: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        if node.type == EVENT:
            nodes[node.id] = node
            continue
        row = table.check_cast(node.type, node.name, node.aliases, node.scene)
        ids[node.id] = row.id
        nodes.setdefault(row.id, replace(node, id=row.id, name=row.name))
    edges = (
        normal(replace(edge, source=ids.get(edge.source, edge.source), target=ids.get(edge.target, edge.target)))
        for edge in graph.edges
    )
    attributes = (replace(one, node=ids.get(one.node, one.node)) for one in graph.attributes)
    kept = (edge for edge in edges if edge.source != edge.target)
    return replace(graph, nodes=tuple(nodes.values()), edges=tuple(dict.fromkeys(kept)), attributes=tuple(attributes))
