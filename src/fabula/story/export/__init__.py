"""Export of a finished story to files for readers, editors and programs.

Slow imports are delayed until a format is rendered, because most commands do not export anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UnknownNameError
from fabula.base.plugins import Plugins, plugins
from fabula.story.export import docx, epub, fdx, fountain, odt, plain, rtf
from fabula.story.export.meta import Meta
from fabula.story.export.prose import without_comments

if TYPE_CHECKING:
    from fabula.story import Story


__all__ = ["LISTED", "Format", "Meta", "find", "formats", "without_comments"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format for stories.

    Attributes:
        name: the name of the format for users.
        suffix: the suffix of files in this format.
        title: what writers call it.
        write: the function that creates a file from a story without comments.
    """

    name: str
    suffix: str
    title: str
    write: Callable[..., bytes | str]

    def render(self, story: Story, meta: Meta, **options: Any) -> bytes:  # noqa: ANN401 - each format has its own
        """The complete file without comments; equal input always results in equal bytes."""
        made = self.write(without_comments(story), meta, **options)
        return made.encode() if isinstance(made, str) else made


_NO_PDF: Final = "For a PDF, export docx or odt and print that, or choose “PDF or print” at Export in the studio."
_OWN: Final = {
    format_.name: format_
    for format_ in (
        Format("docx", ".docx", "Word", docx.render),
        Format("epub", ".epub", "EPUB", epub.render),
        Format("odt", ".odt", "OpenDocument", odt.render),
        Format("rtf", ".rtf", "Rich Text", rtf.render),
        Format("markdown", ".md", "Markdown", plain.render_markdown),
        Format("text", ".txt", "Plain text", plain.render_text),
        Format("fountain", ".fountain", "Fountain", fountain.render),
        Format("fdx", ".fdx", "Final Draft", fdx.render),
        Format("json", ".json", "JSON", plain.render_json),
    )
}
LISTED: Final = "md, epub, docx, odt, rtf, fountain, fdx, txt or json"
"""The formats as users name them, for help."""


def formats() -> dict[str, Format]:
    """All formats by name: fabula's own formats and those of installed packages.

    A package registers its formats as entry points of the group `fabula.exporters`. For example, `html =
    "my_papers:as_html"` refers to a function that accepts a story and its `Meta` and returns the text or bytes of an
    `.html` file.
    """
    return _OWN | {name: Format(name, f".{name}", name, plugin) for name, plugin in brought().found.items()}


def brought() -> Plugins:
    """The formats from installed packages."""
    return plugins("fabula.exporters", [*_OWN, "md", "txt"], "format")


def find(name: str) -> Format:
    """The format with this name or file suffix, ignoring case: "epub", ".EPUB", "md".

    Raises:
        UnknownNameError: there is no such format.
    """
    wanted = name.lower().removeprefix(".")
    for format_ in (found := formats()).values():
        if wanted in {format_.name, format_.suffix.removeprefix(".")}:
            return format_
    raise UnknownNameError("format", name, found, _NO_PDF if wanted == "pdf" else "")
