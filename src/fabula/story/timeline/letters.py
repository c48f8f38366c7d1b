"""Names for pictures, without characters that control terminals or break XML, and shortened to the available space."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from fabula.story import one_line

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NO_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})
_MARKS_A_CELL: Final = 4  # a name of a thousand accents on one letter is wider than its cells say


def clean(text: str) -> str:
    """`text` on one line, with U+FFFD for control characters and without marks that change the text direction."""
    return _CONTROL.sub("\ufffd", _TURNING.sub("", one_line(text)))


def cells(text: str) -> int:
    """The number of terminal columns that `text` needs: 2 for a wide character, 0 for a combining one."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """`text`, cleaned, in at most `room` columns (at least 1); a shortened text ends in an ellipsis."""
    text = clean(text)
    if cells(text) <= room and len(text) <= room * _MARKS_A_CELL:
        return text
    kept, used = [], 1  # the ellipsis
    for character in text[: room * _MARKS_A_CELL]:
        used += _width(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def padded(text: str, room: int, *, right: bool = False) -> str:
    """`text`, shortened or padded with spaces to `room` columns; with `right`, the spaces are on the left."""
    shown = cut(text, room)
    blanks = " " * (room - cells(shown))
    return blanks + shown if right else shown + blanks


def wrapped(text: str, room: int, most: int) -> list[str]:
    """`text`, cleaned and wrapped between words at `room` columns; text beyond `most` lines is cut off."""
    words, lines = clean(text).split(), [""]
    for place, word in enumerate(words):
        joined = f"{lines[-1]} {word}".lstrip()
        if cells(joined) <= room or not lines[-1]:
            lines[-1] = joined
        elif len(lines) == most:
            lines[-1] = " ".join([lines[-1], *words[place:]])
            break
        else:
            lines.append(word)
    return [cut(line, room) for line in lines]
