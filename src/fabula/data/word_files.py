"""The text of a Word file (.docx) as Markdown: its paragraphs, headings and emphasis; nothing else of it is read.

A file of somebody else is hostile: it is never unpacked to the disk, at most so many bytes are taken out of it, and its
XML is read as a stream, without entities.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Final, TypeAlias
from xml.etree.ElementTree import XMLParser

from fabula.base.errors import UsageError
from fabula.story import one_line

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable, Iterable, Iterator, Mapping

Style: TypeAlias = tuple[bool, bool]
"""Whether words are italic, and whether they are bold."""
_UNPACKED: Final = 100_000_000  # bytes of the text's XML
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_HEADING: Final = re.compile(r"heading ?([1-5])", re.IGNORECASE)  # a style's name, or its id where no name is known
_SKIPPED: Final = frozenset({"del", "moveFrom", "instrText", "Fallback", "footnoteReference"})
_BETWEEN: Final = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_OFF: Final = frozenset({"0", "false", "off", "none"})
_EMPHASIS: Final = {(True, False): "*", (False, True): "**", (True, True): "***"}


def word_text(file: Unpacked) -> str:
    """The text of a Word file.

    Headings are Markdown's, one level below the title's. What was deleted is not read, nor are footnotes, comments and
    pictures.
    """
    styles = _Styles()
    file.read("word/styles.xml", styles)
    text = _Text(styles.names)
    file.read("word/document.xml", text)
    return "\n\n".join(text.paragraphs)


class Unpacked:
    """The files in a packed one, of which no more is read than a text has."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.names = frozenset(archive.namelist())
        self._archive = archive
        self._left = _UNPACKED

    def read(self, name: str, target: Target, first: Callable[[str], str] | None = None) -> bool:
        """Whether a file of XML is there; it is read then, `first` before all else.

        Raises:
            UsageError: all that was read unpacks to more than a text has.
        """
        if name not in self.names:
            return False
        parser = XMLParser(target=target)  # noqa: S314 - a doctype is refused
        with self._archive.open(name) as packed:
            if first is not None:
                parser.feed(first(b"".join(self._pieces(packed)).decode("utf-8-sig")))
            else:
                for piece in self._pieces(packed):
                    parser.feed(piece)
        parser.close()
        return True

    def _pieces(self, packed: IO[bytes]) -> Iterator[bytes]:
        while piece := packed.read(1 << 16):
            self._left -= len(piece)
            if self._left < 0:
                raise UsageError(
                    f"{self._archive.filename} unpacks to more than {_UNPACKED:,} bytes, which no text has."
                )
            yield piece


class Target:
    """What an XML parser hands what it reads to."""

    def doctype(self, *_: object) -> None:
        """Refuse what could define entities."""
        raise ValueError("a doctype stands in it")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Leave beginnings aside."""

    def data(self, text: str) -> None:
        """Leave text aside."""

    def end(self, tag: str) -> None:
        """Leave ends aside."""

    def close(self) -> None:
        """End."""


class _Styles(Target):
    """The names of styles by their ids; names are English in every language, ids are not."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._id = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note a style, and its name."""
        name = _local(tag)
        if name == "style":
            self._id = _value(attributes, "styleId")
        elif name == "name" and self._id:
            self.names.setdefault(self._id, _value(attributes))


class _Text(Target):
    """The paragraphs of a document."""

    def __init__(self, styles: Mapping[str, str]) -> None:
        self.paragraphs: list[str] = []
        self._styles = styles
        self._skipped = 0
        self._inside: list[str] = []
        self._level = 0
        self._style = (False, False)
        self._pieces: list[tuple[Style, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph, its style, a run and its emphasis, or a sign."""
        name = _local(tag)
        self._inside.append(name)
        if name in _SKIPPED or self._skipped:
            self._skipped += 1
        elif name == "p":
            self._level, self._pieces = 0, []
        elif name == "pStyle":
            self._level = _level_of(self._styles.get(_value(attributes), _value(attributes)))
        elif name == "r":
            self._style = (False, False)
        elif name in ("i", "b") and self._inside[-3:-1] == ["r", "rPr"]:
            is_on, (italic, bold) = _value(attributes).casefold() not in _OFF, self._style
            self._style = (is_on, bold) if name == "i" else (italic, is_on)
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
        elif _local(tag) == "p":
            text = paragraph_of(self._pieces, self._level)
            self.paragraphs += [text] if text else []
            self._level, self._pieces = 0, []


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _value(attributes: Mapping[str, str], name: str = "val") -> str:
    return attributes.get(_WORD + name) or attributes.get(_STRICT + name) or ""


def _level_of(style: str) -> int:
    """The level of a heading of that style; 0 for other paragraphs."""
    found = _HEADING.fullmatch(style)
    return int(found[1]) + 1 if found else int(style.casefold() == "title")


def paragraph_of(pieces: Iterable[tuple[Style, str]], level: int = 0) -> str:
    """A paragraph as Markdown, or the heading of that level; empty where nothing stands in it."""
    if level:
        text = one_line("".join(piece for _, piece in pieces))
        return f"{'#' * level} {text}" if text else ""
    text = _emphasised(pieces)
    return text if text.strip() else ""


def _emphasised(pieces: Iterable[tuple[Style, str]]) -> str:
    """Pieces of a paragraph with Markdown's signs around what is emphasised, blanks outside of them."""
    joined: list[tuple[Style, str]] = []
    for style, text in pieces:
        if joined and (joined[-1][0] == style or not text.strip()):
            joined[-1] = joined[-1][0], joined[-1][1] + text
        else:
            joined.append((style, text))
    shown = []
    for style, text in joined:
        sign, core = _EMPHASIS.get(style, ""), text.strip()
        before, _, after = text.partition(core) if core else (text, "", "")
        shown.append(f"{before}{sign}{core}{sign}{after}" if core else text)
    return "\n".join(line.strip() for line in "".join(shown).strip().split("\n"))
