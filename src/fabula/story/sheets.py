"""YAML files that a person writes, checked by a model of their shape: every problem with file, line and field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from fabula.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabula.base.yamltext import Node

T = TypeVar("T")
Place: TypeAlias = tuple[str | int, ...]
_PLACES: Final = {"too_short": "Give at least one.", "too_long": "Give fewer.", "missing": "is missing. Write it."}


class SheetProblem(ValueError):  # noqa: N818 - it is a problem with a place, which `read_sheet` collects
    """Something that a check finds wrong at a place of the file, such as `("acts", 0, "title")`."""

    def __init__(self, place: Place, message: str) -> None:
        self.place = place
        super().__init__(message)


def read_sheet(
    text: str, where: str, top: str, shape: Callable[[Any], T], checks: Callable[[T], list[SheetProblem]]
) -> T:
    """What `shape` makes of the plain data in a YAML text.

    Args:
        text: the file.
        where: its name, for messages.
        top: what the whole is called in messages.
        shape: a pydantic validator of plain data.
        checks: problems that only the whole shows.

    Raises:
        PlanError: something is wrong; names all problems, "FILE:LINE: field: what, and what to do".
    """
    from fabula.base import yamltext  # noqa: PLC0415 - keeps `fabula --help` fast

    try:
        node, refused = yamltext.read(text)
    except yamltext.YamlError as error:
        raise PlanError([f"{where}:{error.line}: {top}: {error}"]) from error
    if refused:
        raise PlanError(f"{where}:{line}: {top}: {what}" for line, what in refused)
    lines: dict[Place, int] = {}
    return checked_sheet(_plain(node, (), lines), where, top, shape, checks, lines)


def checked_sheet(
    data: object,
    where: str,
    top: str,
    shape: Callable[[Any], T],
    checks: Callable[[T], list[SheetProblem]],
    lines: Mapping[Place, int] | None = None,
) -> T:
    """As `read_sheet`, for plain data that is read already; `lines` gives the line of a place, where it is known.

    Raises:
        PlanError: something is wrong; names all problems.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    try:
        made = shape(data)
    except ValidationError as error:
        found = [_of_shape(problem, lines, where, top) for problem in error.errors()]
        raise PlanError(dict.fromkeys(found)) from error
    if problems := checks(made):
        raise PlanError(_told(problem.place, str(problem), lines, where, top) for problem in problems)
    return made


def _plain(node: Node | None, path: Place, lines: dict[Place, int]) -> Any:  # noqa: ANN401 - data of any kind
    """The tree as plain data; `lines` gets the line of every place in it."""
    from fabula.base.yamltext import Items, Pairs, Text  # noqa: PLC0415 - as above

    if node is None:
        return {}
    lines[path] = node.line
    if isinstance(node, Text):
        return node.value.strip()
    if isinstance(node, Items):
        return [_plain(item, (*path, n), lines) for n, item in enumerate(node.items)]
    if isinstance(node, Pairs):
        return {key.value: _plain(value, (*path, key.value), lines) for key, value in node.pairs}
    return None


def _of_shape(problem: Mapping[str, Any], lines: Mapping[Place, int] | None, where: str, top: str) -> str:
    """A problem of validation as a line with its place."""
    path = tuple(part for part in problem["loc"] if not (isinstance(part, str) and part.startswith("function-")))
    if problem["type"] == "extra_forbidden":
        return _told(path, "There is no such field. Take it out or mend its name.", lines, where, top)
    return _told(path, _PLACES.get(problem["type"], f"{problem['msg']}."), lines, where, top)


def _told(path: Place, what: str, lines: Mapping[Place, int] | None, where: str, top: str) -> str:
    named = " > ".join(str(part + 1) if isinstance(part, int) else str(part) for part in path) or top
    if lines is None:
        return f"{where}: {named}: {what}"
    place = path
    while place and place not in lines:
        place = place[:-1]
    return f"{where}:{lines.get(place, 1)}: {named}: {what}"
