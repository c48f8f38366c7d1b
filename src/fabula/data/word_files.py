"""The text of a Word file (.docx) as Markdown: its paragraphs, headings and emphasis; what else it has is counted."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from fabula.data.unpacked import TABLE, Target, level_of_style, local, paragraph_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.data.unpacked import Style, Unpacked

_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_BASED: Final = 10  # styles, each based on the next
_SKIPPED: Final = frozenset({"del", "moveFrom", "instrText", "Fallback", "footnoteReference", "rt"})
_COUNTED: Final = {
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
    text = _Text(styles, file.left_out)
    file.read(place, text)
    for found in filter(None, map(_MARGIN.fullmatch, file.names)):
        margin = _Text(_Styles(), Counter())
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


class _Text(Target):
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
        if not self._skipped and name in _COUNTED and not self._inside[-2:-1][0].endswith("Pr"):
            self._left_out[_COUNTED[name]] += 1
        if name in _SKIPPED or self._skipped:
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
