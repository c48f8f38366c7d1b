"""Keys in the environment, which must never be shown or logged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_NAME: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST: Final = 8
_LONG: Final = 16
_BEGINNINGS: Final = ("sk-", "sk_", "gsk_", "hf_", "xai-", "AIza", "AKIA")


def keys_in(environ: Mapping[str, str]) -> list[str]:
    """The values of the variables with names like those of keys, longest first."""
    found = [value for name, value in environ.items() if len(value) >= _SHORTEST and _NAME.search(name)]
    return sorted(found, key=len, reverse=True)


def looks_like_key(text: str) -> bool:
    """Whether a text that should be a name has the form of a key: a known beginning, or many letters and digits."""
    many = len(text) >= _LONG and any(sign.isdigit() for sign in text)
    return text.startswith(_BEGINNINGS) or (many and (text != text.upper() or "_" not in text))


def without_keys(text: str, keys: Iterable[str]) -> str:
    """`text` with `[key]` in place of each key."""
    for key in keys:
        if key in text:
            text = text.replace(key, "[key]")
    return text
