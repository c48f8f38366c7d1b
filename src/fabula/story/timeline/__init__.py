"""Pictures of a plan in its two orders of time: told (syuzhet) over happening (fabula), and who is in which scene."""

from __future__ import annotations

from fabula.story.timeline.lines import Timeline, TimelineLine, timeline_data
from fabula.story.timeline.svg import timeline_svg
from fabula.story.timeline.text import timeline_text

__all__ = ["Timeline", "TimelineLine", "timeline_data", "timeline_svg", "timeline_text"]
