"""The text of a Rich Text file (.rtf) as Markdown: paragraphs, headings and emphasis; what else it has is counted."""

from __future__ import annotations

import re
from codecs import lookup
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.data.unpacked import TABLE, Style, level_of_style, paragraph_of

if TYPE_CHECKING:
    from collections import Counter


_TOKEN: Final = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])"
    rb"|(?P<brace>[{}])|[\r\n]++|(?P<text>[^\\{}\r\n]++)|\\"
)
_STYLE: Final = re.compile(rb"\{\\s(\d{1,5})(?=[\\ ])(?:\\[a-z]{1,20}-?\d{0,9} ?|[ \r\n])*+([^\\{};]{1,80});\}")
_SKIPPED: Final = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "headerl", "headerr", "headerf", "footer"}
    | {"footerl", "footerr", "footerf", "footnote", "annotation", "fldinst", "listtable", "listoverridetable", "xe"}
    | {"revtbl", "rsidtbl", "generator", "themedata", "colorschememapping", "latentstyles", "datastore", "bkmkstart"}
    | {"bkmkend", "listtext", "pntext", "nonshppict", "filetbl", "tc", "txe", "atnid", "atnauthor", "shptxt"}
)
_COUNTED: Final = {  # "" for a picture that is there twice
    "footnote": "footnote", "annotation": "comment", "pict": "picture", "nonshppict": "", "object": "embedded object",
    "shptxt": "text box", "deleted": "tracked deletion",
} | {f"{name}{page}": f"page {name}" for name in ("header", "footer") for page in ("", "l", "r", "f")}  # fmt: skip
_SIGNS: Final = {
    "tab": " ", "line": "\n", "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018", "rquote": "\u2019",
    "ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022", "emspace": " ", "enspace": " ", "cell": " ",
}  # fmt: skip
_BLOCKS: Final = frozenset({"par", "sect", "page", "row", "pard", "intbl"})
_ESCAPED: Final = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
_DEEPEST: Final = 1_000
_HEADINGS: Final = 5
_HALF: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class _State:
    """What holds in a group: whether it is read or counted, its emphasis, how many signs stand for one of Unicode."""

    skipped: bool = False
    counted: bool = False
    italic: bool = False
    bold: bool = False
    instead: int = 1


class _Reader:
    """Takes up the tokens of a file."""

    def __init__(self, counts: Counter[str]) -> None:
        self.paragraphs: list[str] = []
        self._counts = counts  # of what is left out
        self._in_cell = self._in_table = False
        self._pieces: list[tuple[Style, str]] = []
        self._bytes = bytearray()
        self._state = _State()
        self._around: list[_State] = []
        self._level = 0
        self._levels: dict[int, int] = {}  # of the styles of titles, headings and what is left out, by numbers
        self._deeper = 0  # how many levels a title moves headings down
        self._left_out = 0  # signs that stand for the one before, for readers without Unicode
        self._encoding = "cp1252"

    def read(self, data: bytes) -> list[str]:
        """The paragraphs.

        Raises:
            ValueError: groups are nested too deeply.
        """
        self._levels = {int(found[1]): level_of_style(found[2].decode("latin-1")) for found in _STYLE.finditer(data)}
        at = 0
        while token := _TOKEN.match(data, at):
            at = token.end()
            if (word := token["word"]) == b"bin":  # so many bytes of a picture follow, which may be braces
                at += max(int(token["number"] or 0), 0)
            elif word:
                self._word(word.decode("ascii"), None if token["number"] is None else int(token["number"]))
            elif token["byte"]:
                self._add_bytes(bytes([int(token["byte"], 16)]))
            elif token["text"]:
                self._add_bytes(token["text"])
            elif token["brace"]:
                self._group(token["brace"])
            elif token["sign"] == b"*":
                self._state = replace(self._state, skipped=True)
            elif token["sign"] in (b"\n", b"\r"):
                self._end()
            elif token["sign"]:
                self._add(_ESCAPED.get(token["sign"], ""))
        self._end()
        return self.paragraphs

    def _group(self, brace: bytes) -> None:
        self._flush()
        self._left_out = 0
        if brace == b"{":
            if len(self._around) >= _DEEPEST:
                raise ValueError("groups are nested too deeply")
            self._around.append(self._state)
        elif self._around:
            self._state = self._around.pop()

    def _word(self, word: str, number: int | None) -> None:
        self._flush()
        state, is_on = self._state, number != 0
        if word in _SKIPPED or (word == "deleted" and is_on):
            self._skip(word)
        elif word == "ftnalt" and self._counts["footnote"]:
            self._counts.update(footnote=-1, endnote=1)
        elif word == "i":
            self._state = replace(state, italic=is_on)
        elif word == "b":
            self._state = replace(state, bold=is_on)
        elif word == "plain":
            self._state = replace(state, italic=False, bold=False)
        elif word in _BLOCKS:
            self._block(word)
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif number is not None:
            self._numbered(word, number)

    def _skip(self, word: str) -> None:
        """Leave a group out, and count it unless it belongs to one that is counted."""
        kind, state = _COUNTED.get(word), self._state
        if kind and not state.counted:
            self._counts[kind] += 1
        self._state = replace(state, skipped=True, counted=state.counted or kind is not None)

    def _block(self, word: str) -> None:
        """Begin a paragraph, or end one or a row; rows that follow each other are one table."""
        if self._state.skipped:  # the paragraphs of a footnote are none of the text
            return
        if word == "pard":
            self._level, self._in_cell = 0, False
        elif word == "intbl":
            self._in_cell = True
        else:
            self._counts[TABLE] += word == "row" and not self._in_table
            self._in_table = word == "row" or (self._in_table and self._in_cell)
            self._end()

    def _numbered(self, word: str, number: int) -> None:
        if word == "outlinelevel" and not self._state.skipped:
            self._level = number + 1 + self._deeper if 0 <= number < _HEADINGS else 0
        elif word == "s" and not self._state.skipped:
            level = self._levels.get(number, 0)
            self._deeper = 1 if level == 1 else self._deeper
            self._level = level if level <= 1 else level - 1 + self._deeper
        elif word == "uc":
            self._state = replace(self._state, instead=max(number, 0))
        elif word == "u":
            self._add(chr(number % _HALF))
            self._left_out = self._state.instead
        elif word == "ansicpg":
            try:
                self._encoding = lookup(f"cp{number}").name
            except LookupError:
                self._encoding = "cp1252"

    def _add_bytes(self, data: bytes) -> None:
        left_out, self._left_out = self._left_out, max(0, self._left_out - len(data))
        if not self._state.skipped:
            self._bytes += data[left_out:]

    def _flush(self) -> None:
        if self._bytes:
            self._put(self._bytes.decode(self._encoding, "replace"))
            self._bytes.clear()

    def _add(self, text: str) -> None:
        self._flush()
        if not self._state.skipped:
            self._put(text)

    def _put(self, text: str) -> None:
        self._pieces.append(((self._state.italic, self._state.bold), text))

    def _end(self) -> None:
        self._flush()
        if text := paragraph_of(self._pieces, self._level, self._counts):
            self.paragraphs.append(text)
        self._pieces = []


def rtf_text(data: bytes, left_out: Counter[str]) -> str:
    """The text of a Rich Text file; deleted text, footnotes, comments, pictures and headers are left out.

    Raises:
        ValueError: it is nested too deeply.
    """
    text = "\n\n".join(_Reader(left_out).read(data))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves of a sign become one
