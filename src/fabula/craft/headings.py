"""The headings of an author's chapters: how they are numbered, and the one that comes next."""

# ruff: noqa: RUF001 - dashes as people type them

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ONES: Final = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS: Final = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ROMAN: Final = (
    ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"),
    ("X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"),
)
_HAN: Final = "一二三四五六七八九"
# Numbers from 0 to 99, as headings have them beside digits.
_COUNTED: Final = (
    [ten + one for ten in ("", *_ROMAN[1]) for one in ("", *_ROMAN[0])],
    [ten + one for ten in ("", "十", *(f"{n}十" for n in _HAN[1:])) for one in ("", *_HAN)],
    [*_ONES, *_TEENS, *(f"{ten}-{one}".strip("-") for ten in _TENS for one in _ONES[:10])],
)
_NUMBER: Final = (
    rf"\d{{1,4}}|[IVXLC]{{1,8}}|[十{_HAN}]{{1,3}}|(?i:{'|'.join(sorted(_COUNTED[2][1:], key=len, reverse=True))})"
)
_HEADING: Final = re.compile(
    rf"(?P<signs>#{{1,6}}[ \t]{{1,9}})?(?P<before>[^\W\d_]{{1,20}}[ \t]{{1,9}}|第)?(?P<number>{_NUMBER})(?![^\W章回节])"
    r"(?P<after>[章回节]|[.:)])?(?P<between>[ \t]{0,9}[:–—-][ \t]{0,9}|[ \t]{1,9})?(?P<title>[^\s][^\n]*)?"
    r"|(?P<plain>#{1,6}[ \t]{1,9})[^\n]*"
)


def has_number(title: str) -> bool:
    """Whether a title begins with its own number, as in "Chapter 9: The Church", "IX. The Church" or "9"."""
    found = _HEADING.fullmatch(title)
    return found is not None and (_is_number(found) or title[:1].isdecimal())


def next_heading(texts: Sequence[str], title: str, later: Sequence[str] = ()) -> str:
    """The heading of a chapter after others, in their style: their signs, and their numbers counted on.

    Where they have no numbers, one of the `later` titles has the next, or the title brings its own, it is the title
    below their signs. Empty where there is
    neither a number nor a title.
    """
    found = [one for text in texts if (one := _HEADING.fullmatch(text.lstrip("\n").partition("\n")[0].rstrip()))]
    signs = (found[-1]["signs"] or found[-1]["plain"] or "") if found else "## "
    before = next((one for one in reversed(found) if one["number"] and _is_number(one, found)), None)
    if before is None or has_number(title):
        return f"{signs}{title}" if title else ""
    number = f"{before['before'] or ''}{_after(before['number'])}"
    if title and any(one.startswith(number) and has_number(one) for one in later):
        return f"{signs}{title}"
    after, between = before["after"] or "", before["between"] or ""
    if not title:
        return f"{signs}{number}{after.replace(':', '')}"
    if not before["title"] and after in ("", ")"):
        between = ": "
    return f"{signs}{number}{after}{between or ' '}{title}"


def _is_number(found: re.Match[str], others: Sequence[re.Match[str]] = ()) -> bool:
    """Whether it counts chapters: a sign follows or nothing, or another heading has the number before it."""
    if not found["number"] or not _value(found["number"]):
        return False
    if found["after"] or not found["title"] or (found["between"] or "").strip():
        return True
    value = _value(found["number"])
    return any(
        one["number"] and one["before"] == found["before"] and _value(one["number"]) == value - 1 for one in others
    )


def _value(number: str) -> int:
    """What a number says; 0 for one that is not known."""
    if number.isdecimal():
        return int(number)
    return next((names.index(one) for names in _COUNTED for one in (number, number.lower()) if one in names), 0)


def _after(number: str) -> str:
    """The number that comes next, in the same script and case."""
    value = _value(number) + 1
    names = next((one for one in _COUNTED if number in one or number.lower() in one), [])
    if value >= len(names):
        return str(value)
    said = names[value]
    return said.upper() if number.isupper() else said.capitalize() if number.istitle() else said
