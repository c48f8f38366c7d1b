"""A finished story as a file for readers, editors and programs.

What is heavy to import is imported when a format is rendered, since most commands export nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UnknownNameError
from fabula.base.plugins import plugins
from fabula.story.export import docx, epub, fountain, plain
from fabula.story.export.meta import Meta
from fabula.story.export.prose import without_comments

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.base.plugins import Plugins
    from fabula.story import Story

__all__ = ["Format", "Meta", "find", "formats", "without_comments"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that stories are written in.

    Attributes:
        name: as users type it.
        suffix: of its files.
        write: makes the file of a story without comments.
    """

    name: str
    suffix: str
    write: Callable[..., bytes | str]

    def render(self, story: Story, meta: Meta, **options: Any) -> bytes:  # noqa: ANN401 - each format has its own
        """The whole file, without what stands in comments; equal input gives equal bytes."""
        made = self.write(without_comments(story), meta, **options)
        return made.encode() if isinstance(made, str) else made


_OWN: Final = {
    format_.name: format_
    for format_ in (
        Format("docx", ".docx", docx.render),
        Format("epub", ".epub", epub.render),
        Format("fountain", ".fountain", fountain.render),
        Format("json", ".json", plain.render_json),
        Format("markdown", ".md", plain.render_markdown),
        Format("text", ".txt", plain.render_text),
    )
}


def formats() -> dict[str, Format]:
    """All formats by name: fabula's own, and those of installed packages.

    A package names its own as entry points of the group `fabula.exporters`: `html = "my_papers:as_html"` is a function
    of a story and its `Meta` that gives the text or the bytes of a file whose name ends in `.html`.
    """
    return _OWN | {name: Format(name, f".{name}", plugin) for name, plugin in brought().found.items()}


def brought() -> Plugins:
    """What installed packages bring for it."""
    return plugins("fabula.exporters", [*_OWN, "md", "txt"], "format")


def find(name: str) -> Format:
    """The format of that name or file suffix, in any case: "epub", ".EPUB", "md".

    Raises:
        UnknownNameError: there is none.
    """
    wanted = name.lower().removeprefix(".")
    for format_ in (found := formats()).values():
        if wanted in {format_.name, format_.suffix.removeprefix(".")}:
            return format_
    raise UnknownNameError("format", name, found)
