"""Numbers as people type them into forms."""

from __future__ import annotations

from fabula.base.errors import UsageError


def number(said: str, what: str) -> float | None:
    """The number that a person typed; `None` if the field is empty.

    Raises:
        UsageError: the text is not a number.
    """
    bare = said.replace(",", "").replace("$", "").strip()
    if not bare:
        return None
    try:
        found = float(bare)
    except ValueError:
        found = -1.0
    if not 0 <= found < 10**9:
        raise UsageError(f"{said!r} is not a number of {what}. Enter a number such as 2.50, or leave the field empty.")
    return found


def whole_number(said: str) -> int | None:
    """The whole number of tokens that a person typed; `None` if the field is empty.

    Raises:
        UsageError: the text is not a whole number.
    """
    found = number(said, "tokens")
    return None if found is None else int(found)
