"""Labels and clauses in a reply: the text after an open label, and the first clause of a text."""

from __future__ import annotations

import re
from typing import Final

from fabula.story.sentences import ends_whole

_CLAUSE: Final = re.compile(r"(?:(?<!\s)\s++)?+(?:[,;:(\u2013\u2014]\s*+|\.\s++|(?<=\s)-\s++)")


def without_label(text: str, label: str) -> str:
    """`text` without `label` at its start, and without the rest of that line if it holds nothing else."""
    return re.sub(rf"\A\s*{re.escape(label.strip())}[ \t]*\n?", "", text)


def first_clause(text: str) -> tuple[str, str]:
    """The first clause and the text that follows it, without the punctuation between them."""
    for sign in _CLAUSE.finditer(text):
        if sign[0].startswith(".") and not ends_whole(text[: sign.start() + 1]):
            continue  # "Mrs. Aalders"
        return text[: sign.start()].rstrip("."), text[sign.end() :].strip(" )")
    return text.rstrip("."), ""
