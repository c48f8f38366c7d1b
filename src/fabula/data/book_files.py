"""The text of EPUB and OpenDocument files as Markdown: paragraphs, headings and emphasis; nothing else of them is read.

As with Word files nothing is unpacked to the disk, and all that is read of one file has a bound.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from fabula.data.word_files import Style, Target, Unpacked, paragraph_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_PARTS: Final = 5_000
_BLOCKS: Final = frozenset(
    {"p", "div", "li", "blockquote", "section", "article", "td", "th", "dt", "dd", "body", "pre"}
)
_HEADING: Final = re.compile(r"h([1-6])")
_LEFT_OUT: Final = frozenset(
    {"head", "script", "style", "svg", "math", "nav", "note", "annotation", "tracked-changes", "forms"}
    | {"sequence-decls", "table-of-content", "bibliography"}
)
_ITALIC, _BOLD = frozenset({"i", "em", "cite"}), frozenset({"b", "strong"})
_DEEPEST_HEADING: Final = 6
_DOCTYPE: Final = re.compile(r"<!DOCTYPE[^>\[]{0,1000}>", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")
_BREAK: Final = "* * *"


class _Named(Target):
    """The elements of some names with their attributes, in order."""

    def __init__(self, *names: str) -> None:
        self.found: list[tuple[str, dict[str, str]]] = []
        self._names = names

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take an element up."""
        if (name := _local(tag)) in self._names:
            self.found.append((name, {_local(key): value for key, value in attributes.items()}))


class _Text(Target):
    """The paragraphs of a page of an EPUB, or of an OpenDocument text; `styles` are its styles with emphasis."""

    def __init__(self, styles: Mapping[str, Style] | None = None) -> None:
        self.paragraphs: list[str] = []
        self._styles = dict(styles or {})
        self._skipped = 0
        self._is_open = styles is None  # of an OpenDocument text only its body is read
        self._inside: list[tuple[Style, int]] = [((False, False), 0)]
        self._pieces: list[tuple[Style, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph, a heading, emphasis or a sign."""
        name = _local(tag)
        if name in _LEFT_OUT or self._skipped:
            self._skipped += 1
            return
        style, level = self._inside[-1]
        own = {_local(key): value for key, value in attributes.items()}
        if name == "text" and "office" in tag:
            self._is_open = True
        if heading := _HEADING.fullmatch(name):
            self._end()
            level = int(heading[1])
        elif name == "h":
            self._end()
            level = int(number) if (number := own.get("outline-level", "1")).isdecimal() else 1
        elif name in _BLOCKS:
            self._end()
        style = style[0] or name in _ITALIC, style[1] or name in _BOLD
        if name == "span" and (known := self._styles.get(own.get("style-name", ""))):
            style = style[0] or known[0], style[1] or known[1]
        self._inside.append((style, min(level, _DEEPEST_HEADING)))
        self._sign(name)

    def _sign(self, name: str) -> None:
        if name in ("br", "line-break"):
            self._pieces.append((self._inside[-1][0], "\n"))
        elif name in ("tab", "s"):
            self._pieces.append((self._inside[-1][0], " "))
        elif name == "hr":
            self._end()
            self.paragraphs.append(_BREAK)

    def data(self, text: str) -> None:
        """Take text up."""
        if not self._skipped and self._is_open:
            shown = re.sub(r"\s+", " ", text)
            if not self._pieces or self._pieces[-1][1][-1:].isspace():
                shown = shown.lstrip()
            self._pieces += [(self._inside[-1][0], shown)] if shown else []

    def end(self, tag: str) -> None:
        """End a paragraph."""
        if self._skipped:
            self._skipped -= 1
            return
        name = _local(tag)
        if name in _BLOCKS or name == "h" or _HEADING.fullmatch(name):
            self._end()
        self._inside.pop()

    def close(self) -> None:
        """End the last paragraph."""
        self._end()

    def _end(self) -> None:
        if text := paragraph_of(self._pieces, self._inside[-1][1]):
            self.paragraphs.append(text)
        self._pieces = []


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].casefold()


def epub_text(book: Unpacked) -> str:
    """The text of an EPUB in the order in which it is read.

    Raises:
        ValueError: it has no list of its parts.
    """
    roots = _Named("rootfile")
    book.read("META-INF/container.xml", roots)
    place = next((own["full-path"] for _, own in roots.found if own.get("full-path")), "")
    listed = _Named("item", "itemref")
    if not book.read(place, listed):
        raise ValueError("it has no list of its parts")
    files = {own["id"]: own for name, own in listed.found if name == "item" and "id" in own and "href" in own}
    paragraphs: list[str] = []
    order = [own for name, own in listed.found if name == "itemref" and own.get("linear") != "no"]
    for own in order[:_MOST_PARTS]:
        part = files.get(own.get("idref", ""), {})
        if part and "nav" not in part.get("properties", "").split():
            page = _Text()
            where = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(part["href"])))
            book.read(where, page, _as_xml)
            paragraphs += page.paragraphs
    return "\n\n".join(paragraphs)


def _as_xml(page: str) -> str:
    """A page without its doctype, and with the signs that HTML has names for."""
    return _ENTITY.sub(lambda found: html.escape(html.unescape(found[0])), _DOCTYPE.sub("", page, count=1))


def odt_text(file: Unpacked) -> str:
    """The text of an OpenDocument file; deleted text, notes and comments are left out.

    Raises:
        ValueError: there is no text in it.
    """
    listed = _Named("style", "text-properties")
    styles: dict[str, Style] = {}
    name = ""
    file.read("content.xml", listed)
    for kind, own in listed.found:
        if kind == "style":
            name = own.get("name", "")
        elif name:
            styles[name] = own.get("font-style") == "italic", own.get("font-weight") == "bold"
    text = _Text(styles)
    file.read("content.xml", text)
    return "\n\n".join(text.paragraphs)
