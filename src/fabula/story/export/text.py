"""A story as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fabula.story import one_line, plain
from fabula.story.export.prose import is_break, paragraphs, unfold

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta

NAME = "text"
SUFFIX = ".txt"


def render(story: Story, meta: Meta, *, width: int = 0) -> bytes:
    """Title, subtitle and author, then the scenes as they were written, parted by `* * *`, in UTF-8.

    With a `width`, paragraphs are wrapped to that many characters; line ends that the author meant stay, and signs
    for emphasis stay as typed.
    """
    byline = f"by {one_line(meta.author)}" if meta.author.strip() else ""
    head = "\n".join(line for line in (one_line(meta.title), one_line(meta.subtitle), byline) if line)
    scenes = [plain(scene.text) for scene in story.scenes]
    if width:
        head, scenes = _wrap_lines(head, width), [_wrapped(text, width) for text in scenes]
    body = "\n\n* * *\n\n".join(text for text in scenes if text)
    return ("\n\n\n".join(part for part in (head, body) if part) + "\n").encode("utf-8", "replace")


def _wrapped(text: str, width: int) -> str:
    """Every paragraph of `text` wrapped to `width`."""
    return "\n\n".join(_wrap_lines(unfold(paragraph), width) for paragraph in paragraphs(text))


def _wrap_lines(text: str, width: int) -> str:
    """Every line of `text` wrapped to `width`; a word longer than that stays whole."""
    return "\n".join(
        line
        if is_break(line)
        else textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False, expand_tabs=False)
        for line in text.split("\n")
    )
