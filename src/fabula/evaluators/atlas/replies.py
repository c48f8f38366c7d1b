"""What the roles reply. Bounds hold for small models only, and nothing is refused for being longer."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from fabula.engine.replies import short
from fabula.evaluators.atlas.findings import CATEGORIES
from fabula.evaluators.atlas.graph import ENTITY_TYPES, RELATIONS
from fabula.story.world.facts import DURABILITIES, MODALITIES

ERROR: Final = "error"
DECISIONS: Final = (ERROR, "other_thing", "other_attribute", "no_difference", "explained")
FACT_KINDS: Final = ("attribute", "relation", "event", "before", "after")
FACT_MODALITIES: Final = tuple(name for name in MODALITIES if name != "author")


def _one_of(names: tuple[str, ...]) -> Any:  # noqa: ANN401 - what pydantic takes as a field
    """Names that the schema alone gives: an engine keeps to them, and another is read, to be dropped and counted."""
    return Field(json_schema_extra={"enum": list(names)})


Name = Annotated[str, short(60)]
Clause = Annotated[str, short(110)]
Text = Annotated[str, short(160)]
Quote = Annotated[str, short(180)]
NodeId = Annotated[str, short(6)]
Category = Annotated[str, _one_of(tuple(CATEGORIES))]


class EventReply(BaseModel):
    """Something that happens in a scene."""

    name: Name
    description: Text = ""
    evidence: Quote


class Events(BaseModel):
    """Pass 1."""

    events: Annotated[list[EventReply], short(15)]


class EntityReply(BaseModel):
    """A person, place, time, thing, vehicle or idea of a scene, with the numbers of its events."""

    name: Name
    type: Annotated[str, _one_of(ENTITY_TYPES)]
    aliases: Annotated[list[Name], short(4)] = []
    description: Text = ""
    evidence: Quote
    events: Annotated[list[int], short(6)] = []


class Entities(BaseModel):
    """Pass 2."""

    entities: Annotated[list[EntityReply], short(25)]


class RelationReply(BaseModel):
    """A typed edge between two nodes, named by their ids."""

    source: NodeId
    relation: Annotated[str, _one_of(tuple(RELATIONS))]
    target: NodeId
    evidence: Quote


class Relations(BaseModel):
    """Pass 3."""

    relations: Annotated[list[RelationReply], short(30)]


class AttributeReply(BaseModel):
    """A property of a node; `passing` for what holds for a moment only."""

    node: NodeId = ""
    predicate: Name
    value: Clause
    evidence: Quote = ""
    passing: bool = False


class Attributes(BaseModel):
    """The attribute pass."""

    attributes: Annotated[list[AttributeReply], short(30)]


class ProposalReply(BaseModel):
    """A contradiction between two scenes, in clauses."""

    x: int
    y: int
    fact: Clause
    event: Clause
    category: Category = "other"


class Proposals(BaseModel):
    """What a proposer finds in a scene."""

    findings: Annotated[list[ProposalReply], short(20)]


class Judged(BaseModel):
    """What the plain judge finds in a whole story."""

    findings: Annotated[list[ProposalReply], short(40)]


class FactReply(BaseModel):
    """A fact that a passage states (hybrid)."""

    kind: Annotated[str, _one_of(FACT_KINDS)] = "attribute"
    subject: Name
    slot: Name
    value: Annotated[str, short(80)]
    quote: Quote
    modality: Annotated[str, _one_of(FACT_MODALITIES)] = "asserted"
    by: Name = ""
    lasts: Annotated[str, _one_of(DURABILITIES)] = "durable"


class Facts(BaseModel):
    """The one extraction of the hybrid."""

    facts: Annotated[list[FactReply], short(28)]


class ClashReply(BaseModel):
    """A contradiction that the hybrid's proposer sees; `known` is the number of a known fact, 0 for none."""

    known: int = 0
    quote_x: Quote = ""
    fact: Clause
    quote_y: Quote
    event: Clause
    category: Category = "other"


class Clashes(BaseModel):
    """What the hybrid's proposer finds."""

    findings: Annotated[list[ClashReply], short(6)]


class VerdictReply(BaseModel):
    """The verifier's decision on one proposal."""

    number: int
    quote_x: Quote = ""
    quote_y: Quote = ""
    attribute: Name = ""
    explanation_quote: Quote | None = None
    reason: Text = ""
    decision: Annotated[str, _one_of(DECISIONS)]
    fact: Clause = ""
    event: Clause = ""


class Verdicts(BaseModel):
    """The verifier's decisions on a batch."""

    verdicts: Annotated[list[VerdictReply], short(12)]
