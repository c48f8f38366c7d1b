"""Keys in the environment, which must never be shown or logged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAME: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST: Final = 8


def keys_in(environ: Mapping[str, str]) -> list[str]:
    """The values of the variables with names like those of keys, longest first."""
    found = [value for name, value in environ.items() if len(value) >= _SHORTEST and _NAME.search(name)]
    return sorted(found, key=len, reverse=True)


def without_keys(text: str, keys: Iterable[str]) -> str:
    """`text` with `[key]` in place of each key."""
    for key in keys:
        if key in text:
            text = text.replace(key, "[key]")
    return text
