"""What evaluators that ask a judge share: who gave a verdict, what a dialogue plays, how a text is fenced off."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.engine.roles import is_person

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.measure.ratings import RaterKind

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


def source_of(item: Item) -> str:
    """The narrative that a dialogue was plays: the item's own, else its reference, else its brief.

    Raises:
        UsageError: there is none.
    """
    text = item.narrative or (item.reference.text if item.reference else item.brief.text if item.brief else "")
    if not text.strip():
        raise UsageError(
            f"The dialogue {item.id} comes without its narrative, and is rated by how it keeps to that. Give it with "
            "--narrative FILE; or give a project, or JSON lines with a `narrative`."
        )
    return text
