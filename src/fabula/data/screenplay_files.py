"""The text of a Final Draft file (.fdx) as Fountain: scene headings, action, characters, dialogue and emphasis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fabula.data.unpacked import Style, Target, emphasised, read_xml
from fabula.story import one_line
from fabula.story.export.fountain import is_heading, is_misread, is_transition

if TYPE_CHECKING:
    from collections import Counter


_PARTS: Final = frozenset({"Content", "TitlePage"})  # of a file, that hold its text
_LEFT_OUT: Final = frozenset({"ScriptNote", "SceneProperties", "HeaderAndFooter"})
_COUNTED: Final = {
    "ScriptNote": "note",
    "Summary": "scene summary",
    "Header": "page header",
    "Footer": "page footer",
}
_SPOKEN: Final = frozenset({"Parenthetical", "Dialogue"})
_CENTRED: Final = frozenset({"New Act", "End of Act"})


class _Script(Target):
    """The paragraphs of a script, each with its type."""

    def __init__(self, left_out: Counter[str]) -> None:
        self.elements: list[list[str]] = []  # their lines
        self._left_out = left_out
        self._counted = ""  # the kind of what is left out, until it is known to hold words
        self._depth = self._skipped = 0
        self._types: list[str] = []  # of the paragraphs that are open; a dual dialogue is one with others in it
        self._style: Style | None = None  # of the text that is open
        self._pieces: list[tuple[Style, str]] = []
        self._is_spoken = False
        self._number = ""  # of a scene
        self._is_centred = False
        self._speakers = -1  # of the dual dialogue that is open
        self._page: list[str] | None = None  # the title page
        self.fields = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph or a text."""
        self._depth += 1
        if self._skipped or tag in _LEFT_OUT or (self._depth == 2 and tag not in _PARTS):  # noqa: PLR2004 - below the root
            self._skipped += 1
            self._counted = _COUNTED.get(tag, self._counted)
        elif tag == "Paragraph":
            self._types.append(attributes.get("Type", "Action"))
            self._number = one_line(attributes.get("Number", ""))
            self._is_centred = attributes.get("Alignment") == "Center"
            self._pieces = []
        elif tag == "DualDialogue":
            self._speakers = 0
        elif tag == "TitlePage":
            self._page = []
        elif tag == "Text" and self._types:
            styles = attributes.get("Style", "").split("+")
            self._style = "Italic" in styles, "Bold" in styles

    def data(self, text: str) -> None:
        """Take text up."""
        if self._skipped and self._counted and any(map(str.isalpha, text)):
            self._left_out[self._counted] += 1
            self._counted = ""
        elif self._style is not None and not self._skipped:
            self._pieces.append((self._style, text))

    def end(self, tag: str) -> None:
        """End a paragraph or a text."""
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
            self._counted = "" if tag in _COUNTED else self._counted
        elif tag == "Text":
            self._style = None
        elif tag == "DualDialogue":
            self._speakers = -1
        elif tag == "TitlePage" and self._page is not None:
            self.fields, self._page = "\n".join(_fields(self._page)), None
        elif tag == "Paragraph" and self._types:
            self._end(self._types.pop())
            self._pieces = []

    def _end(self, kind: str) -> None:
        lines = [line for line in emphasised(self._pieces).split("\n") if line]
        line = one_line("".join(piece for _, piece in self._pieces))
        if not line:
            return
        if self._page is not None:
            self._page.append(line)
            return
        if kind in _SPOKEN and self._is_spoken:
            self.elements[-1] += [f"\\{one}" if one[0] == "~" else one for one in lines]
            return
        self._is_spoken = kind == "Character"
        if kind == "Scene Heading":
            number = f" #{self._number}#" if self._number else ""
            lines = [(line if is_heading(line) else f".{line}") + number]
        elif kind == "Character":
            lines = [line.upper() if line.isascii() and line[0].isalpha() else f"@{line}"]
            self._speakers += self._speakers >= 0
            lines[0] += " ^" * (self._speakers == 2)  # noqa: PLR2004 - the second of two
        elif kind == "Transition":
            lines = [line if is_transition(line) else f"> {line}"]
        elif kind in _CENTRED or (kind == "Action" and self._is_centred):
            lines = [f"> {line} <"]
        elif any(map(is_misread, lines)):
            lines = [f"!{one}" for one in lines]
        self.elements.append(lines)


def fdx_text(data: bytes, left_out: Counter[str]) -> str:
    """The text of a Final Draft file; its notes and summaries are left out."""
    script = _Script(left_out)
    read_xml([data], script)
    return "\n\n".join(filter(None, [script.fields, *("\n".join(lines) for lines in script.elements)]))


def _fields(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a title page as Fountain's fields; Final Draft knows only their order."""
    names = ("Title", "Author") if len(lines) == 2 else ("Title", "Credit", "Author")  # noqa: PLR2004 - no credit
    yield from (f"{name}: {line}" for name, line in zip(names, lines, strict=False))
    if rest := lines[len(names) :]:
        yield from ("Contact:", *(f"   {line}" for line in rest))
