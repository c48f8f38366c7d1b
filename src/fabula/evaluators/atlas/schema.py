"""The graph of a scene: types of nodes, relations and what they may join (specification 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENT: Final = "Event"
ENTITY_TYPES: Final = ("Character", "Location", "TimePoint", "Object", "Vehicle", "Concept")
NODE_TYPES: Final = (EVENT, *ENTITY_TYPES)
_ACTING: Final = ("Character", "Object", "Vehicle", "Concept")
_Range = tuple[tuple[str, ...], tuple[str, ...]]


def _pairs(*ranges: _Range) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for sources, targets in ranges for a in sources for b in targets)


# The paper names the relations; what each may join is ours.
RELATIONS: Final[Mapping[str, frozenset[tuple[str, str]]]] = {
    "performs": _pairs((_ACTING, (EVENT,))),
    "undergoes": _pairs((_ACTING, (EVENT,))),
    "experiences": _pairs((("Character",), (EVENT,))),
    "kinship_with": _pairs((("Character",), ("Character",))),
    "affinity_with": _pairs((("Character",), ("Character",))),
    "hostility_with": _pairs((("Character",), ("Character",))),
    "affiliated_with": _pairs((("Character", "Concept"), ("Concept",))),
    "precedes": _pairs(((EVENT,), (EVENT,))),
    "occurs_after": _pairs(((EVENT,), (EVENT,))),
    "causes": _pairs(((EVENT,), (EVENT,))),
    "contrasts_with": _pairs(((EVENT,), (EVENT,))),
    "references": _pairs(((EVENT,), (EVENT,))),
    "occurs_at": _pairs(((EVENT,), ("Location", "Vehicle"))),
    "occurs_on": _pairs(((EVENT,), ("TimePoint",))),
    "located_at": _pairs((_ACTING, ("Location", "Vehicle"))),
    "present_on": _pairs((_ACTING, ("TimePoint",))),
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
# True for a moment: not held against later scenes (specification 6.4).
PASSING: Final = frozenset({"located_at", "present_on", "uses"})


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `id` is shared by all scenes that name the same entity, `short` is its name in prompts."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...]
    description: str
    scene: int
    evidence: str
    short: str = ""
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two nodes, by their ids."""

    source: str
    relation: str
    target: str
    scene: int
    evidence: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of a node, by its id; `passing` for what holds for a moment."""

    node: str
    predicate: str
    value: str
    scene: int
    evidence: str
    passing: bool = False


def allowed(relation: str, source: str, target: str) -> bool:
    """Whether a relation may join nodes of these two types."""
    return (source, target) in RELATIONS.get(relation, frozenset())


def normal(edge: Edge) -> Edge:
    """The edge in its one form: `precedes` for `occurs_after` turned round, symmetric ones by the order of ids."""
    turned = Edge(edge.target, edge.relation, edge.source, edge.scene, edge.evidence)
    if edge.relation == "occurs_after":
        return Edge(edge.target, "precedes", edge.source, edge.scene, edge.evidence)
    return turned if edge.relation in SYMMETRIC and edge.target < edge.source else edge
