"""The thought that a turn of plain text was asked to end with, apart from what everybody sees of the turn."""

from __future__ import annotations

import re
from typing import Final

_THOUGHT: Final = re.compile(
    r"^[*_(\[ \t]{0,4}(?:\w{1,40} ){0,2}thinks?[*_ \t]{0,3}:[*_]{0,2}", re.IGNORECASE | re.MULTILINE
)

_CLOSERS: Final = {"(": ")", "[": "]", "*": "*", "_": "_"}


def thought_in(text: str) -> tuple[str, str]:
    """A turn of plain text as what everybody sees, and the thought that it was asked to end with ("Thinks: ...").

    All behind that mark is thought; where it stands first, its line alone.
    """
    found = _THOUGHT.search(text)
    if found is None:
        return text, ""
    shown, thought = text[: found.start()].strip(), text[found.end() :].strip()
    if not shown:
        thought, _, shown = thought.partition("\n")
    mark = found.group().strip()
    if _CLOSERS.get(mark[0]) and mark.count(mark[0]) % 2:
        thought = thought.strip().removesuffix(_CLOSERS[mark[0]])
    return shown.strip(), thought.strip()
