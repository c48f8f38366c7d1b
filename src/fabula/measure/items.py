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
        id: what it is called in the report; one of its kind in a set.
        story: the story itself.
        system: who wrote it; empty where not known.
        prompt: id of the brief it answers; stories of one prompt are compared with each other.
        brief: what was asked, where known.
        reference: a story to compare it with, where there is one.
        narrative: what a dialogue plays, where that is neither its brief nor a reference.
        source: the data set it is from, by name; empty for one's own.
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
        """What is compared with others: its system, or the story itself where that is not known."""
        return self.system or self.id
