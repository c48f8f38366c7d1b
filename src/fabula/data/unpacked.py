"""The files in an archive or a folder, their XML, and paragraphs as Markdown, for the readers of all formats.

A file of somebody else is hostile: it is never unpacked to the disk, at most so many bytes are taken out of it, and its
XML is read as a stream, without entities.
"""

from __future__ import annotations

import io
import os
import re
from typing import IO, TYPE_CHECKING, Final, TypeAlias
from xml.etree.ElementTree import XMLParser

from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.story import one_line
from fabula.story.export import pages

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

Style: TypeAlias = tuple[bool, bool]
"""Whether words are italic, and whether they are bold."""
_UNPACKED: Final = 100_000_000  # bytes of all that is read of one file
_SMALL, _RATIO = 10_000_000, 200  # what any file may unpack to, and how many times its size a larger one may
_MOST_FILES: Final = 50_000
_EMPHASIS: Final = {(True, False): "*", (False, True): "**", (True, True): "***"}
_SIGNS: Final = re.compile(r"[*_\\]")
_HEADED: Final = re.compile(r"#{1,6}(?=[ \t])")
_BREAK: Final = re.compile(r"[\s#*~=_·-]*")
_HEADING: Final = re.compile(r"heading ?([1-6])", re.IGNORECASE)  # the English name of a style, or its id
LEFT_OUT: Final = -1
"""The level of paragraphs that `fabula export` puts around a story."""
_LEVELS: Final = {name.casefold(): LEFT_OUT for name in (pages.CONTACT, pages.BYLINE, pages.END)} | {
    name.casefold(): 1 for name in ("title", pages.TITLE)
}


class Unpacked:
    """The files in an archive or a folder, of which no more is read than a text has.

    Attributes:
        where: the archive or folder, as messages name it.
        names: the names of the files in it, with `/` between folders.
        is_folder: whether it is a folder.
    """

    def __init__(self, where: str, names: Iterable[str], opened: Callable[[str], IO[bytes]], most: int) -> None:
        self.where, self.names, self.is_folder = where, frozenset(names), False
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
            names += [f"{below}/{name}".removeprefix("./") for name in files if not name.startswith(".")]
            if len(names) > _MOST_FILES:
                raise UsageError(
                    f"{folder} contains more than {_MOST_FILES:,} files. Give the folder of one manuscript."
                )
        kept = [name for name in names if not (folder / name).is_symlink()]
        found = cls(str(folder), kept, lambda name: io.BytesIO(read_bytes(folder / name, most, links=False)), most)
        found.is_folder = True
        return found

    def read(self, name: str, target: Target, first: Callable[[str], str] | None = None) -> bool:
        """Whether a file of XML is there; it is read then, `first` before all else.

        Raises:
            UsageError: all that was read unpacks to more than a text has.
        """
        if name not in self.names:
            return False
        read_xml([first(self.data(name).decode("utf-8-sig"))] if first else self._pieces(name), target)
        return True

    def data(self, name: str) -> bytes:
        """The content of a file; empty if there is none.

        Raises:
            UsageError: all that was read unpacks to more than a text has.
        """
        return b"".join(self._pieces(name)) if name in self.names else b""

    def _pieces(self, name: str) -> Iterator[bytes]:
        with self._opened(name) as packed:
            while piece := packed.read(1 << 16):
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


def read_xml(pieces: Iterable[str | bytes], target: Target) -> None:
    """Read XML as a stream; a doctype is refused."""
    parser = XMLParser(target=target)  # noqa: S314 - a doctype is refused
    for piece in pieces:
        parser.feed(piece)
    parser.close()


def local(tag: str) -> str:
    """The name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]


def level_of_style(name: str) -> int:
    """The level of a heading in a style of that name, or `LEFT_OUT`; 0 for other styles. A title has level 1."""
    found = _HEADING.fullmatch(name)
    return min(int(found[1]) + 1, 6) if found else _LEVELS.get(name.casefold(), 0)


def paragraph_of(pieces: Iterable[tuple[Style, str]], level: int = 0) -> str:
    """A paragraph as Markdown, or the heading of that level; empty where nothing stands in it."""
    if level == LEFT_OUT:
        return ""
    pieces = list(pieces)
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
