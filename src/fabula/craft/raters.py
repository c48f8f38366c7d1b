"""What evaluators that ask a judge share: who gave a verdict, and how a text is fenced off from the instruction."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from fabula.roles import is_person

if TYPE_CHECKING:
    from fabula.ratings import RaterKind

_MARK_LETTERS: Final = 8


def kind_of(performer: str) -> RaterKind:
    """What kind of rater a recorded performer is."""
    if is_person(performer):
        return "person"
    return "program" if performer.startswith("program:") else "model"


def mark_for(*texts: str) -> str:
    """A mark that stands in none of the texts, and is the same whatever their order."""
    digest = sha256("\0".join(sorted(texts)).encode("utf-8", "replace")).hexdigest()
    while any(digest[:_MARK_LETTERS] in text for text in texts):
        digest = sha256(digest.encode()).hexdigest()
    return digest[:_MARK_LETTERS]
