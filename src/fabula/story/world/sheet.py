"""The plain data of a world file: what each field may be, as pydantic checks it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from fabula.base.errors import UsageError
from fabula.story.sheets import MAX_PROBLEMS
from fabula.story.world.facts import FORMAT, MAX_NAME, MAX_OFFSET, MAX_SCENE, Entity, Fact, Moment, from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fabula.story.sheets import Place
    from fabula.story.world.meaning import Value

_SHOWN: Final = 40


def read_data(data: object, *, is_json: bool) -> dict[str, Any]:
    """The checked contents of a file by field: a fact is a pair of the fact and who learned of it later, and when.

    Raises:
        ValidationError: the data has problems; of many wrong entries, the first ones.
    """
    found: dict[str, Any] = _reader(is_json=is_json).validate_python(data)
    return found


def fields_at(place: Place) -> Collection[str]:
    """The fields of the mapping at a place of a file."""
    return _SHAPES[next((part for part in reversed(place) if isinstance(part, str) and part in _SHAPES), "")]


def _refuse(what: str) -> NoReturn:
    raise PydanticCustomError("said", "{what}", {"what": what})


def _said(kind: Any, remedy: str) -> Any:  # noqa: ANN401 - annotations
    """The annotation for a kind of value, with a message that shows a wrong value, and of a long one how long it is."""

    def read(value: object, inner: Callable[[object], Any]) -> Any:  # noqa: ANN401 - of any kind
        try:
            return inner(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if first["type"] == "string_too_long":
                name = str(first["input"])
                _refuse(f"is {name[:_SHOWN]!r}, of {len(name):,} characters. Give at most {MAX_NAME}.")
            shown = str(value)[:_SHOWN] if isinstance(value, int | float) else "a list or a mapping"
            _refuse(f"is {repr(value[:_SHOWN]) if isinstance(value, str) else shown}. {remedy}")

    return Annotated[kind, WrapValidator(read)]


def _value(data: object) -> Value:
    try:
        return from_json(data)
    except UsageError as error:
        _refuse(f"cannot stand. {error}")


def _format(said: str) -> str:
    return said if said == FORMAT else _refuse(f"is {said[:_SHOWN]!r}; this fabula reads {FORMAT}. Upgrade it.")


def _fact(one: dict[str, Any]) -> tuple[Fact, list[Any]]:
    told = Moment(one["scene"], one["offset"])
    return Fact(
        one["subject"], one["slot"], one["value"], told, not one["denied"], one["modality"], one["source"],
        one["durability"], one["witnesses"], one["about"], one["from"], one["to"], one["quote"], one["span"],
        one["confidence"], one["change"], one["step"], one["origin"],
    ), one["learned"]  # fmt: skip


def _whole(most: int) -> Any:  # noqa: ANN401 - annotations
    return _said(Annotated[int, Field(ge=0, le=most)], f"Give a whole number from 0 to {most:,}.")


_PLACE: TypeAlias = Annotated[int, Field(ge=0)]
_STR: TypeAlias = Annotated[str, Field(coerce_numbers_to_str=True, strict=False)]
_LISTED: Final = Field(strict=False, fail_fast=True)  # a list will do, also where numbers must be numbers
_ONE: Final = BeforeValidator(lambda given: [given] if isinstance(given, str | int) else given)
_TEXT = _said(_STR, "Write a text.")
_CALLED: TypeAlias = Annotated[_STR, Field(max_length=MAX_NAME, pattern=r"\S")]
_NAME = _said(_CALLED, f"Write a text of at most {MAX_NAME} characters.")
_NAMES = _said(Annotated[tuple[_CALLED, ...], _LISTED, _ONE], "Write names as [Mara, Tobias], or one name.")
_SCENE = _whole(MAX_SCENE)
_OFFSET = _whole(MAX_OFFSET - 1)
_SHAPES: Final[Mapping[str, dict[str, tuple[Any, Any]]]] = {
    "learned": {"who": (_NAME, ...), "scene": (_SCENE, 0), "offset": (_OFFSET, 0)},
    "entities": {"name": (_NAME, ...), "kind": (_NAME, ""), "aliases": (_NAMES, ()), "scene": (_SCENE, 0)},
    "scenes": {"no": (_SCENE, 0), "title": (_TEXT, "")},
    "facts": {
        **dict.fromkeys(("subject", "slot"), (_TEXT, ...)),
        **dict.fromkeys(("id", "restates", "closed"), (Any, None)),
        "value": (Annotated[Any, PlainValidator(_value)], None),
        "denied": (_said(bool, "Write yes or no, in JSON true or false."), False),
        "modality": (_TEXT, "author"),
        "scene": (_SCENE, 0),
        "offset": (_OFFSET, 0),
        **dict.fromkeys(("source", "from", "to", "quote", "origin"), (_TEXT, "")),
        "durability": (_TEXT, "durable"),
        "witnesses": (_NAMES, None),
        "about": (_NAMES, ()),
        "span": (_said(Annotated[tuple[_PLACE, _PLACE], _LISTED], "Write a pair of numbers, as [120, 145]."), None),
        "confidence": (_said(float, "Give a number, such as 0.8."), 1.0),
        "change": (_TEXT, "unexplained"),
        "step": (_whole(10**12), None),
        "learned": (Any, ()),
    },
    "": {"facts": (Any, ()), "format": (Annotated[_TEXT, AfterValidator(_format)], FORMAT), "many": (_NAMES, ()),
         "entities": (Any, ()), "scenes": (Any, ())},
}  # fmt: skip
_MADE: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "learned": lambda one: (one["who"], Moment(one["scene"], one["offset"])),
    "entities": lambda one: Entity(**one),
    "scenes": lambda one: (one["no"], one["title"][:MAX_NAME]),
    "facts": _fact,
    "": lambda found: found,
}


@cache
def _reader(*, is_json: bool) -> TypeAdapter[Any]:
    return _mapping("", is_json=is_json)


def _mapping(name: str, *, is_json: bool) -> TypeAdapter[Any]:
    """Checks a mapping. Empty fields count as left out, but in JSON a value may be empty, and `true` is no number."""
    known = _SHAPES[name]

    def filled(data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            _refuse(f"is not a mapping. Write its fields, such as '{next(iter(known))}:'.")
        if len(data) > len(known) + MAX_PROBLEMS:
            _refuse(f"has {len(data):,} fields. Known: {', '.join(known)}.")
        return {field: one for field, one in data.items()
                if (one is not None and one != "") or (is_json and field == "value")}  # fmt: skip

    shape: Any = {
        field: (_each(_mapping(field, is_json=is_json)) if field in _MADE else kind, usual)
        for field, (kind, usual) in known.items()
    }
    model = create_model("Entry", __config__=ConfigDict(extra="forbid", strict=is_json), **shape)
    made = AfterValidator(lambda found: _MADE[name](dict(found)))
    read: Any = Annotated[model, BeforeValidator(filled), made]
    return TypeAdapter(read)


def _each(entry: TypeAdapter[Any]) -> Any:  # noqa: ANN401 - annotations
    """Checks a list of mappings one by one: a file with millions of wrong ones must not make millions of messages."""

    def read(value: object) -> list[Any]:
        if not isinstance(value, list):
            _refuse("is not a list. Begin every entry with '- '.")
        found: list[Any] = []
        wrong: list[InitErrorDetails] = []
        for number, item in enumerate(value):
            try:
                found.append(entry.validate_python(item))
            except ValidationError as error:
                for one in error.errors(include_url=False, include_context=False, include_input=False):
                    kind = PydanticCustomError(one["type"], "{said}", {"said": one["msg"]})
                    wrong.append(InitErrorDetails(type=kind, loc=(number, *one["loc"]), input=None))
                if len(wrong) >= MAX_PROBLEMS:
                    break
        if wrong:
            raise ValidationError.from_exception_data("entries", wrong)
        return found

    return Annotated[Any, PlainValidator(read)]
