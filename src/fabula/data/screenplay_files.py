"""The text of a Final Draft file (.fdx) as Fountain: scene headings, action, characters, dialogue and emphasis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.data.unpacked import Target, emphasised, read_xml
from fabula.story import one_line
from fabula.story.export.fountain import is_heading, is_misread, is_transition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.data.unpacked import Style

_LEFT_OUT: Final = frozenset({"TitlePage", "ScriptNote", "SceneProperties", "HeaderAndFooter", "SmartType"})
_SPOKEN: Final = frozenset({"Parenthetical", "Dialogue"})
_CENTRED: Final = frozenset({"New Act", "End of Act"})


class _Script(Target):
    """The paragraphs of a script, each with its type."""

    def __init__(self) -> None:
        self.elements: list[list[str]] = []  # their lines
        self._skipped = 0
        self._types: list[str] = []  # of the paragraphs that are open; a dual dialogue is one with others in it
        self._style: Style | None = None  # of the text that is open
        self._pieces: list[tuple[Style, str]] = []
        self._is_spoken = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up a paragraph or a text."""
        if tag in _LEFT_OUT or self._skipped:
            self._skipped += 1
        elif tag == "Paragraph":
            self._types.append(attributes.get("Type", "Action"))
            self._pieces = []
        elif tag == "Text" and self._types:
            styles = attributes.get("Style", "").split("+")
            self._style = "Italic" in styles, "Bold" in styles

    def data(self, text: str) -> None:
        """Take text up."""
        if self._style is not None and not self._skipped:
            self._pieces.append((self._style, text))

    def end(self, tag: str) -> None:
        """End a paragraph or a text."""
        if self._skipped:
            self._skipped -= 1
        elif tag == "Text":
            self._style = None
        elif tag == "Paragraph" and self._types:
            self._end(self._types.pop())
            self._pieces = []

    def _end(self, kind: str) -> None:
        lines = [line for line in emphasised(self._pieces).split("\n") if line]
        line = one_line("".join(piece for _, piece in self._pieces))
        if not line:
            return
        if kind in _SPOKEN and self._is_spoken:
            self.elements[-1] += [f"\\{one}" if one[0] == "~" else one for one in lines]
            return
        self._is_spoken = kind == "Character"
        if kind == "Scene Heading":
            lines = [line if is_heading(line) else f".{line}"]
        elif kind == "Character":
            lines = [line.upper() if line.isascii() and line[0].isalpha() else f"@{line}"]
        elif kind == "Transition":
            lines = [line if is_transition(line) else f"> {line}"]
        elif kind in _CENTRED:
            lines = [f"> {line} <"]
        elif any(map(is_misread, lines)):
            lines = [f"!{one}" for one in lines]
        self.elements.append(lines)


def fdx_text(data: bytes) -> str:
    """The text of a Final Draft file; its title page, notes and summaries are left out."""
    script = _Script()
    read_xml([data], script)
    return "\n\n".join("\n".join(lines) for lines in script.elements)
