"""A reader of JSON with the mistakes that models make; it reads one value from a place in a text."""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
from typing import Any, Final

_SPACE: Final = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))++")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d_]*)(?:\.\d*)?(?:[eE][+-]?\d+)?")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_AFTER_STRING: Final = re.compile(
    r"(?<=[\"'”’“»])"
    r"(?:\s*(?:[:}\]]|\Z|,\s*(?:[\"'“‘{\[\d\-}\]tfnTFN/#]|[A-Za-z_]\w*\s*:|\Z)|//|/\*)|[ \t]*\n\s*[\"“}\]])"
)
_WORDS: Final = {"true": True, "false": False, "null": None, "none": None}
_REFUSED: Final = frozenset({"nan", "infinity", "inf"})
_CLOSERS: Final = {'"': '"', "'": "'", "“": '”"', "‘": "’'", "”": '”"', "„": '“”"', "«": "»"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/"}
DEEPEST: Final = 60
_MOST_DIGITS: Final = 400
_CHUNK: Final = re.compile(r"[^\\\"'”’“»]+")


class UnreadableError(ValueError):
    """There is no value at that place; `refused` means that JSON does not allow the value there."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class LenientReader:
    """Reads from `at`, then sets `at` to the end of the value; `whole` says whether the value was complete."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text, self.at, self.whole, self._depth = text, at, True, 0
        self.unfinished: list[Any] | None = None  # the outermost list whose last entry is an object that was cut

    @property
    def too_deep(self) -> bool:
        """Whether the reader gave up because brackets are nested too deeply."""
        return self._depth > DEEPEST

    def value(self) -> Any:  # noqa: ANN401 - JSON data of any shape
        """The next value.

        Raises:
            UnreadableError: there is no value.
        """
        first = self._peek()
        if first in ("{", "["):
            return self._nested(first)
        if first in _CLOSERS:
            return self._string()
        if number := _NUMBER.match(self.text, self.at):
            return self._number(number)
        return self._word()

    def _peek(self) -> str:
        if space := _SPACE.match(self.text, self.at):
            self.at = space.end()
        return self.text[self.at : self.at + 1]

    def _nested(self, first: str) -> Any:  # noqa: ANN401 - JSON data of any shape
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableError(f"It is nested deeper than {DEEPEST} levels.", refused=True)
        self.at += 1
        result = self._object() if first == "{" else self._array()
        self._depth -= 1
        return result

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._closed("}"):
            key = self._key()
            if self._peek() != ":":
                if not self.text[self.at : self.at + 1]:
                    self.whole = False
                    break
                raise UnreadableError("A field has no value.")
            self.at += 1
            if not self._peek():
                self.whole = False
                break
            found[key] = self.value()
            self._comma()
        return found

    def _array(self) -> list[Any]:
        found: list[Any] = []
        while not self._closed("]"):
            before = self.whole
            found.append(self.value())
            if before and not self.whole and isinstance(found[-1], dict):
                self.unfinished = found
            self._comma()
        return found

    def _closed(self, mark: str) -> bool:
        """Whether the object or array ends here, by its mark or by the end of the text."""
        char = self._peek()
        if not char:
            self.whole = False
            return True
        if char == mark:
            self.at += 1
            return True
        return False

    def _comma(self) -> None:
        if self._peek() == ",":
            self.at += 1

    def _key(self) -> str:
        if self._peek() in _CLOSERS:
            return self._string()
        if name := _NAME.match(self.text, self.at):
            self.at = name.end()
            return name.group()
        raise UnreadableError("A field has no name.")

    def _string(self) -> str:
        """A string; a quotation mark ends it only where something follows that can follow a string."""
        closers = _CLOSERS[self.text[self.at]]
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            if chunk := _CHUNK.match(self.text, self.at):
                parts.append(chunk.group())
                self.at = chunk.end()
                continue
            char = self.text[self.at]
            self.at += 1
            if char == "\\":
                parts.append(self._escape())
            elif char in closers and _AFTER_STRING.match(self.text, self.at):
                return "".join(parts)
            else:
                parts.append(char)
        self.whole = False
        return "".join(parts).rstrip()

    def _escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char != "u":
            return _ESCAPES.get(char, char)
        code = self.text[self.at : self.at + 4]
        if not re.fullmatch(r"[0-9a-fA-F]{4}", code):
            return ""
        self.at += 4
        number = int(code, 16)
        low = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE).match(self.text, self.at)
        if 0xD800 <= number < 0xDC00 and low:  # noqa: PLR2004 - the two halves of a character beyond 16 bits
            self.at = low.end()
            return chr(0x10000 + ((number - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00)
        return "\ufffd" if 0xD800 <= number < 0xE000 else chr(number)  # noqa: PLR2004 - half a character is none

    def _number(self, found: re.Match[str]) -> int | float:
        self.at = found.end()
        digits = found.group().replace("_", "")
        if len(digits) > _MOST_DIGITS:
            raise UnreadableError(f"A number has more than {_MOST_DIGITS} digits.", refused=True)
        if re.fullmatch(r"[+-]?\d+", digits):
            return int(digits)
        number = float(digits)
        if number in (float("inf"), float("-inf")):
            raise UnreadableError(f"The number {digits} is too large.", refused=True)
        return number

    def _word(self) -> bool | None:
        name = _NAME.match(self.text, self.at + (self.text[self.at : self.at + 1] == "-"))
        word = name.group().lower() if name else ""
        if word in _REFUSED:
            raise UnreadableError(f"{word} is no JSON number; give a number or null.", refused=True)
        if name and word in _WORDS:
            self.at = name.end()
            return _WORDS[word]
        if name and name.end() == len(self.text) and any(known.startswith(word) for known in _WORDS):
            self.at, self.whole = name.end(), False
            return next(value for known, value in _WORDS.items() if known.startswith(word))
        raise UnreadableError("A value is missing.")
