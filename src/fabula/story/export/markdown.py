"""A story as Markdown: what a site, an editor or pandoc takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabula.story import one_line, plain

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta

NAME = "markdown"
SUFFIX = ".md"
_SPECIAL = re.compile(r"([\\`*_\[<])")


def render(story: Story, meta: Meta, *, headings: bool = False) -> bytes:
    """Title, subtitle and author, then the scenes as they were written, in UTF-8.

    Scenes are parted by `* * *`, or with `headings` each has its label as heading.
    """
    parts = [f"# {_literal(meta.title)}"] if meta.title.strip() else []
    parts += [f"**{_literal(meta.subtitle)}**"] if meta.subtitle.strip() else []
    parts += [f"*{_literal(meta.author)}*"] if meta.author.strip() else []
    scenes = [(scene.label, plain(scene.text)) for scene in story.scenes]
    if headings:
        parts += [f"## {_literal(label)}\n\n{text}" if label.strip() else text for label, text in scenes]
    else:
        parts += ["\n\n* * *\n\n".join(text for _, text in scenes if text)]
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "replace")


def _literal(text: str) -> str:
    """`text` on one line, with the characters escaped that Markdown would read."""
    return _SPECIAL.sub(r"\\\1", one_line(text))
