"""The text of EPUB and OpenDocument files as Markdown: paragraphs, headings and emphasis; nothing else of them is read.

Emphasis is that of elements and of styles: an EPUB's style sheets, an OpenDocument file's styles.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from fabula.data.unpacked import LEFT_OUT, Style, Target, Unpacked, level_of_style, local, paragraph_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST_PARTS: Final = 5_000
_BLOCKS: Final = frozenset(
    {"p", "div", "li", "blockquote", "section", "article", "td", "th", "dt", "dd", "body", "pre"}
)
_HEADING: Final = re.compile(r"h([1-6])")
_LEFT_OUT: Final = frozenset(
    {"head", "script", "style", "svg", "math", "nav", "note", "annotation", "tracked-changes", "forms"}
    | {"sequence-decls", "table-of-content", "bibliography", "title", "desc"}
)
_NOTES: Final = frozenset({"footnote", "footnotes", "endnote", "endnotes", "rearnote", "rearnotes", "noteref"})
_ITALICS: Final = re.compile(r"font-style\s*:\s*(?:italic|oblique)")
_BOLDS: Final = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)")
_CLASS: Final = re.compile(r"\.([\w-]{1,100})\s*(?=,|\Z)")
_LINE: Final = "Horizontal_20_Line"  # a style of OpenDocument
_BASED: Final = 10  # styles, each based on the next
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
    """The paragraphs of a page of an EPUB, or of an OpenDocument text, whose `styles` have emphasis by their names."""

    def __init__(self, styles: Mapping[str, Style], chains: Mapping[str, list[str]] | None = None) -> None:
        self.paragraphs: list[str] = []
        self._styles = styles
        self._chains = chains or {}  # the styles of an OpenDocument text, each with those that it is based on
        self._skipped = 0
        self._is_open = chains is None  # of an OpenDocument text only its body is read
        self._inside: list[tuple[Style, int]] = [((False, False), 0)]
        self._pieces: list[tuple[Style, str]] = []
        self._title_page = 0  # where it is, in elements; only its headings are read
        self._deeper = 0  # how many levels a title moves headings down

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph, a heading, emphasis or a sign."""
        name = _local(tag)
        own = {_local(key): value for key, value in attributes.items()}
        kinds = own.get("type", "").split()
        if name in _LEFT_OUT or self._skipped or not _NOTES.isdisjoint(kinds):
            self._skipped += 1
            return
        if name == "text" and "office" in tag:
            self._is_open = True
        if heading := _HEADING.fullmatch(name) or name == "h" or name in _BLOCKS:
            self._end()
        if "titlepage" in kinds:
            self._title_page = len(self._inside)
        level = self._inside[-1][1]
        if name == "h" and (number := own.get("outline-level", "1")).isdecimal():
            level = int(number) + self._deeper
        elif isinstance(heading, re.Match):
            level = int(heading[1])
        elif name == "p" and self._chains:
            level = self._level(own.get("style-name", ""))
        self._inside.append((self._style(name, own), min(level, _DEEPEST_HEADING)))
        self._sign(name)

    def _level(self, style: str) -> int:
        """The level of a paragraph of OpenDocument in that style; only a title's is one of a heading."""
        names = self._chains.get(style) or [style]
        if _LINE in names:
            self.paragraphs.append(_BREAK)
        levels = {level_of_style(name.replace("_20_", " ")) for name in names}
        self._deeper = 1 if 1 in levels else self._deeper
        return next((level for level in (1, LEFT_OUT) if level in levels), 0)

    def _style(self, name: str, own: Mapping[str, str]) -> Style:
        """The emphasis in an element: that around it, its own, and that of its styles."""
        found = [self._inside[-1][0], (name in _ITALIC, name in _BOLD), _emphasis(own.get("style", ""))]
        names = (own.get("style-name", ""), *own.get("class", "").split())
        found += [self._styles.get(known, (False, False)) for known in names]
        return any(italic for italic, _ in found), any(bold for _, bold in found)

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
        if len(self._inside) == self._title_page:
            self._title_page = 0

    def close(self) -> None:
        """End the last paragraph."""
        self._end()

    def _end(self) -> None:
        level = self._inside[-1][1]
        if (text := paragraph_of(self._pieces, level)) and (level or not self._title_page):
            self.paragraphs.append(text)
        self._pieces = []


def _local(tag: str) -> str:
    return local(tag).casefold()


def epub_text(book: Unpacked, container: str) -> str:
    """The text of an EPUB in the order in which it is read.

    Raises:
        ValueError: it has no list of its parts.
    """
    roots = _Named("rootfile")
    book.read(container, roots)
    place = next((own["full-path"] for _, own in roots.found if own.get("full-path")), "")
    listed = _Named("item", "itemref")
    if not book.read(place, listed):
        raise ValueError("it has no list of its parts")
    files = {own["id"]: own for name, own in listed.found if name == "item" and "id" in own and "href" in own}
    sheets = [own["href"] for own in files.values() if own.get("media-type") == "text/css"]
    styles = dict(
        pair for href in sheets for pair in _classes(book.data(_beside(place, href)).decode("utf-8", "replace"))
    )
    paragraphs: list[str] = []
    order = [own for name, own in listed.found if name == "itemref" and own.get("linear") != "no"]
    for own in order[:_MOST_PARTS]:
        part = files.get(own.get("idref", ""), {})
        if part and "nav" not in part.get("properties", "").split():
            page = _Text(styles)
            book.read(_beside(place, part["href"]), page, _as_xml)
            paragraphs += page.paragraphs
    return "\n\n".join(paragraphs)


def _beside(place: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(href)))


def _classes(sheet: str) -> Iterator[tuple[str, Style]]:
    """The classes of a style sheet that have emphasis."""
    for rule in sheet.split("}"):
        selectors, _, declared = rule.rpartition("{")
        if any(style := _emphasis(declared)):
            yield from ((found[1], style) for found in _CLASS.finditer(selectors.strip()))


def _emphasis(declared: str) -> Style:
    return bool(_ITALICS.search(declared)), bool(_BOLDS.search(declared))


def _as_xml(page: str) -> str:
    """A page without its doctype, and with the signs that HTML has names for."""
    return _ENTITY.sub(lambda found: html.escape(html.unescape(found[0])), _DOCTYPE.sub("", page, count=1))


def odt_text(file: Unpacked, place: str) -> str:
    """The text of an OpenDocument file; deleted text, notes and comments are left out.

    Raises:
        ValueError: there is no text in it.
    """
    listed = _Named("style", "text-properties")
    file.read("styles.xml", listed)
    file.read(place, listed)
    based: dict[str, str] = {}
    own_styles: dict[str, Style] = {}
    name = ""
    for kind, own in listed.found:
        if kind == "style":
            name = own.get("name", "")
            based[name] = own.get("parent-style-name", "")
        elif "font-style" in own or "font-weight" in own:
            own_styles[name] = own.get("font-style") in ("italic", "oblique"), own.get("font-weight") == "bold"
    chains = {name: _chain(name, based) for name in [*based]}
    styles = {
        name: next((own_styles[one] for one in chain if one in own_styles), (False, False))
        for name, chain in chains.items()
    }
    text = _Text(styles, chains)
    file.read(place, text)
    return "\n\n".join(text.paragraphs)


def _chain(name: str, based: Mapping[str, str]) -> list[str]:
    """A style, and those that it is based on."""
    found = [name]
    while len(found) < _BASED and (name := based.get(name, "")):
        found.append(name)
    return found
