"""Several files in one reply: each has a label on its own line, then a code block with JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from fabula.engine.replies.jsontext import read_json
from fabula.engine.replies.problem import ReplyProblem

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)


def read_files(text: str, names: Sequence[str]) -> dict[str, Any]:
    """The JSON of each named file that can be read; a block belongs to the last name above it.

    If no block has a name and there are as many blocks as names, blocks and names are matched in order. If the reply
    was cut off inside a block, the part that arrived is read.

    Raises:
        ReplyProblem: none of the files is there.
    """
    blocks = _blocks(text)
    found: dict[str, Any] = {}
    for above, block in blocks:
        name = max((name for name in names if name in above), key=above.rfind, default="")
        if name:
            _read(found, name, block)
    if not found and len(blocks) == len(names):
        for name, (_, block) in zip(names, blocks, strict=True):
            _read(found, name, block)
    if not found:
        raise ReplyProblem(f"It has no code block with JSON for any of {', '.join(names)}.")
    return found


def _read(found: dict[str, Any], name: str, block: str) -> None:
    try:
        found.setdefault(name, read_json(block, list[Any]))
    except ReplyProblem:
        return


def _blocks(text: str) -> list[tuple[str, str]]:
    """What stands above each code block, since the block before it, and the block's own text."""
    marks = [(mark.start(), mark.end()) for mark in _FENCE.finditer(text)]
    found, last = [], 0
    for n in range(0, len(marks), 2):
        opening = marks[n]
        closing = marks[n + 1] if n + 1 < len(marks) else (len(text), len(text))
        found.append((text[last : opening[0]], text[opening[1] : closing[0]]))
        last = closing[1]
    return found
