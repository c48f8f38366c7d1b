"""The text of EPUB, OpenDocument and Word files as Markdown, with headings and emphasis; what else is there is counted.

Emphasis is that of elements and of styles: an EPUB's style sheets, an OpenDocument file's styles.
"""

from __future__ import annotations

import html
import posixpath
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from fabula.base.errors import UsageError
from fabula.data.unpacked import LEFT_OUT, TABLE, Style, Target, Unpacked, level_of_style, local, paragraph_of

_MOST_PARTS: Final = 5_000
_BLOCKS: Final = frozenset(
    {"p", "div", "li", "blockquote", "section", "article", "td", "th", "dt", "dd", "body", "pre"}
)
_HEADING: Final = re.compile(r"h([1-6])")
_LEFT_OUT: Final = frozenset(
    {"head", "script", "style", "svg", "math", "nav", "note", "annotation", "tracked-changes", "forms"}
    | {"sequence-decls", "table-of-content", "bibliography", "title", "desc", "rt", "rp", "ruby-text"}
)
_COUNTED: Final = {
    "svg": "picture", "img": "picture", "image": "picture", "math": "formula", "annotation": "comment",
    "table-of-content": "contents list", "bibliography": "bibliography", "rt": "ruby text", "ruby-text": "ruby text",
    "table": TABLE, "audio": "embedded object", "video": "embedded object", "iframe": "embedded object",
}  # fmt: skip
_NOTES: Final = {
    "footnote": "footnote", "endnote": "endnote", "rearnote": "endnote", "noteref": "noteref",
    "footnotes": "", "endnotes": "", "rearnotes": "",
}  # fmt: skip
_MARGINS: Final = frozenset(f"{name}{page}" for name in ("header", "footer") for page in ("", "-left", "-first"))
_ITALICS: Final = re.compile(r"font-style\s*:\s*(?:italic|oblique)")
_BOLDS: Final = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)")
_CLASS: Final = re.compile(r"\.([\w-]{1,100})\s*(?=,|\Z)")
_LINE: Final = "Horizontal_20_Line"  # a style of OpenDocument
_BASED: Final = 10  # styles, each based on the next
_ITALIC, _BOLD = frozenset({"i", "em", "cite"}), frozenset({"b", "strong"})
_DEEPEST_HEADING: Final = 6
_HEAD: Final = re.compile(r"\A(?:\s*<\?xml[^>]{0,200}\?>)?\s*(?:<!DOCTYPE[^>\[]{0,1000}>)?", re.IGNORECASE)
_ENCODING: Final = re.compile(rb"<\?xml[^>]{1,100}encoding=[\"']([\w.-]{1,40})")
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


class _Margins(Target):
    """Counts the headers and footers of an OpenDocument text that have words."""

    def __init__(self, left_out: Counter[str]) -> None:
        self._left_out = left_out
        self._name = ""  # of the one that is open and has none yet

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 - all are alike
        """Take up a header or footer."""
        self._name = name if (name := _local(tag)) in _MARGINS else self._name

    def data(self, text: str) -> None:
        """Count a header or footer by its first words."""
        if self._name and any(map(str.isalpha, text)):
            self._left_out[f"page {self._name.partition('-')[0]}"] += 1
            self._name = ""

    def end(self, tag: str) -> None:
        """End a header or footer."""
        self._name = "" if _local(tag) in _MARGINS else self._name


class _Text(Target):
    """The paragraphs of a page of an EPUB, or of an OpenDocument text, whose `styles` have emphasis by their names."""

    def __init__(
        self, styles: Mapping[str, Style], left_out: Counter[str], chains: Mapping[str, list[str]] | None = None
    ) -> None:
        self.paragraphs: list[str] = []
        self._styles = styles
        self._left_out = left_out
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
        kinds = f"{own.get('type', '')} {own.get('role', '').replace('doc-', '')}".split()
        if name == "note":
            kinds.append(own.get("note-class", "footnote"))
        note = next((_NOTES[kind] for kind in kinds if kind in _NOTES), None)
        self._count(name, note)
        if name in _LEFT_OUT or self._skipped or note is not None:
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

    def _count(self, name: str, note: str | None) -> None:
        """Count an element that is left out, or a table; within what is left out, only notes and deletions."""
        kind = note or ("tracked deletion" if name == "deletion" else "" if self._skipped else _COUNTED.get(name))
        if kind:
            self._left_out[kind] += 1

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
        if text := paragraph_of(self._pieces, level, self._left_out):
            if level or not self._title_page:
                self.paragraphs.append(text)
            else:
                self._left_out["title-page line"] += 1
        self._pieces = []


def _local(tag: str) -> str:
    return local(tag).casefold()


def epub_text(book: Unpacked, container: str) -> str:
    """The text of an EPUB in the order in which it is read.

    Raises:
        UsageError: it has too many pages, or is encrypted.
        ValueError: it has no list of its pages.
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
    refs = [(own, files.get(own.get("idref", ""), {})) for name, own in listed.found if name == "itemref"]
    refs = [one for one in refs if "nav" not in one[1].get("properties", "").split()]
    order = [part for own, part in refs if own.get("linear") != "no"]
    counts = book.left_out
    counts["supplementary page"] += sum(own.get("linear") == "no" for own, _ in refs)
    if len(order) > _MOST_PARTS:
        raise UsageError(f"{book.where} has {len(order):,} pages, and {_MOST_PARTS:,} is the limit. Split the book.")
    locked = _Named("cipherreference")
    book.read("META-INF/encryption.xml", locked)
    encrypted = {own.get("uri") for _, own in locked.found}
    for part in order:
        page, name = _Text(styles, counts), _beside(place, part.get("href", ""))
        if name in encrypted:
            raise UsageError(f"{book.where} is encrypted. Give a copy without protection, or the manuscript itself.")
        counts["missing page"] += not book.read(name, page, _as_xml)
        paragraphs += page.paragraphs
    counts["footnote"] += max(0, counts.pop("noteref", 0) - counts["footnote"] - counts["endnote"])
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


def _as_xml(page: bytes) -> bytes:
    """A page in UTF-8 without its doctype, and with the signs that HTML has names for."""
    found = _ENCODING.match(page)
    encoding = "utf-16" if page.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else found[1].decode() if found else "utf-8"
    text = _HEAD.sub("", page.decode(encoding).removeprefix("\ufeff"), count=1)
    return _ENTITY.sub(lambda sign: html.escape(html.unescape(sign[0])), text).encode()


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
    text = _Text(styles, file.left_out, chains)
    file.read(place, text)
    file.read("styles.xml", _Margins(file.left_out))
    return "\n\n".join(text.paragraphs)


def _chain(name: str, based: Mapping[str, str]) -> list[str]:
    """A style, and those that it is based on."""
    found = [name]
    while len(found) < _BASED and (name := based.get(name, "")):
        found.append(name)
    return found


# Word (.docx) --------------------------------------------------------------------------------------------------------

_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_SKIPPED_IN_WORD: Final = frozenset({"del", "moveFrom", "instrText", "Fallback", "footnoteReference", "rt"})
_COUNTED_IN_WORD: Final = {
    "footnoteReference": "footnote", "endnoteReference": "endnote", "commentReference": "comment", "sym": "symbol",
    "pic": "picture", "imagedata": "picture", "chart": "picture", "OLEObject": "embedded object",
    "altChunk": "embedded object", "del": "tracked deletion", "tbl": TABLE, "rt": "ruby text",
}  # fmt: skip
_MARGIN: Final = re.compile(r"word/(header|footer)\d{0,6}\.xml")
_BETWEEN: Final = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_OFF: Final = frozenset({"0", "false", "off", "none"})


def word_text(file: Unpacked, place: str) -> str:
    """The text of a Word file.

    Headings are Markdown's, one level below the title's. What was deleted is not read, nor are footnotes, comments,
    pictures, headers and footers.
    """
    styles = _Styles()
    file.read("word/styles.xml", styles)
    text = _WordText(styles, file.left_out)
    file.read(place, text)
    for found in filter(None, map(_MARGIN.fullmatch, file.names)):
        margin = _WordText(_Styles(), Counter())
        file.read(found[0], margin)
        file.left_out[f"page {found[1]}"] += any(map(str.isalpha, "".join(margin.paragraphs)))
    return "\n\n".join(text.paragraphs)


class _Styles(Target):
    """The styles by their ids: whether they are of headings, and their emphasis."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # English in every language; ids are not
        self.emphasis: dict[str, Style] = {}
        self._levels: dict[str, int] = {}
        self._based: dict[str, str] = {}
        self._id = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note a style, and what it is."""
        name = local(tag)
        if name == "style":
            self._id = _value(attributes, "styleId")
        elif name == "name" and self._id:
            self.names.setdefault(self._id, _value(attributes))
        elif name == "basedOn":
            self._based[self._id] = _value(attributes)
        elif name == "outlineLvl":
            self._levels[self._id] = _outlined(attributes)
        elif name in ("i", "b"):
            self.emphasis[self._id] = _with(self.emphasis.get(self._id, (False, False)), name, attributes)

    def level(self, style: str) -> int:
        """The level of a heading of that style, or of the one that it is based on; 0 for other paragraphs."""
        for _ in range(_BASED):
            if found := level_of_style(self.names.get(style, style)):
                return found
            if style in self._levels:
                return self._levels[style]
            style = self._based.get(style, "")
        return 0


class _WordText(Target):
    """The paragraphs of a document."""

    def __init__(self, styles: _Styles, left_out: Counter[str]) -> None:
        self.paragraphs: list[str] = []
        self._styles = styles
        self._left_out = left_out
        self._skipped = 0
        self._inside: list[str] = []
        self._around: list[tuple[int, list[tuple[Style, str]]]] = []  # a paragraph with a text box in it
        self._level = 0
        self._style = (False, False)
        self._pieces: list[tuple[Style, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph, its style, a run and its emphasis, or a sign."""
        name = local(tag)
        self._inside.append(name)
        if not self._skipped and name in _COUNTED_IN_WORD and not self._inside[-2:-1][0].endswith("Pr"):
            self._left_out[_COUNTED_IN_WORD[name]] += 1
        if name in _SKIPPED_IN_WORD or self._skipped:
            self._skipped += 1
        elif name == "p":
            self._around.append((self._level, self._pieces))
            self._level, self._pieces = 0, []
        elif name == "pStyle":
            self._level = self._styles.level(_value(attributes))
        elif name == "outlineLvl":
            self._level = _outlined(attributes)
        elif name == "r":
            self._style = (False, False)
        elif name == "rStyle":
            self._style = self._styles.emphasis.get(_value(attributes), (False, False))
        elif name in ("i", "b") and self._inside[-3:-1] == ["r", "rPr"]:
            self._style = _with(self._style, name, attributes)
        elif name in _BETWEEN and self._inside[-2:-1] == ["r"]:
            self._pieces.append((self._style, _BETWEEN[name]))

    def data(self, text: str) -> None:
        """Take text up."""
        if not self._skipped and self._inside[-1:] == ["t"]:
            self._pieces.append((self._style, text))

    def end(self, tag: str) -> None:
        """End a paragraph."""
        self._inside.pop()
        if self._skipped:
            self._skipped -= 1
        elif local(tag) == "p":
            text = paragraph_of(self._pieces, self._level, self._left_out)
            self.paragraphs += [text] if text else []
            self._level, self._pieces = self._around.pop()


def _value(attributes: Mapping[str, str], name: str = "val") -> str:
    return attributes.get(_WORD + name) or attributes.get(_STRICT + name) or ""


def _outlined(attributes: Mapping[str, str]) -> int:
    """The level of a heading from its outline level; 0 for the level of other paragraphs."""
    number = _value(attributes)
    return min(int(number) + 2, 6) if number in {*"012345678"} else 0


def _with(style: Style, name: str, attributes: Mapping[str, str]) -> Style:
    """The style with italics or bold on or off."""
    is_on, (italic, bold) = _value(attributes).casefold() not in _OFF, style
    return (is_on, bold) if name == "i" else (italic, is_on)
