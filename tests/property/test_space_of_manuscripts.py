"""The parts of a manuscript, with the line ends in front of them, are the manuscript."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.continuity.parts import manuscript
from fabula.story import Story, count_words, plain
from fabula.story.export.plain import as_written

LINES = ["# The Lamp", "## One", "### Two", "Mara came.", "She *left*.", "* * *", "***", "Chapter 1", "Chapter 2", "3"]


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(LINES), st.integers(1, 5)), min_size=1, max_size=12), st.booleans())
def test_no_line_end_is_lost(lines: list[tuple[str, int]], is_screenplay: bool) -> None:  # noqa: FBT001 - drawn
    text = "".join(line + "\n" * count for line, count in [*lines, ("The end.", 1)])
    found = manuscript(text, is_screenplay=is_screenplay)
    story = Story(found.title)
    for part in found.parts:
        story = story.add(part.name, part.text)
    assert count_words(story.text)
    assert as_written(story, found.title, [part.space for part in found.parts]) == plain(text) + "\n"
