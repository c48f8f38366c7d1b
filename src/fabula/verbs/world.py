"""`world`: what is true in the story, or what a character believes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import Field

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.world import conflicts_at, moment_of, person_of, world_of
from fabula.story.world import Entity, Fact, FactConflict, KnownFact  # noqa: TC001 - doors read them
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.story.world import WorldState

MOST_FACTS: Final = 2000
_MOST_CONFLICTS: Final = 200


@dataclass(frozen=True, slots=True)
class SceneTitle:
    """A scene's number and title."""

    number: int
    title: str


@dataclass(frozen=True, slots=True)
class WorldView:
    """The facts of the story's world at the end of a scene, or a character's beliefs at that time.

    Attributes:
        facts: the facts that follow number `after`; at most 2,000 over HTTP and in tools.
        known: the facts and when the character learned them, if a character is given.
        total: the number of facts.
        conflicts: facts that cannot both be true; at most 200 over HTTP and in tools.
    """

    at: str
    of: str
    facts: list[Fact]
    known: list[KnownFact]
    total: int
    after: int
    conflicts: list[FactConflict]
    entities: list[Entity]
    scenes: list[SceneTitle]

    @classmethod
    def of_state(cls, state: WorldState, at: str = "", of: str = "") -> Self:
        """Return all facts at the end of a scene, or everything that a character believes at that time.

        Raises:
            UnknownNameError: the scene or character does not exist.
        """
        moment = moment_of(state, at)
        who = person_of(state, of) if of else ""
        known = state.known_to(who, moment) if who else ()
        facts = [one.fact for one in known] if who else state.snapshot(moment)
        return cls(
            at=at,
            of=who,
            facts=list(facts),
            known=list(known),
            total=len(facts),
            after=0,
            conflicts=conflicts_at(state, moment),
            entities=[one for one in state.entities() if one.scene <= moment.scene],
            scenes=[SceneTitle(row.no, row.title) for row in state.scenes()],
        )


@verb("GET", "/world", "story")
async def world(
    project: Workspace,
    at: Annotated[
        str, Field(max_length=200, description="The number or title of the scene at whose end to look.")
    ] = "",
    of: Annotated[str, Field(max_length=200, description="Of whom.")] = "",
    after: Annotated[int, Field(ge=0, le=2**31 - 1, description="Number of facts to skip.")] = 0,
    most: Annotated[int, Field(ge=1, le=MOST_FACTS, description="Maximum number of facts to return.")] = MOST_FACTS,
) -> WorldView:
    """Return what is true in the story at the end of a scene, or what a character believes at that time.

    The result includes facts that cannot both be true.

    Raises:
        ProjectError: there is no world yet.
        UnknownNameError: the scene or character does not exist.
    """

    def looked() -> WorldView:
        with world_of(project.project()) as state:
            found = WorldView.of_state(state, at, of)
        return replace(
            found,
            facts=found.facts[after : after + most],
            known=found.known[after : after + most],
            after=after,
            conflicts=found.conflicts[:_MOST_CONFLICTS],
        )

    found: WorldView = project.cached(f"world\0{at}\0{of}\0{after}\0{most}", looked)
    return found
