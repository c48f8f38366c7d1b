"""Export of a story in the formats that do not need a library: Markdown, plain text, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fabula.story import Story, one_line, plain
from fabula.story.export.prose import is_break, title_of
from fabula.story.printed import printed

if TYPE_CHECKING:
    from fabula.story.export.meta import Meta


JSON_FORMAT: Final = "fabula-story"
JSON_VERSION: Final = 1
_SPECIAL: Final = re.compile(r"([\\`*_\[<])")
_HTML: Final = re.compile(r"([`\[<])")  # in a title, whose emphasis is kept
_ESCAPED: Final = r"\\\1"


def render_markdown(story: Story, meta: Meta) -> bytes:
    """A Markdown file in UTF-8 for sites, editors and pandoc: title, subtitle and author, followed by the scenes.

    The scenes stay as they were written, separated by `* * *`.
    """
    parts = [f"# {_HTML.sub(_ESCAPED, one_line(meta.title))}"] if meta.title.strip() else []
    parts += [f"**{_literal(meta.subtitle)}**"] if meta.subtitle.strip() else []
    parts += [f"*{_literal(meta.author)}*"] if meta.author.strip() else []
    parts += [_joined([text for scene in story.scenes if (text := _without_break(scene.text))])]
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "replace")


def as_written(story: Story, title: str, before: Sequence[str] = ()) -> str:
    """The texts as they are, below the title if there is one; for a manuscript in the format that it was read from.

    `before` are the line ends in front of each text, by default a blank line.
    """
    spaces = before or ["\n\n"] * len(story.scenes)
    texts = [(space or "\n\n") + plain(scene.text) for space, scene in zip(spaces, story.scenes, strict=True)]
    return (f"# {title}" + "".join(texts) if title else "".join(texts).lstrip("\n")) + "\n"


def _joined(texts: Sequence[str]) -> str:
    """Scenes with a break between two of them, unless the second has a title."""
    return "".join(
        (("\n\n" if title_of(text) else "\n\n* * *\n\n") if number else "") + text for number, text in enumerate(texts)
    )


def _without_break(text: str) -> str:
    """A scene's text without a break that it begins with, which stands between two scenes anyway."""
    first, _, rest = plain(text).partition("\n")
    return rest.lstrip("\n") if is_break(first) and rest.strip() else plain(text)


def _literal(text: str) -> str:
    """`text` on one line, with the characters escaped that Markdown would read."""
    return _SPECIAL.sub(_ESCAPED, one_line(text))


def render_text(story: Story, meta: Meta) -> bytes:
    """A plain text file in UTF-8: title, subtitle and author, followed by the scenes as written, separated by `* * *`.

    The author's own line ends and emphasis marks are kept.
    """
    byline = printed(meta.language).by.format(one_line(meta.author)) if meta.author.strip() else ""
    head = "\n".join(line for line in (one_line(meta.title), one_line(meta.subtitle), byline) if line)
    scenes = [text for scene in story.scenes if (text := _without_break(scene.text))]
    titles = [title_of(text) for text in scenes]
    scenes = [
        text.partition("\n")[2].lstrip("\n") if title else text for title, text in zip(titles, scenes, strict=True)
    ]
    body = ""
    for title, text in zip(titles, scenes, strict=True):
        between = ("\n\n\n" if title else "\n\n* * *\n\n") if body else ""
        body += f"{between}{title}\n\n{text}" if title else f"{between}{text}"
    return ("\n\n\n".join(part for part in (head, body) if part) + "\n").encode("utf-8", "replace")


def render_json(story: Story, meta: Meta) -> bytes:
    """A JSON object in UTF-8, for programs.

    Its fields are `format`, `version`, `title`, `author`, `words`, `brief`, `meta` and `scenes`. Each scene has
    `label`, `words` and `text`. `meta` has `subtitle`, `language`, `identifier` and `created` (UTC). The address block
    of a manuscript is left out, because it is private and JSON files are often published. Adding a field does not
    change the version; changing or removing a field raises it.
    """
    document = {
        "format": JSON_FORMAT,
        "version": JSON_VERSION,
        "title": meta.title,
        "author": meta.author,
        "words": meta.words,
        "brief": meta.brief,
        "meta": {
            "subtitle": meta.subtitle,
            "language": meta.language_tag(),
            "identifier": meta.urn(story),
            "created": meta.stamp(),
        },
        "scenes": [{"label": scene.label, "words": scene.words, "text": scene.text} for scene in story.scenes],
    }
    # A lone surrogate cannot be written as UTF-8; "replace" makes it a question mark.
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
