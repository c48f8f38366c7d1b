"""What the roles reply: small shapes, every text and list bounded in the schema, nothing refused for being longer."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from fabula.evaluators.atlas.findings import CATEGORIES
from fabula.evaluators.atlas.schema import ENTITY_TYPES, RELATIONS
from fabula.story.world.facts import DURABILITIES, MODALITIES

ERROR: Final = "error"
DECISIONS: Final = (ERROR, "other_thing", "other_attribute", "no_difference", "explained")
FACT_KINDS: Final = ("attribute", "relation", "event", "before", "after")
TOLD: Final = tuple(name for name in MODALITIES if name != "author")


def _bound(**told: Any) -> Any:  # noqa: ANN401 - what pydantic takes as a field
    """Bounds that stand in the schema alone: an engine keeps to them, and a longer reply is read all the same."""
    return Field(json_schema_extra=told)


Name = Annotated[str, _bound(maxLength=60)]
Clause = Annotated[str, _bound(maxLength=110)]
Text = Annotated[str, _bound(maxLength=160)]
Quote = Annotated[str, _bound(maxLength=180)]


class Event(BaseModel):
    """Something that happens in a scene."""

    name: Name
    description: Text = ""
    evidence: Quote


class Events(BaseModel):
    """Pass 1."""

    events: Annotated[list[Event], _bound(maxItems=15)]


class EntitySaid(BaseModel):
    """A person, place, time, thing, vehicle or idea of a scene, with the numbers of its events."""

    name: Name
    type: Annotated[str, _bound(enum=list(ENTITY_TYPES))]
    aliases: Annotated[list[Name], _bound(maxItems=4)] = []
    description: Text = ""
    evidence: Quote
    events: Annotated[list[int], _bound(maxItems=6)] = []


class Entities(BaseModel):
    """Pass 2."""

    entities: Annotated[list[EntitySaid], _bound(maxItems=25)]


class RelationSaid(BaseModel):
    """A typed edge between two nodes, named by their ids."""

    source: Annotated[str, _bound(maxLength=6)]
    relation: Annotated[str, _bound(enum=list(RELATIONS))]
    target: Annotated[str, _bound(maxLength=6)]
    evidence: Quote


class Relations(BaseModel):
    """Pass 3."""

    relations: Annotated[list[RelationSaid], _bound(maxItems=30)]


class AttributeSaid(BaseModel):
    """A property of a node; `passing` for what holds for a moment only."""

    node: Annotated[str, _bound(maxLength=6)] = ""
    predicate: Name
    value: Clause
    evidence: Quote = ""
    passing: bool = False


class Attributes(BaseModel):
    """The attribute pass."""

    attributes: Annotated[list[AttributeSaid], _bound(maxItems=30)]


class ProposalSaid(BaseModel):
    """A contradiction between two scenes, in clauses."""

    x: int
    y: int
    fact: Clause
    event: Clause
    category: Annotated[str, _bound(enum=list(CATEGORIES))] = "other"


class Proposals(BaseModel):
    """What a proposer or the plain judge finds."""

    findings: Annotated[list[ProposalSaid], _bound(maxItems=20)]


class Judged(BaseModel):
    """As `Proposals`, of a whole story."""

    findings: Annotated[list[ProposalSaid], _bound(maxItems=40)]


class FactSaid(BaseModel):
    """A fact that a passage asserts (hybrid)."""

    kind: Annotated[str, _bound(enum=list(FACT_KINDS))] = "attribute"
    subject: Name
    slot: Name
    value: Annotated[str, _bound(maxLength=80)]
    quote: Quote
    told: Annotated[str, _bound(enum=list(TOLD))] = "asserted"
    by: Name = ""
    lasts: Annotated[str, _bound(enum=list(DURABILITIES))] = "durable"


class Facts(BaseModel):
    """The one extraction of the hybrid."""

    facts: Annotated[list[FactSaid], _bound(maxItems=28)]


class ClashSaid(BaseModel):
    """A contradiction that the hybrid's proposer sees; `known` is the number of a known fact, 0 for none."""

    known: int = 0
    quote_x: Quote = ""
    fact: Clause
    quote_y: Quote
    event: Clause
    category: Annotated[str, _bound(enum=list(CATEGORIES))] = "other"


class Clashes(BaseModel):
    """What the hybrid's proposer finds."""

    findings: Annotated[list[ClashSaid], _bound(maxItems=6)]


class VerdictSaid(BaseModel):
    """The verifier's word on one proposal."""

    number: int
    quote_x: Quote = ""
    quote_y: Quote = ""
    attribute: Name = ""
    explanation_quote: Annotated[str | None, _bound(maxLength=180)] = None
    reason: Text = ""
    decision: Annotated[str, _bound(enum=list(DECISIONS))]
    fact: Clause = ""
    event: Clause = ""


class Verdicts(BaseModel):
    """The verifier's word on a batch."""

    verdicts: Annotated[list[VerdictSaid], _bound(maxItems=12)]
