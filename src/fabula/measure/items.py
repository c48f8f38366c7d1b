"""The stories that are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.story import Brief, Story


@dataclass(frozen=True, slots=True)
class Item:
    """A story to be measured.

    Attributes:
        id: the story's name in the report, unique within a set.
        story: the story itself.
        system: the name of the story's writer; empty if unknown.
        prompt: the id of the brief for the story; stories with the same brief are compared with each other.
        brief: the brief itself, if known.
        reference: a story for comparison, if there is one.
        narrative: the narrative that a dialogue plays, if it is neither the brief nor a reference.
        source: the name of the story's data set; empty for your own stories.
    """

    id: str
    story: Story
    system: str = ""
    prompt: str = ""
    brief: Brief | None = None
    reference: Story | None = None
    narrative: str = ""
    source: str = ""

    @property
    def contender(self) -> str:
        """The name used for the story in comparisons: its system, or its id if the system is unknown."""
        return self.system or self.id
