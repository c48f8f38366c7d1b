"""The files in an archive or a folder, their XML, and paragraphs as Markdown, for the readers of all formats.

A file of somebody else is hostile: it is never unpacked to the disk, at most so many bytes are taken out of it, and its
XML is read as a stream, without entities.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias
from xml.etree.ElementTree import XMLParser

from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.story import one_line
from fabula.story.export import pages

if TYPE_CHECKING:
    import zipfile


Style: TypeAlias = tuple[bool, bool]
"""Whether words are italic, and whether they are bold."""
_UNPACKED: Final = 100_000_000  # bytes of all that is read of one file
_SMALL, _RATIO = 10_000_000, 200  # what any file may unpack to, and how many times its size a larger one may
_MOST_FILES: Final = 50_000
_PIECE: Final = 1 << 20  # bytes; the parser reads a tag that is not over again with each piece
_LONGEST, _MOST_NAMES, _DEEPEST = 10 * _PIECE, 10_000, 100_000  # bytes of a tag, names, and elements in each other
_EMPHASIS: Final = {(True, False): "*", (False, True): "**", (True, True): "***"}
_SIGNS: Final = re.compile(r"[*_\\]")
_HEADED: Final = re.compile(r"#{1,6}(?=[ \t])")
_BREAK: Final = re.compile(r"[\s#*~=_·-]*")
_HEADING: Final = re.compile(r"heading ?([1-6])", re.IGNORECASE)  # the English name of a style, or its id
LEFT_OUT: Final = -1
"""The level of paragraphs around a story: what `fabula export` puts there, and a table of contents."""
_AROUND: Final = (pages.CONTACT, pages.BYLINE, pages.END, "toc heading", *(f"toc {level}" for level in range(1, 10)))
_LEVELS: Final = {name.casefold(): LEFT_OUT for name in _AROUND} | {
    name.casefold(): 1 for name in ("title", pages.TITLE)
}
TABLE: Final = "table layout"
"""The kind under which tables are counted, whose text is read."""


class Unpacked:
    """The files in an archive or a folder, of which no more is read than a text has.

    Attributes:
        where: the archive or folder, as messages name it.
        names: the names of the files in it, with `/` between folders; those of hidden files are left out.
        is_folder: whether it is a folder.
        left_out: how many things of each kind a reader left out, such as "footnote".
    """

    def __init__(self, where: str, names: Iterable[str], opened: Callable[[str], IO[bytes]], most: int) -> None:
        shown = (name for name in names if not re.search(r"(?:\A|/)(?:\.(?!\.?/)|__MACOSX/)", name))
        self.where, self.names, self.is_folder = where, frozenset(shown), False
        self.left_out: Counter[str] = Counter()
        self._opened, self._most, self._left = opened, most, most

    @classmethod
    def of_archive(cls, where: Path, archive: zipfile.ZipFile, size: int) -> Unpacked:
        """The files in an archive of that many bytes."""
        most = min(_UNPACKED, max(_SMALL, _RATIO * size))
        return cls(str(where), archive.namelist(), archive.open, most)

    @classmethod
    def of_folder(cls, folder: Path, most: int) -> Unpacked:
        """The files in a folder and the folders in it; links, what is hidden, and projects of fabula are left out.

        Raises:
            UsageError: there are too many files.
        """
        names: list[str] = []
        for at, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            if "brief.md" in files:  # a project of fabula, such as the one that was made of the folder
                inner.clear()
                continue
            below = os.path.relpath(at, folder).replace(os.sep, "/")
            names += [f"{below}/{name}".removeprefix("./") for name in files]
            if len(names) > _MOST_FILES:
                raise UsageError(
                    f"{folder} contains more than {_MOST_FILES:,} files. Give the folder of one manuscript."
                )
        kept = [name for name in names if not (folder / name).is_symlink()]
        found = cls(str(folder), kept, lambda name: io.BytesIO(read_bytes(folder / name, most, links=False)), most)
        found.is_folder, found.left_out["link"] = True, len(names) - len(kept)
        return found

    def read(self, name: str, target: Target, first: Callable[[bytes], bytes] | None = None) -> bool:
        """Whether a file of XML is there; it is read then, `first` before all else.

        Raises:
            UsageError: all that was read unpacks to more than a text has.
        """
        if name not in self.names:
            return False
        read_xml([first(self.data(name))] if first else self._pieces(name), target)
        return True

    def data(self, name: str) -> bytes:
        """The content of a file; empty if there is none.

        Raises:
            UsageError: all that was read unpacks to more than a text has.
        """
        return b"".join(self._pieces(name)) if name in self.names else b""

    def _pieces(self, name: str) -> Iterator[bytes]:
        with self._opened(name) as packed:
            while piece := packed.read(_PIECE):
                self._left -= len(piece)
                if self._left < 0:
                    raise UsageError(
                        f"{self.where} unpacks to more than {self._most:,} bytes, which is too much for a text."
                    )
                yield piece


class Target:
    """What an XML parser hands what it reads to."""

    def doctype(self, *_: object) -> None:
        """Refuse what could define entities."""
        raise ValueError("it contains a doctype")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Leave beginnings aside."""

    def data(self, text: str) -> None:
        """Leave text aside."""

    def end(self, tag: str) -> None:
        """Leave ends aside."""

    def close(self) -> None:
        """End."""


class _Bounded(Target):
    """Hands on what is read, and refuses what would take memory without end."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._names: set[str] = set()
        self._depth = 0
        self.waits = 0  # bytes since the last element or text

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Hand on a beginning."""
        self.waits = 0
        self._names.update((tag, *attributes))
        self._depth += 1
        if len(self._names) > _MOST_NAMES or self._depth > _DEEPEST:
            raise ValueError("its elements have too many names, or are nested too deeply")
        self._target.start(tag, attributes)

    def data(self, text: str) -> None:
        """Hand on text."""
        self.waits = 0
        self._target.data(text)

    def end(self, tag: str) -> None:
        """Hand on an end."""
        self.waits = 0
        self._depth -= 1
        self._target.end(tag)

    def close(self) -> None:
        """Hand on the end of all."""
        self._target.close()


def read_xml(pieces: Iterable[bytes], target: Target) -> None:
    """Read XML as a stream; a doctype is refused, as are tags without end and names without number."""
    bounded = _Bounded(target)
    parser = XMLParser(target=bounded)  # noqa: S314 - a doctype is refused
    for whole in pieces:
        for at in range(0, len(whole), _PIECE):
            bounded.waits += _PIECE
            parser.feed(whole[at : at + _PIECE])
            if bounded.waits > _LONGEST:
                raise ValueError("a tag in it is too long")
    parser.close()


def local(tag: str) -> str:
    """The name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]


def level_of_style(name: str) -> int:
    """The level of a heading in a style of that name, or `LEFT_OUT`; 0 for other styles. A title has level 1."""
    found = _HEADING.fullmatch(name)
    return min(int(found[1]) + 1, 6) if found else _LEVELS.get(name.casefold(), 0)


def paragraph_of(pieces: Iterable[tuple[Style, str]], level: int, left_out: Counter[str]) -> str:
    """A paragraph as Markdown, or the heading of that level; empty where nothing stands in it, or it is left out."""
    pieces = list(pieces)
    if level == LEFT_OUT:
        left_out["boilerplate line"] += any(text.strip() for _, text in pieces)
        return ""
    if level and all(bold or not text.strip() for (_, bold), text in pieces):  # bold is how a heading looks
        pieces = [((italic, False), text) for (italic, _), text in pieces]
    text = emphasised(pieces)
    return f"{'#' * level} {one_line(text)}" if level and text else text


def emphasised(pieces: Iterable[tuple[Style, str]]) -> str:
    """Pieces of a paragraph with Markdown's signs around what is emphasised, blanks outside of them."""
    joined: list[tuple[Style, list[str]]] = []
    for style, text in pieces:
        if joined and (joined[-1][0] == style or not text.strip()):
            joined[-1][1].append(text)
        else:
            joined.append((style, [text]))
    found = [(style, "".join(texts)) for style, texts in joined]
    whole = "".join(text for _, text in found)
    if _BREAK.fullmatch(whole):
        return whole.strip()
    is_plain = not any(map(any, (style for style, _ in found))) and "\\" not in whole
    if not is_plain or whole.count("*") > 1 or whole.count("_") > 1:  # a single sign emphasises nothing
        found = [(style, _SIGNS.sub(r"\\\g<0>", text)) for style, text in found]
    shown = [_marked(style, text) for style, text in found]
    lines = (line.strip() for line in "".join(shown).strip().split("\n"))
    return "\n".join(_HEADED.sub(r"\\\g<0>", line) for line in lines)


def _marked(style: Style, text: str) -> str:
    sign, core = _EMPHASIS.get(style, ""), text.strip()
    before, _, after = text.partition(core) if core else (text, "", "")
    return f"{before}{sign}{core}{sign}{after}" if core else text
