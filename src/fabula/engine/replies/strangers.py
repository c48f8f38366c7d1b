"""Names in a reply of people whom the texts that it is about do not know."""

from __future__ import annotations

from fabula.story.people import names_in

_PLACES = 0


def strangers(text: str, known: str) -> tuple[str, ...]:
    """Names of people in `text` that `known` lacks."""
    heard = known.casefold()
    return tuple(name for name in names_in(text) if not any(w.casefold() in heard for w in name.split()))
