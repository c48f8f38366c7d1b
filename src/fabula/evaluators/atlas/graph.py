"""The graph of a scene (section 3.5): node types, relations and what they may join, and entities across scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.story import slug
from fabula.story.people import same_person
from fabula.story.world import graph as world
from fabula.story.world.meaning import name_key

if TYPE_CHECKING:
    from fabula.continuity import Passage
    from fabula.evaluators.atlas.findings import AtlasFinding
    from fabula.evaluators.atlas.quoting import StoryText
    from fabula.story.world.graph import Graph


EVENT: Final = "Event"
ENTITY_TYPES: Final = ("Character", "Location", "TimePoint", "Object", "Vehicle", "Concept")
_ACTING: Final = ("Character", "Object", "Vehicle", "Concept")
_Range = tuple[tuple[str, ...], tuple[str, ...]]


def _pairs(*ranges: _Range) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for sources, targets in ranges for a in sources for b in targets)


# The paper names the relations, in five functional groups; what each may join is ours.
RELATIONS: Final[Mapping[str, frozenset[tuple[str, str]]]] = {
    # event-role edges
    "performs": _pairs((_ACTING, (EVENT,))),
    "undergoes": _pairs((_ACTING, (EVENT,))),
    "experiences": _pairs((("Character",), (EVENT,))),
    # social edges
    "kinship_with": _pairs((("Character",), ("Character",))),
    "affinity_with": _pairs((("Character",), ("Character",))),
    "hostility_with": _pairs((("Character",), ("Character",))),
    "affiliated_with": _pairs((("Character", "Concept"), ("Concept",))),
    # inter-event edges
    "precedes": _pairs(((EVENT,), (EVENT,))),
    "occurs_after": _pairs(((EVENT,), (EVENT,))),
    "causes": _pairs(((EVENT,), (EVENT,))),
    "contrasts_with": _pairs(((EVENT,), (EVENT,))),
    "references": _pairs(((EVENT,), (EVENT,))),
    # spatiotemporal edges
    "occurs_at": _pairs(((EVENT,), ("Location", "Vehicle"))),
    "occurs_on": _pairs(((EVENT,), ("TimePoint",))),
    "located_at": _pairs((_ACTING, ("Location", "Vehicle"))),
    "present_on": _pairs((_ACTING, ("TimePoint",))),
    # object-related edges
    "possesses": _pairs((("Character", "Concept"), ("Object", "Vehicle"))),
    "uses": _pairs((("Character",), ("Object", "Vehicle")), (("Object",), ("Object",))),
    "part_of": _pairs(
        (("Object",), ("Object", "Vehicle", "Location")),
        (("Location",), ("Location",)),
        (("Vehicle",), ("Vehicle",)),
        (("Character", "Concept"), ("Concept",)),
    ),
    "is_a": _pairs((_ACTING, ("Concept",))),
}
SYMMETRIC: Final = frozenset({"kinship_with", "affinity_with", "hostility_with"})
_FEWEST_EVENTS: Final = 3  # with fewer ATLAS is blind (section 5.1)
_TITLES: Final = frozenset(
    (  # noqa: SIM905 - sixty words read better as a text
        "mr mrs ms miss mx dr doctor prof professor sir lady lord madam dame captain capt lieutenant lt sergeant sgt "
        "corporal private major colonel col general gen admiral commander chief deputy sheriff officer detective "
        "inspector constable superintendent marshal agent judge senator governor mayor president minister king queen "
        "prince princess duke duchess count countess baron baroness father mother sister brother uncle aunt reverend "
        "rev pastor bishop nurse coach"
    ).split()
)
_DETERMINERS: Final = frozenset({"the", "a", "an", "his", "her", "their", "my", "our"})


@dataclass(frozen=True, slots=True)
class FactNode:
    """A node; `id` is shared by all scenes that name the same entity, and `short` is its name in prompts.

    `also` is further evidence from nodes of the same scene that were merged into this one.
    """

    id: str
    type: str
    name: str
    aliases: tuple[str, ...]
    description: str
    scene: int
    evidence: str
    short: str = ""
    events: tuple[int, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def quotes(self) -> tuple[str, ...]:
        """All its evidence."""
        return tuple(dict.fromkeys((self.evidence, *self.also)))


@dataclass(frozen=True, slots=True)
class FactEdge:
    """A relation between two nodes, by their ids."""

    source: str
    relation: str
    target: str
    scene: int
    evidence: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of a node, by its id."""

    node: str
    predicate: str
    value: str
    scene: int
    evidence: str


def allowed(relation: str, source: str, target: str) -> bool:
    """Whether a relation may join nodes of these two types."""
    return (source, target) in RELATIONS.get(relation, frozenset())


def normal(edge: FactEdge) -> FactEdge:
    """The edge in its normal form (ours), so that repeated edges are kept once.

    An `occurs_after` is reversed into a `precedes`; symmetric edges go from the smaller id to the larger one.
    """
    turned = FactEdge(edge.target, edge.relation, edge.source, edge.scene, edge.evidence)
    if edge.relation == "occurs_after":
        return FactEdge(edge.target, "precedes", edge.source, edge.scene, edge.evidence)
    return turned if edge.relation in SYMMETRIC and edge.target < edge.source else edge


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """The checked graph of a scene; `sparse` if it has too little to compare."""

    scene: int
    nodes: tuple[FactNode, ...] = ()
    edges: tuple[FactEdge, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    @property
    def sparse(self) -> bool:
        """Whether there are fewer than three events, or no entity."""
        events = sum(node.type == EVENT for node in self.nodes)
        return events < _FEWEST_EVENTS or events == len(self.nodes)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Entity and fact as lines for a prompt, attributes first."""
        names = {node.id: node.name for node in self.nodes}
        things = [node for node in self.nodes if node.type != EVENT]
        yield from ((names[one.node], f"{one.predicate}: {one.value}") for one in self.attributes)
        yield from ((node.name, f"{node.type}: {node.description}") for node in things if node.description)
        yield from ((names[edge.source], f"{edge.relation} {names[edge.target]}") for edge in self.edges)
        yield from (("events", node.description or node.name) for node in self.nodes if node.type == EVENT)

    def joined(self, table: EntityTable) -> SceneGraph:
        """The graph with the ids and names of the story's entities; scenes must be given in their order."""
        ids: dict[str, str] = {}
        nodes: dict[str, FactNode] = {}
        for node in self.nodes:
            if node.type == EVENT:
                nodes[node.id] = node
                continue
            entity = table.entity(node.type, node.name, node.aliases, node.scene)
            ids[node.id] = entity.id
            said = [nodes[entity.id].description] if entity.id in nodes else []
            description = " ".join(dict.fromkeys(one for one in (*said, node.description) if one))
            first = nodes.get(entity.id, replace(node, id=entity.id, name=entity.name))
            nodes[entity.id] = replace(first, description=description, also=(*first.also, node.evidence))
        edges = (
            normal(replace(edge, source=ids.get(edge.source, edge.source), target=ids.get(edge.target, edge.target)))
            for edge in self.edges
        )
        kept = tuple(dict.fromkeys(edge for edge in edges if edge.source != edge.target))
        attributes = tuple(replace(one, node=ids.get(one.node, one.node)) for one in self.attributes)
        return replace(self, nodes=tuple(nodes.values()), edges=kept, attributes=attributes)


@dataclass
class StoryEntity:
    """A person or thing of a story: an id, its first name in the text, and all other names."""

    id: str
    type: str
    name: str
    scene: int
    aliases: set[str] = field(default_factory=set)


@dataclass
class EntityTable:
    """The entities of a story, carried from scene to scene; scenes must be given in their order.

    The paper compares entities across scenes without saying how to identify them. Here a name belongs to an entity if
    it is one of its names or, for characters, a part of exactly one character's name ("Voss" of "Elena Voss"),
    ignoring titles.
    """

    entities: list[StoryEntity] = field(default_factory=list)
    _known: dict[tuple[str, str], StoryEntity] = field(default_factory=dict)

    def entity(self, type_: str, name: str, aliases: tuple[str, ...], scene: int) -> StoryEntity:
        """The entity that a scene calls by this name, or a new one if there is none yet."""
        forms = [form for given in (name, *aliases) if (form := bare(given))]
        found = next((self._known[type_, form] for form in forms if (type_, form) in self._known), None)
        if found is None and type_ == "Character":
            found = next((known for form in forms if (known := self._by_part(form))), None)
        if found is None:
            found = StoryEntity(self._free_id(type_, name), type_, name, scene)
            self.entities.append(found)
        found.aliases |= {given for given in (name, *aliases) if given != found.name and given}
        for form in forms:
            self._known.setdefault((type_, form), found)
        return found

    def _by_part(self, form: str) -> StoryEntity | None:
        """The only character whose name has all these words, or consists of some of them."""
        found = {
            entity.id: entity
            for (type_, known), entity in self._known.items()
            if type_ == "Character" and same_person(form, known)
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _free_id(self, type_: str, name: str) -> str:
        taken, wanted = {entity.id for entity in self.entities}, f"{type_.lower()}:{slug(name)}"
        return next(
            id_ for n in range(1, len(taken) + 2) if (id_ := wanted if n == 1 else f"{wanted}-{n}") not in taken
        )


@dataclass(frozen=True)
class StoryGraph:
    """The graphs of all scenes as one: entities with shared ids; events, edges and attributes with their evidence."""

    scenes: tuple[SceneGraph, ...]
    entities: Mapping[str, StoryEntity]

    @classmethod
    def of(cls, table: EntityTable, scenes: Iterable[SceneGraph]) -> StoryGraph:
        """The graph of scenes that use the ids of the table."""
        return cls(tuple(scenes), {entity.id: entity for entity in table.entities})

    def nodes_of(self, text: StoryText, found: AtlasFinding) -> tuple[str, ...]:
        """The ids of the nodes that a finding is based on, those in both of its scenes first.

        A node is one of them if its evidence, or that of its attributes, is in a sentence that the finding quotes.
        """
        sides = [
            self._quoted(text, graph, part)
            for part in (found.before, found.after)
            for graph in self.scenes
            if graph.scene == part.scene
        ]
        every = dict.fromkeys(node for side in sides for node in side)
        return tuple(sorted(every, key=lambda node: -sum(node in side for side in sides)))

    def _quoted(self, text: StoryText, graph: SceneGraph, part: Passage) -> list[str]:
        """The nodes of a scene whose evidence is in these sentences."""
        told = [(node.id, quote) for node in graph.nodes for quote in node.quotes]
        told += [(one.node, one.evidence) for one in graph.attributes]
        return [
            node
            for node, quote in told
            if (place := text.find(graph.scene, quote, nearly=True))
            and place.start < part.end
            and part.start < place.end
        ]

    def as_data(self) -> dict[str, Any]:
        """Nodes, edges and attributes with their evidence, for JSON."""
        nodes: dict[str, dict[str, Any]] = {}
        for graph in self.scenes:
            for node in graph.nodes:
                entity = self.entities.get(node.id)
                names = {"name": node.name, "aliases": sorted(entity.aliases) if entity else []}
                own = nodes.setdefault(node.id, {"id": node.id, "type": node.type, **names, "scenes": []})
                said = {"scene": graph.scene, "description": node.description, "evidence": list(node.quotes)}
                own["scenes"].append(said)
        return {
            "nodes": list(nodes.values()),
            "edges": [asdict(edge) for graph in self.scenes for edge in graph.edges],
            "attributes": [asdict(attribute) for graph in self.scenes for attribute in graph.attributes],
        }


def as_graph(data: Mapping[str, Any]) -> Graph:
    """The data of `StoryGraph.as_data` as a graph file of fabula, in which an attribute is its own node."""
    nodes = [
        world.Node(
            one["id"],
            one["type"],
            one["name"],
            {
                "scene": one["scenes"][0]["scene"],
                "description": " ".join(dict.fromkeys(said["description"] for said in one["scenes"])).strip(),
                "aliases": "; ".join(one["aliases"]),
                "evidence": "\n".join(quote for said in one["scenes"] for quote in said["evidence"]),
            },
        )
        for one in data["nodes"]
    ]
    edges = [
        world.Edge(one["source"], one["relation"], one["target"], {"scene": one["scene"], "evidence": one["evidence"]})
        for one in data["edges"]
    ]
    for number, one in enumerate(data["attributes"], 1):
        about = {"value": one["value"], "scene": one["scene"], "evidence": one["evidence"]}
        nodes.append(world.Node(f"attribute:{number}", "attribute", one["predicate"], about))
        edges.append(world.Edge(one["node"], "has_attribute", f"attribute:{number}", {"scene": one["scene"]}))
    return world.Graph(tuple(nodes), tuple(edges))


def bare(name: str) -> str:
    """A name in the form that is compared: without case, titles and words such as "the" before it."""
    pieces = name_key(name).replace(".", " ").split()
    left = [piece for piece in pieces if piece not in _DETERMINERS and piece not in _TITLES]
    return " ".join(left or pieces)
