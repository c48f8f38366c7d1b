"""TOML that may come from strangers: any fault in it raises one kind of error, and quickly."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

# Keys of many parts take Python's reader quadratic time; a sentence is none, since there are blanks in its parts.
_LONG_KEY: Final = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""",
)


_AT_LINE: Final = re.compile(r"at line (\d{1,9})")
_TYPOGRAPHIC: Final = "\u201c\u201d\u201e\u2018\u2019\u201a«»"
_COLON_IN_TABLE: Final = re.compile(r"\A\s*(\[{1,2}(?:[\w-]{1,40}\.)?)([^\]\"'\s]{0,200}:[^\]\"'\s]{1,200})(\]{1,2})")
_COLON_IN_KEY: Final = re.compile(r"\A\s*[\w.-]{1,40}:[^=\"'\s]{1,200}\s{0,9}=")
_BARE_TEXT: Final = re.compile(r"\A\s*[\w.-]{1,60}\s{0,9}=\s{0,9}(?!true\b|false\b|[\d.]{1,99}\s*$)\w[^\"']*$")
_OPEN_LIST: Final = re.compile(r"\s{0,99}([\w-]{1,60})\s{0,9}=\s{0,9}\[[^\]]*$")


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML, is nested too deeply, or holds a number of thousands of digits.
    """
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(f"A key has more than 50 parts (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("It is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise tomllib.TOMLDecodeError(f"{error}{_cause(str(error), text)}") from error
    except ValueError as error:  # a number that is longer than Python reads
        raise tomllib.TOMLDecodeError("A number has too many digits") from error


def _cause(said: str, text: str) -> str:
    """The mistake that probably led to an error of Python's reader, without any value; empty if none is known."""
    lines = text.splitlines()
    at = int(found[1]) if (found := _AT_LINE.search(said)) else len(lines)
    line = lines[at - 1] if 0 < at <= len(lines) else ""
    if quotes := "".join(sorted({sign for sign in line if sign in _TYPOGRAPHIC})):
        return f': the line has typographic quotation marks ({quotes}); use straight ones (")'
    if name := _COLON_IN_TABLE.match(line):
        return f': a name with a colon needs quotation marks: {name[1]}"{name[2]}"{name[3]}'
    if _COLON_IN_KEY.match(line):
        return ': a name with a colon needs quotation marks before the "="'
    for number in range(at, 0, -1):
        if begun := _OPEN_LIST.match(lines[number - 1] if number <= len(lines) else ""):
            return f": the list `{begun[1]}`, which begins in line {number}, has no ]"
        if number < at and "]" in lines[number - 1]:
            break
    return ': a text needs quotation marks, as in system = "agents-room"' if _BARE_TEXT.match(line) else ""


def toml_text(settings: dict[str, Any], heading: str) -> str:
    """Nested tables as the text of a TOML file below a comment; tables come last, as in TOML; `None` is left out."""
    lines = [heading]
    tables = {name: value for name, value in settings.items() if isinstance(value, dict)}
    lines += _lines({name: value for name, value in settings.items() if name not in tables})
    for name, table in tables.items():
        lines += _table(name, table)
    return "\n".join(lines) + "\n"


def _table(name: str, table: dict[str, Any]) -> list[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    own = _lines({key: value for key, value in table.items() if key not in inner})
    lines = ["", f"[{name}]", *own] if own else []
    for key, value in inner.items():
        lines += _table(f"{name}.{_key(key)}", value)
    return lines


def _lines(fields: dict[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in fields.items() if value is not None]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(_lines(value))} }}"
    # JSON escapes a text as TOML does, but leaves one control character alone.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
