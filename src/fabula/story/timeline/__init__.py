"""Pictures of a plan's two orders (telling or syuzhet, events or fabula) and of the characters in each scene."""

from __future__ import annotations

from fabula.story.timeline.lines import Timeline, TimelineLine, timeline_data
from fabula.story.timeline.svg import timeline_svg
from fabula.story.timeline.text import timeline_text

__all__ = ["Timeline", "TimelineLine", "timeline_data", "timeline_svg", "timeline_text"]
