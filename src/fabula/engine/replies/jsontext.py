"""Typed values from JSON as models write it, with the mistakes that models make.

`LenientReader` reads one value from a place in a text.
"""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from fabula.base.characters import readable
from fabula.base.remembering import remembered
from fabula.engine.replies.problem import ReplyProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import TypeAdapter

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


T = TypeVar("T")

_FENCE: Final = re.compile(r"```[ \t]*+[\w-]*+[ \t]*+\n(.*?)(?:```|\Z)", re.DOTALL)
_OPENING: Final = re.compile(r"[{\[]")
_SHOWN_ERRORS: Final = 4
_MOST_VALUES: Final = 200


@dataclass(frozen=True, slots=True)
class _Found:
    """A JSON value in a reply; `whole` is false where we had to close what the reply left open.

    `finished` is the value without the last entry of a list where that entry was cut.
    """

    value: Any
    whole: bool
    finished: Any = None


def read_json(text: str, type_: type[T]) -> T:
    """The value of type `type_` in a reply.

    The reader accepts code fences, chatter around the JSON, trailing commas, comments, single and typographic quotes,
    unquoted keys, raw line ends in strings, and JSON that was cut off. Of several values that fit, the last complete
    one counts, because models draft before they decide; a value that was cut off counts only if none is complete. If
    the last entry of a list was cut off, it is dropped if it does not fit or if `type_` has `WHOLE_ENTRIES`. A lone
    list in an object, or a lone object in a list, is unwrapped if `type_` asks for that.

    Raises:
        ReplyProblem: there is no JSON, it holds NaN or infinity, or it does not fit the type.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - heavy at start-up

    wanted: Any = type_
    try:
        validate: Callable[[Any], T] = _adapter(wanted).validate_python
    except TypeError:  # an annotation that has no hash
        validate = _made(wanted).validate_python
    found, problem = _values(text)
    found = [_Found(_readable(one.value), one.whole, _readable(one.finished)) for one in found]
    if not found:
        raise ReplyProblem(problem or "There is no JSON in it.")
    reason = ""
    for value in _preferred(found, finished_first=getattr(type_, "WHOLE_ENTRIES", False)):
        try:
            return validate(value)
        except ValidationError as error:
            reason = reason or _reason(error)
    raise ReplyProblem(problem or reason)


def _made(type_: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any annotation
    """What checks data against a type."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above

    return TypeAdapter(type_)


_adapter = remembered(256)(_made)  # making it takes longer than a check


def _reason(error: Any) -> str:  # noqa: ANN401 - pydantic's error, imported late
    """The first few errors as one sentence."""
    errors = error.errors(include_url=False, include_context=False)
    said = [f"{'.'.join(map(str, e['loc'])) or 'the value'}: {e['msg']}" for e in errors[:_SHOWN_ERRORS]]
    more = f"; and {len(errors) - len(said)} more" if len(errors) > len(said) else ""
    return f"The JSON does not fit: {'; '.join(said)}{more}."


def is_cut(text: str) -> bool:
    """Whether a reply with JSON was cut off, so that none of its values is complete."""
    found, _ = _values(text)
    return bool(found) and not any(one.whole for one in found)


def _preferred(found: list[_Found], *, finished_first: bool) -> Iterator[Any]:
    """Values in the order in which they are tried."""
    ordered = [f.value for f in reversed(found) if f.whole]
    for one in (one for one in found if not one.whole):
        both = [one.value] if one.finished is None else [one.value, one.finished]
        ordered += both[::-1] if finished_first else both
    whole = [f.value for f in found if f.whole]
    if len(whole) > 1 and all(isinstance(value, dict) for value in whole):
        yield from (value for value in ordered if isinstance(value, list))
        yield from ordered
        yield whole  # one object a line where a list was wanted
        return
    yield from ordered
    for value in ordered:
        if isinstance(value, dict) and len(value) == 1:
            yield next(iter(value.values()))
        if isinstance(value, list) and len(value) == 1:
            yield value[0]
        elif isinstance(value, dict):
            yield [value]


def _values(text: str) -> tuple[list[_Found], str]:
    """All values in `text`, those in code fences if there are any, and what is wrong with the JSON that is not read."""
    try:
        value = json.loads(text.strip(), parse_constant=_refuse, parse_float=_finite)
        return [_Found(value, whole=True)], ""
    except (ValueError, RecursionError):
        pass
    problem = ""
    for part in (*_FENCE.findall(text), text):
        found, said = _scan(part)
        if found:
            return found, ""
        problem = problem or said
    return [], problem


def _readable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON data of any shape
    """`value` with its texts as `readable` leaves them: what an escape in JSON stands for is first seen here.

    Raises:
        ReplyProblem: it is nested too deeply.
    """
    if isinstance(value, str):
        return readable(value)
    if not isinstance(value, (dict, list)):
        return value
    if depth >= DEEPEST:
        raise ReplyProblem(f"It is nested deeper than {DEEPEST} levels.")
    if isinstance(value, list):
        return [_readable(one, depth + 1) for one in value]
    return {readable(name): _readable(one, depth + 1) for name, one in value.items()}


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits} is too large")
    return number


def _scan(text: str) -> tuple[list[_Found], str]:
    """Objects and arrays in `text`, outermost ones, left to right.

    An unreadable opening is passed over. All attempts together may look at eight times the text, which keeps hostile
    replies cheap.
    """
    found: list[_Found] = []
    problem, at, spent = "", 0, 0
    while (opening := _OPENING.search(text, at)) and spent <= 8 * len(text) + 1000 and len(found) < _MOST_VALUES:
        reader = LenientReader(text, opening.start())
        try:
            value = reader.value()
        except UnreadableError as error:
            problem = problem or (str(error) if error.refused else "")
            if reader.too_deep:
                break
            spent += reader.at - opening.start() + 1
            at = opening.start() + 1 if not error.refused else reader.at
        else:
            at = reader.at
            if value or reader.whole:
                found.append(_Found(value, reader.whole, _finished(value, reader.unfinished)))
    return found, problem


def _finished(value: Any, unfinished: list[Any] | None) -> Any:  # noqa: ANN401 - JSON data of any shape
    """A value without the last entry of that list in it, which was cut; `None` where there is no such list."""
    if unfinished is None:
        return None
    if value is unfinished:
        return value[:-1]
    if isinstance(value, dict):
        last = next(reversed(value))
        return value | {last: _finished(value[last], unfinished)}
    return [*value[:-1], _finished(value[-1], unfinished)]
