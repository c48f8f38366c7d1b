"""TOML that may come from somebody else: whatever is wrong with it is one kind of error, and found in time."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

# Keys of many parts take Python's reader quadratic time; a sentence is none, since there are blanks in its parts.
_LONG_KEY: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""",
)


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: it is none; or it is nested too deeply, or holds a number of thousands of digits.
    """
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(f"A key has more than 50 parts (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("It is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a number that is longer than Python reads
        raise tomllib.TOMLDecodeError("A number has too many digits") from error
