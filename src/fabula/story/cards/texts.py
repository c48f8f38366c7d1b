"""Functions that clean a card's texts for prompts and terminals, and that read JSON of limited depth."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from fabula.base.characters import readable
from fabula.base.errors import UsageError

MAX_DEPTH: Final = 64
_MACRO: Final = re.compile(
    r"\{\{(?P<aside>(?://|comment:|hidden_key:)[^{}]{0,2000})\}\}|\{\{(?P<name>char|user|bot)\}\}|<(?P<tag>char|bot|user)>",
    re.IGNORECASE,
)
# A text that is not closed goes to the end, so that no bracket within one is counted and the search takes linear time.
_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


def cleaned(text: str) -> str:
    """`text` after `readable`, with uniform line ends and without surrounding white space."""
    return readable(text).replace("\r\n", "\n").strip()


def filled(text: str, char: str, user: str) -> str:
    """`text` with `{{char}}`, `{{user}}`, `<BOT>` and `<USER>` replaced, and comments (`{{// ...}}`) removed.

    Macros in the inserted names are not replaced. Other macros stay as they are.
    """

    def value(match: re.Match[str]) -> str:
        if match["aside"]:
            return ""
        return user if (match["name"] or match["tag"]).lower() == "user" else char

    return _MACRO.sub(value, text)


def parse_json(text: str, where: str, what: str = "character card") -> Any:  # noqa: ANN401 - JSON of any kind
    """The JSON value of `text`; if a key occurs more than once, the last value is used.

    Raises:
        UsageError: the text is not JSON, is nested more than 64 levels deep, or contains a number that JSON does not
            allow.
    """
    if nesting(text) > MAX_DEPTH:
        raise UsageError(f"{where} is nested deeper than {MAX_DEPTH} levels. It is not a {what}.")
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        which = " of version 1, 2 or 3" if what == "character card" else ""
        raise UsageError(f"{where} is not JSON ({error}). Give a {what}{which}.") from error


def nesting(text: str) -> int:
    """The maximum nesting depth of brackets outside strings."""
    depth = most = 0
    for found in _NESTING.finditer(text):
        bracket = found.group()
        if bracket in ("[", "{"):
            depth += 1
            most = max(most, depth)
        elif bracket in ("]", "}"):
            depth -= 1
    return most


def write_json(data: Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """`data` as UTF-8 JSON with its keys in the given order.

    If a text has lone surrogates, which UTF-8 cannot encode, all non-ASCII characters are escaped.
    """
    between = (",", ":") if indent is None else None
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent, separators=between).encode()
    except UnicodeEncodeError:
        return json.dumps(data, allow_nan=False, indent=indent, separators=between).encode()


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"{digits[:20]} is too large a number")
    return value
