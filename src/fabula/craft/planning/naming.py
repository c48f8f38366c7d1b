"""What an author's brief says by itself: the names in it, and whether it wants another order of telling."""

from __future__ import annotations

import re
from typing import Final

from fabula.story.sentences import sentences

_NAME: Final = re.compile(r"(?<![\w'\u2019-])[A-Z][\w\u00c0-\u024f-]+(?: [A-Z][\w\u00c0-\u024f-]+)*")
_CALENDAR: Final = frozenset(
    (
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "christmas", "easter"),
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december"),
    )
)


_PLACED: Final = re.compile(
    r"\b(?:in|at|to|from|near|into|(?:town|city|village|island|river|port|valley|land|house) of) \Z"
)
_OTHER_ORDER: Final = re.compile(
    r"\b(?:flash-?backs?|flash-?forwards?|non-?linear|out of order|(?:told|tell it|run|runs) backwards?|"
    r"in reverse order|looks? back|(?:years?|months?|days?|hours?) earlier)\b",
    re.IGNORECASE,
)


def names_in(brief: str) -> tuple[str, ...]:
    """Names of people in `brief`, in the order in which they come: words with a capital within a sentence.

    Days and months are none, nor is what only ever stands as a place does: "in Varsa", "to Varsa", "the town of Varsa".
    """
    found: dict[str, bool] = {}
    for sentence in sentences(brief):
        for match in _NAME.finditer(sentence):
            name = match.group() if match.start() else match.group().partition(" ")[2]
            if name:
                placed = bool(_PLACED.search(sentence[: match.start()]))
                found[name] = found.get(name, False) or not placed
    people = [name for name, person in found.items() if person and name.casefold() not in _CALENDAR]
    return tuple(name for name in people if not any(set(name.split()) < set(other.split()) for other in people))


def wants_other_order(brief: str) -> bool:
    """Whether the author asks for scenes that are told in another order than they happen."""
    return bool(_OTHER_ORDER.search(brief))
