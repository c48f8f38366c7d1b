"""A finished story as a file for readers, editors and programs.

What is heavy to import is imported when a format is rendered, since most commands export nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError
from fabula.story.export import docx, epub, fountain, plain
from fabula.story.export.meta import Meta

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMATS", "Format", "Meta", "find"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that stories are written in.

    Attributes:
        name: as users type it.
        suffix: of its files.
        render: the whole file, of a story and its `Meta`; its options are keyword arguments. Equal input gives equal
            bytes.
    """

    name: str
    suffix: str
    render: Callable[..., bytes]


FORMATS: Final = {
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


def find(name: str) -> Format:
    """The format of that name or file suffix, in any case: "epub", ".EPUB", "md".

    Raises:
        UnknownNameError: there is none.
    """
    wanted = name.lower().removeprefix(".")
    for format_ in FORMATS.values():
        if wanted in {format_.name, format_.suffix.removeprefix(".")}:
            return format_
    raise UnknownNameError("format", name, FORMATS)
