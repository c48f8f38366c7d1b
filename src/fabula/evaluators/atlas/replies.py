"""What the roles reply. Bounds hold for small models only, and nothing is refused for being longer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, Field

from fabula.engine.replies import short
from fabula.evaluators.atlas.findings import CATEGORIES
from fabula.evaluators.atlas.graph import ENTITY_TYPES, RELATIONS

ERROR: Final = "error"
DECISIONS: Final = (ERROR, "other_thing", "other_attribute", "no_difference", "explained")
READER_DECISIONS: Final = (ERROR, "explained", "not_meant", "other_thing", "both_true", "not_said")
SURE: Final = ("certain", "likely", "possible")
SUSPECTED: Final = "suspected"
"""How sure a finding is that nobody verified who can be relied on."""


def _one_of(names: tuple[str, ...]) -> Any:  # noqa: ANN401 - what pydantic takes as a field
    """Names that the schema alone gives: an engine keeps to them, and another is read, to be dropped and counted."""
    return Field(json_schema_extra={"enum": list(names)})


Name = Annotated[str, short(60)]
Clause = Annotated[str, short(110)]
Text = Annotated[str, short(160)]
Quote = Annotated[str, short(180)]
NodeId = Annotated[str, short(6)]
Category = Annotated[str, _one_of(tuple(CATEGORIES))]
Sure = Annotated[str, _one_of(SURE)]


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
    """A property of a node."""

    predicate: Name
    value: Clause
    evidence: Quote = ""


class Attributes(BaseModel):
    """The attribute pass."""

    attributes: Annotated[list[AttributeReply], short(30)]


class ProposalReply(BaseModel):
    """A contradiction between two scenes, in clauses."""

    x: int
    y: int
    fact: Clause
    event: Clause


class Proposals(BaseModel):
    """What a proposer finds in a scene."""

    findings: Annotated[list[ProposalReply], short(20)]


class PlainJudgement(BaseModel):
    """What the plain judge finds in a whole story."""

    findings: Annotated[list[ProposalReply], short(40)]


class NoteReply(BaseModel):
    """A fact that later parts could contradict; `by` names whose word or belief it is, if not the story's own."""

    paragraph: int
    about: Name = ""
    fact: Text
    by: Name = ""
    category: Category = "other"


class SuspicionReply(BaseModel):
    """Two places that cannot both be true, as a reader or the verifier lists them."""

    paragraph_x: int
    quote_x: Quote = ""
    says_x: Text = ""
    paragraph_y: int
    quote_y: Quote = ""
    says_y: Text = ""
    why: Text = ""
    category: Category = "other"
    sure: Sure = "likely"
    also: Annotated[list[int], short(6)] = []


class ReaderReply(BaseModel):
    """What a reader of the whole story finds."""

    WHOLE_ENTRIES: ClassVar[bool] = True

    findings: Annotated[list[SuspicionReply], short(8)]


class PartReading(ReaderReply):
    """What a reader of a part finds, and notes for those who read on."""

    notes: Annotated[list[NoteReply], short(24)] = []


class DecisionReply(BaseModel):
    """The verifier's decision on a suspicion."""

    number: int
    paragraph_x: int = 0
    quote_x: Quote = ""
    paragraph_y: int = 0
    quote_y: Quote = ""
    explanation: Text = ""
    reason: Text = ""
    decision: Annotated[str, _one_of(READER_DECISIONS)]
    sure: Sure = "likely"
    says_x: Text = ""
    says_y: Text = ""


class VerifierDecisions(BaseModel):
    """The verifier's decisions on a batch, and errors that were not on its list."""

    WHOLE_ENTRIES: ClassVar[bool] = True

    decisions: Annotated[list[DecisionReply], short(18)]
    others: Annotated[list[SuspicionReply], short(4)] = []


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
