"""The world of a story: typed facts with two times, who witnessed them, and what became of them.

`WorldState` records facts and answers questions; `flat` is MAGNET's view of it; `graph` and `file`
write it for other programs and people.
"""

from __future__ import annotations

from fabula.story.world.facts import Closing, Entity, Fact, Moment
from fabula.story.world.queries import Diff, FactConflict, KnownFact
from fabula.story.world.state import NOW, WorldState

__all__ = ["NOW", "Closing", "Diff", "Entity", "Fact", "FactConflict", "KnownFact", "Moment", "WorldState"]
