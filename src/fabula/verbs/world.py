"""`world`: what is true in the story, or what somebody takes for true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import Field

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.world import moment_of, person_of, world_of
from fabula.story.world import Entity  # noqa: TC001 - doors read it
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.story.world import Conflict, Fact

MOST_FACTS: Final = 2000
_MOST_CONFLICTS: Final = 200


@dataclass(frozen=True, slots=True)
class FactClosed:
    """What ended a fact: which other one, in which scene, and how the story accounts for it."""

    by: int
    scene: int
    reason: str


@dataclass(frozen=True, slots=True)
class FactView:
    """An assertion about the story's world.

    Attributes:
        denied: it says that this is not so.
        modality: "asserted", "author" (set down beforehand), "reported", "believed", "planned", ...
        scene: in which it is told.
        witnesses: who learns of it there; null for everybody.
        story_from, story_to: story times between which it is true.
        since: the scene in which the person asked about learned of it.
        outdated: it is true no more, and that person does not know it.
    """

    id: int
    subject: str
    slot: str
    value: Any
    denied: bool
    modality: str
    source: str
    scene: int
    offset: int
    quote: str
    span: list[int] | None
    witnesses: list[str] | None
    about: list[str]
    story_from: str
    story_to: str
    durability: str
    confidence: float
    closed: FactClosed | None
    since: int | None = None
    outdated: bool = False

    @classmethod
    def of(cls, fact: Fact, since: int | None = None, *, outdated: bool = False) -> Self:
        """The same, for who is not in this process."""
        closed = fact.closed
        value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
        return cls(
            id=fact.id,
            subject=fact.subject,
            slot=fact.slot,
            value=value,
            denied=not fact.polarity,
            modality=fact.modality,
            source=fact.source,
            scene=fact.told.scene,
            offset=fact.told.offset,
            quote=fact.quote,
            span=list(fact.span) if fact.span else None,
            witnesses=None if fact.witnesses is None else list(fact.witnesses),
            about=list(fact.about),
            story_from=fact.story_from,
            story_to=fact.story_to,
            durability=fact.durability,
            confidence=fact.confidence,
            closed=None if closed is None else FactClosed(closed.by, closed.at.scene, closed.reason),
            since=since,
            outdated=outdated,
        )


@dataclass(frozen=True, slots=True)
class ConflictView:
    """Two facts that cannot both be true; `canon` where the earlier one was set down beforehand."""

    earlier: FactView
    later: FactView
    canon: bool

    @classmethod
    def of(cls, one: Conflict) -> Self:
        """The same, for who is not in this process."""
        return cls(FactView.of(one.earlier), FactView.of(one.later), one.canon)


@dataclass(frozen=True, slots=True)
class SceneTitle:
    """A scene's number and title."""

    number: int
    title: str


@dataclass(frozen=True, slots=True)
class WorldView:
    """What stands in the story's world at the end of a scene, or what somebody takes for true then.

    `total` says how many facts there are; at most 2,000 are given, from `after` on.
    """

    at: str
    of: str
    facts: list[FactView]
    total: int
    after: int
    conflicts: list[ConflictView]
    entities: list[Entity]
    scenes: list[SceneTitle]


@verb("GET", "/world", "story")
async def world(
    project: Workspace,
    at: Annotated[str, Field(max_length=200, description="At the end of a scene: its number or title.")] = "",
    of: Annotated[str, Field(max_length=200, description="Of whom.")] = "",
    after: Annotated[int, Field(ge=0, le=2**31 - 1, description="So many facts are left out.")] = 0,
    most: Annotated[int, Field(ge=1, le=MOST_FACTS, description="So many facts are given at once.")] = MOST_FACTS,
) -> WorldView:
    """What is true in the story at the end of a scene, or what somebody takes for true then.

    With what cannot both be true.

    Raises:
        ProjectError: there is no world yet.
        UnknownNameError: there is no such scene, or nobody of that name.
    """
    found: WorldView = project.cached(
        f"world\0{at}\0{of}\0{after}\0{most}", lambda: _world(project, at, of, after, most)
    )
    return found


def _world(project: Workspace, at: str, of: str, after: int, most: int) -> WorldView:
    with world_of(project.project()) as state:
        moment = moment_of(state, at)
        who = person_of(state, of) if of else ""
        known = {one.fact.id: one for one in state.known_to(who, moment)} if who else {}
        facts = [one.fact for one in known.values()] if who else list(state.snapshot(moment))
        shown = (
            FactView.of(one, known[one.id].since.scene, outdated=known[one.id].outdated) if who else FactView.of(one)
            for one in facts[after : after + most]
        )
        conflicts = [one for one in state.conflicts() if one.later.told <= moment]
        return WorldView(
            at=at,
            of=who,
            facts=list(shown),
            total=len(facts),
            after=after,
            conflicts=[ConflictView.of(one) for one in conflicts[:_MOST_CONFLICTS]],
            entities=[one for one in state.entities() if one.scene <= moment.scene],
            scenes=[SceneTitle(row.no, row.title) for row in state.scenes()],
        )
