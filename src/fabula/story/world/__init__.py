"""The world of a story: typed facts with two times, the witnesses of each fact, and later changes.

`WorldState` records facts and answers queries, `flat` is MAGNET's view of the world, and `graph` and `file` write the
world for other programs and for people.
"""

from __future__ import annotations

from fabula.story.world.facts import Closing, Entity, Fact, Moment
from fabula.story.world.queries import Diff, FactConflict, KnownFact
from fabula.story.world.state import NOW, WorldState

__all__ = ["NOW", "Closing", "Diff", "Entity", "Fact", "FactConflict", "KnownFact", "Moment", "WorldState"]
