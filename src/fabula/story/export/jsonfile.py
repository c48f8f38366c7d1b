"""A story as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta

NAME = "json"
SUFFIX = ".json"
FORMAT = "fabula-story"
VERSION = 1


def render(story: Story, meta: Meta) -> bytes:
    """One object, in UTF-8: `format`, `version`, `title`, `author`, `words`, `brief`, `meta` and `scenes`.

    A scene has `label`, `words` and `text`. `meta` has `subtitle`, `language`, `identifier` and `created` (UTC). The
    address block of a manuscript is left out: it is private, and such files get published. A new field keeps the
    version; a field that changes or goes raises it.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
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
