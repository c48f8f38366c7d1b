"""Numbers as people type them into forms."""

from __future__ import annotations

from fabula.base.errors import UsageError


def number(said: str, what: str) -> float | None:
    """A number that was typed; `None` for nothing.

    Raises:
        UsageError: it is none.
    """
    bare = said.replace(",", "").replace("$", "").strip()
    if not bare:
        return None
    try:
        found = float(bare)
    except ValueError:
        found = -1.0
    if not 0 <= found < 10**9:
        raise UsageError(f"{said!r} is no number of {what}. Write it as 2.50, or leave the field empty.")
    return found


def whole_number(said: str) -> int | None:
    """A whole number of tokens that was typed; `None` for nothing.

    Raises:
        UsageError: it is none.
    """
    found = number(said, "tokens")
    return None if found is None else int(found)
