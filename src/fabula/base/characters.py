"""Characters that no text of fabula may hold: those that a terminal would obey, and those that are invisible.

Only this module defines them; replies, the author's files, cards, chats and all output pass through it.
"""

from __future__ import annotations

import re
from typing import Final

_BINARY: Final = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_BINARY_SHARE: Final = 20  # one of them in so many characters makes a text binary data
_BREAKS: Final = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")
_HALVES: Final = re.compile("[\ud800-\udfff]")
# C0 but tab and line ends, DEL, C1; signs without width but joiners; what turns the direction; unseen letters.
_SINGLE: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060-\u2064\ufeff\ufff9-\ufffb"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\U000e0000-\U000e007f\ufdd0-\ufdef\ufffe\uffff"
)
_JOINERS: Final = "\u200c\u200d"
# What joiners stand behind where they are needed: letters of scripts that join or stack, and signs of emoji.
_JOINED: Final = "\u0590-\u1fff\u2190-\u2bff\ua800-\uabff\ufb1d-\ufdcf\ufdf0-\ufe0f\ufe70-\ufefc\U00010000-\U000dffff"
_ANY: Final = re.compile(f"[\r\u2028\u2029\ud800-\udfff{_SINGLE}{_JOINERS}]")
# Sequences with a text of their own (titles, commands, pictures), those of cursor and colour, other escapes; then
# single signs. What a sequence holds ends at the next control character, so the search takes linear time.
_UNWANTED: Final = re.compile(
    "(?:\x1b[P\\]X^_]|[\x90\x98\x9d-\x9f])[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*+(?:[\x07\x9c]|\x1b\\\\)|"
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]|\x1b[ -/]{0,8}[0-~]?|"
    f"[{_SINGLE}]|(?<![{_JOINED}])[{_JOINERS}]|(?<=[{_JOINERS}])[{_JOINERS}]"
)


def readable(text: str) -> str:
    """`text` as a file and a terminal may hold it, without characters that a terminal obeys or that are invisible.

    Escape sequences are removed with their contents, as are control characters, zero-width characters (joiners stay
    after letters and emoji that need them) and marks that change text direction. Other line and page breaks become
    line ends; tabs and the line ends of Windows stay. Halves of characters (lone surrogates) become U+FFFD.
    """
    if not _ANY.search(text):
        return text
    return _HALVES.sub("\ufffd", _UNWANTED.sub("", _BREAKS.sub("\n", text)))


def binary_place(text: str) -> str:
    """Where `text` shows that it is binary data: line and number of the first sign; empty for a text.

    A few such characters in a long text do not count: a model wrote them, and `readable` removes them.
    """
    signs = _BINARY.findall(text)
    if len(signs) * _BINARY_SHARE <= len(text):
        return ""
    before = text[: text.index(signs[0])]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"U+{ord(signs[0]):04X} in line {line}, character {column}"
