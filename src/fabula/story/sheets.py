"""Read YAML files written by people, validate them with a pydantic model, and report all problems with their lines.

This module reads plans, personas, worlds and IBSEN's scripts. Data that does not fit the model is recorded with its
place and removed, and the rest is validated again, so that no mistake hides another.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

from fabula.base.characters import readable
from fabula.base.errors import PlanError
from fabula.story.story import one_line, plain, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic import ValidationError

    from fabula.base.yamltext import Node

T = TypeVar("T")
Place: TypeAlias = tuple[str | int, ...]
"""A place in a file: keys and list positions (which start at 0), such as `("scenes", 3, "outline", 0, "time")`."""

MAX_PROBLEMS: Final = 100
"""The search stops after this number of problems. Nobody reads more, and the search for similar names is slow."""
_SHOWN, _LISTED, _LONG_NAME = 60, 10, 200
_TWICE: Final = "\0twice"  # behind a key: the line of its second occurrence
_SAID: Final = {
    "extra_forbidden": "There is no such field. Remove it or correct its name.",
    "missing": "is missing. Write it.",
    "too_short": "Give at least one.",
    "too_long": "Give fewer.",
}


class SheetProblem(ValueError):  # noqa: N818 - it is a problem with a place, which `read_sheet` collects
    """A problem found by a check, and its place in the file, such as `("acts", 0, "title")`."""

    def __init__(self, place: Place, message: str) -> None:
        self.place = place
        super().__init__(message)


def read_sheet(
    text: str,
    where: str,
    top: str,
    shape: Callable[[Any], T],
    checks: Callable[[T], list[SheetProblem]],
    fields: Callable[[Place], Collection[str]] = lambda _: (),
) -> T:
    """The result of applying `shape` to the plain data in a YAML text.

    Args:
        text: the text of the file.
        where: the name of the file, for messages.
        top: the name of the whole document, for messages.
        shape: a pydantic validator for plain data. Texts are passed to it after `plain` and without surrounding white
            space; `None` replaces data with problems that were already found.
        checks: a function that finds the problems of the document as a whole.
        fields: a function that returns the allowed keys of a mapping, for suggestions if a key is wrong.

    Raises:
        PlanError: the file has problems; the message lists them all by line, as "FILE:LINE: field: problem and remedy".
    """
    sheet = _Sheet(where, top, fields)
    sheet.open(text)
    return sheet.read(shape, checks)


def checked_sheet(
    data: object, where: str, top: str, shape: Callable[[Any], T], checks: Callable[[T], list[SheetProblem]]
) -> T:
    """The result of `read_sheet` for plain data, which has no lines.

    Raises:
        PlanError: the data has problems; the message lists them all.
    """
    sheet = _Sheet(where, top, lambda _: ())
    sheet.data = data
    return sheet.read(shape, checks)


def name_place(place: Place, name_of: Callable[[str, int], str], top: str) -> str:
    """A place in words: ("scenes", 3, "outline", 0) becomes "scene 'The wreck' > outline 1".

    Args:
        place: the place.
        name_of: a function that returns the name of a list entry in the file; empty if the entry has no name.
        top: the name of the whole document.
    """
    if not place:
        return top
    words, rest = [str(place[0])], place[1:]
    if rest and isinstance(rest[0], int):
        name, kind = one_line(name_of(words[0], rest[0])), re.sub("(ie)?s$", lambda end: "y" * bool(end[1]), words[0])
        short = name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "\u2026"
        words, rest = [f"{kind} {short!r}" if name else f"{kind} {rest[0] + 1}"], rest[1:]
    for part in rest:
        if isinstance(part, int):
            words[-1] += f" {part + 1}"
        else:
            words.append(part)
    return " > ".join(words)


def nearest(name: str, known: Collection[str]) -> str:
    """A sentence with the element of `known` that was probably meant, or else with all of them."""
    if not known:
        return "There are none yet."
    by_letters = {one.casefold(): one for one in reversed([*known])}
    same = [one for one in known if slug(one) == slug(name)]
    near = get_close_matches(name[:_LONG_NAME].casefold(), by_letters, n=1, cutoff=0.6)
    if found := same or [by_letters[one] for one in near]:
        return f"Did you mean {found[0]!r}?"
    shown = ", ".join(repr(one) for one in islice(known, _LISTED))
    return f"There are {shown}." if len(known) <= _LISTED else f"There are {shown} and {len(known) - _LISTED} more."


def read_as(kind: type[T], text: Any, /, **how: Any) -> Any:  # noqa: ANN401 - annotations
    """The annotation for reading a mapping as a dataclass: each field is read as `text`, or as specified in `how`.

    Fields that have a default, in `how` or in the class, are optional.
    """
    from pydantic import AfterValidator, ConfigDict, create_model  # noqa: PLC0415 - keeps `fabula --help` fast

    shape: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type] # a dataclass
        read = how.get(one.name, text)
        default = ... if one.default is MISSING else one.default
        shape[one.name] = read if isinstance(read, tuple) else (read, default)
    sheet = create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **shape)
    return Annotated[sheet, AfterValidator(lambda found: kind(**dict(found)))]


class _Sheet:
    """A file being read: its data, the lines of all places in it, and what was found wrong."""

    def __init__(self, where: str, top: str, fields: Callable[[Place], Collection[str]]) -> None:
        self.where, self.top, self.fields = where, top, fields
        self.data: Any = {}
        self.lines: dict[Place, int] | None = None
        self.twice: list[Place] = []
        self.found: list[tuple[int, str]] = []
        self.spoilt: set[Place] = set()  # what follows from a problem that was found is none of its own

    def open(self, text: str) -> None:
        """Parse a YAML text into plain data.

        Raises:
            PlanError: the text is not YAML.
        """
        from fabula.base import yamltext  # noqa: PLC0415 - keeps `fabula --help` fast

        self.lines = {}
        try:
            node, refused = yamltext.read(text)
        except yamltext.YamlError as error:
            raise PlanError([f"{self.where}:{error.line}: {self.top}: {error}"]) from error
        self.data = {} if node is None else self._plain(node, (), self.lines)
        for line, what in refused:
            self._note((), what, line)

    def _plain(self, node: Node, place: Place, lines: dict[Place, int]) -> Any:  # noqa: ANN401 - data of any kind
        """The tree as plain data; `lines` gets the line of every place in it."""
        from fabula.base.yamltext import Items, MappingPairs, ScalarText  # noqa: PLC0415 - keeps `fabula --help` fast

        lines.setdefault(place, node.line)
        if isinstance(node, ScalarText):
            return plain(readable(node.value)).strip()
        if isinstance(node, Items):
            return [self._plain(item, (*place, n), lines) for n, item in enumerate(node.items)]
        if not isinstance(node, MappingPairs):
            self.spoilt.add(place)  # was refused
            return None
        data: dict[str, Any] = {}
        for key, value in node.pairs:
            inside = (*place, key.value)
            if key.value in data:
                self.twice.append(inside)
                lines[*inside, _TWICE] = key.line
                continue
            lines[inside] = lines[*place, len(data)] = key.line
            data[key.value] = self._plain(value, inside, lines)
        return data

    def read(self, shape: Callable[[Any], T], checks: Callable[[T], list[SheetProblem]]) -> T:
        """The result of applying `shape` to the data, if there are no problems."""
        from pydantic import ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

        for place in self.twice:
            self._note(
                place, (f"{str(place[-1])[:_SHOWN]!r} appears twice here. Keep only one."), self._line((*place, _TWICE))
            )
        while True:
            try:
                made = shape(self.data)
                break
            except ValidationError as error:
                if not self._take_out(error) or len(self.found) >= MAX_PROBLEMS:
                    raise self._error() from error
        for problem in checks(made):
            if not self._is_spoilt(problem.place):
                self._note(problem.place, str(problem))
        if self.found:
            raise self._error()
        return made

    def _take_out(self, error: ValidationError) -> bool:
        """Note what does not fit and remove it from the data; whether there was anything that was not noted before."""
        problems = {_place(problem["loc"]): problem for problem in reversed(error.errors(include_url=False))}
        around = {place[:end] for place in problems for end in range(len(place))}
        new = False
        for place, problem in reversed(problems.items()):
            if place in around or self._is_spoilt(place):  # a list with a wrong entry is not too short, or not yet
                continue
            new = True
            self.spoilt.add(place)
            known = self.fields(place[:-1]) if problem["type"] == "extra_forbidden" else ()
            if known:
                hint, key = nearest(str(place[-1]), known), one_line(str(place[-1]))[:_SHOWN]
                self._note(place[:-1], f"There is no {key!r} here. {hint}", self._line(place))
                self.spoilt |= {(*place[:-1], one) for one in known if hint == f"Did you mean {one!r}?"}
            else:
                self._note(place, _SAID.get(problem["type"]) or f"{problem['msg'].removesuffix('.')}.")
            self._empty(place)
        return new

    def _empty(self, place: Place) -> None:
        """Remove what stands at a place; in a list, so that its neighbours keep theirs, put nothing there."""
        if not place:
            self.data = {}
            return
        inside: Any = self.data
        for part in place[:-1]:
            inside = _inside(inside, part)
        part = place[-1]
        if isinstance(inside, dict) and isinstance(part, int):
            inside[list(inside)[part]] = None
        elif isinstance(inside, dict):
            inside.pop(part, None)
        elif isinstance(inside, list):
            inside[int(part)] = None

    def _note(self, place: Place, what: str, line: int | None = None) -> None:
        line = line or self._line(place)
        at = self.where if self.lines is None else f"{self.where}:{line}"
        self.found.append((line, f"{at}: {name_place(place, self._name_of, self.top)}: {what}"))

    def _line(self, place: Place) -> int:
        """The line of a place, or of the nearest thing around it that the file has."""
        lines = self.lines or {}
        while place and place not in lines:
            place = place[:-1]
        return lines.get(place, 1)

    def _is_spoilt(self, place: Place) -> bool:
        return any(place[:end] in self.spoilt for end in range(len(place) + 1))

    def _name_of(self, kind: str, number: int) -> str:
        """The name or title of an entry of one of the lists."""
        listed = self.data.get(kind) if isinstance(self.data, dict) else None
        entry = listed[number] if isinstance(listed, list) and number < len(listed) else None
        name = entry.get("name") or entry.get("title") if isinstance(entry, dict) else None
        return name if isinstance(name, str) else ""

    def _error(self) -> PlanError:
        """All that was found, by line."""
        found = sorted(dict.fromkeys(self.found), key=lambda problem: problem[0])
        more = (
            [(f"{self.where}: These are only the first problems. There may be more.")]
            if len(found) >= MAX_PROBLEMS
            else []
        )
        return PlanError([*(problem for _, problem in found[:MAX_PROBLEMS]), *more])


def _place(loc: Place) -> Place:
    """The place of a problem, without pydantic's own steps on the way to it."""
    return tuple(part for part in loc if not (isinstance(part, str) and part.startswith("function-")))


def _inside(data: Any, part: str | int) -> Any:  # noqa: ANN401 - data of any kind
    """What is in `data` under a key, or at a place from 0; `None` for nothing."""
    if isinstance(data, dict) and isinstance(part, int):
        return list(data.values())[part]
    if isinstance(data, dict):
        return data.get(part)
    return data[int(part)] if isinstance(data, list) else None
