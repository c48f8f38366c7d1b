"""Typed replies from a person: describe each field, and convert lines of text to values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from fabula.models.prompt_text import json_instruction

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.models.base import Json, Request

_KINDS: Final = {"boolean": " (y/n)", "integer": " (number)", "number": " (number)"}
_SEVERAL: Final = ("anyOf", "oneOf", "allOf")
_TOLD: Final = json_instruction({}).removesuffix("{}")


def shown(request: Request) -> tuple[tuple[str, ...], Json | None]:
    """Return the texts that a person reads, and the JSON schema of a typed reply (`None` for free text).

    For a model that does not support schemas, fabula appends the schema to a text as an instruction. This instruction,
    the model's prefilled words, and replies that could not be parsed are hidden from the person. In a chat, both sides
    are shown.
    """
    schema, texts = request.schema, []
    said = request.messages if _is_chat(request) else [one for one in request.messages if one.role != "assistant"]
    for message in said:
        text, shown, rest = message.content.rpartition(_TOLD)
        if shown and schema is None:
            schema = json.loads(rest)
        texts.append(text.rstrip() if shown else rest)
    return tuple(texts), schema


def _is_chat(request: Request) -> bool:
    """Whether the assistant's messages in a request are turns of a dialogue, with the last word by the user."""
    typed = request.schema is not None or request.choices or any(_TOLD in one.content for one in request.messages)
    return not typed and request.messages[-1].role == "user"


def asked_as(field: Json) -> str:
    """Return a description of a field, to print after the question."""
    options = _options(field)
    if options:
        return f" ({' | '.join(_named(options))})"
    for name in _SEVERAL:
        if name in field:
            return next(filter(None, map(asked_as, field[name])), "")
    if field.get("type") == "array":
        return _several(field.get("items", {}))
    return _KINDS.get(str(field.get("type")), "")


def _several(item: Json) -> str:
    if item.get("type") == "object":
        names = (name + asked_as(part) for name, part in item.get("properties", {}).items())
        return f" ({': '.join(names)}; put ; between several)"
    wanted = asked_as(item).removeprefix(" (").removesuffix(")")
    return f" ({wanted}; put ; between several)" if wanted else " (put ; between several)"


def value_of(said: str, field: Json) -> Any:  # noqa: ANN401 - JSON data
    """Convert a line to a field's value; semicolons separate array entries, and colons separate object fields.

    Raises:
        ValueError: the line does not fit the field; the message describes a valid line.
    """
    options = _options(field)
    if options:
        return _option(said, options)
    for name in _SEVERAL:
        if name in field:
            return _first(said, field[name])
    reader = _READERS.get(str(field.get("type")), _text)
    return reader(said, field)


def _options(field: Json) -> list[Any]:
    return [field["const"]] if "const" in field else list(field.get("enum", ()))


def _first(said: str, fields: list[Json]) -> Any:  # noqa: ANN401 - a value of any JSON type
    """The value in the first of several shapes that fits."""
    problem = ValueError("Enter something else.")
    for field in fields:
        try:
            return value_of(said, field)
        except ValueError as error:
            problem = error
    raise problem


def _option(said: str, options: list[Any]) -> Any:  # noqa: ANN401 - a value of any JSON type
    """The option that the person means, from the whole option or the beginning of one of its words."""
    if not said and "" in options:
        return ""
    begun = [option for option in options if said and f" {said}".casefold() in f" {option}".casefold()]
    whole = [option for option in begun if str(option).casefold() == said.casefold()]
    if len(whole or begun) != 1:
        raise ValueError(f"Enter one of: {', '.join(_named(options))}.")
    return (whole or begun)[0]


def _named(options: list[Any]) -> list[str]:
    """The options as they are shown; an empty option means that no answer is needed."""
    return [str(option) for option in options if option != ""] + ["or nothing"] * ("" in options)


def _boolean(said: str, field: Json) -> bool:
    del field
    if said.casefold() not in {"y", "yes", "n", "no"}:
        raise ValueError("Answer y or n.")
    return said[0].casefold() == "y"


def _number(said: str, field: Json) -> float:
    try:
        number = int(said) if field["type"] == "integer" else float(said)
    except ValueError as error:
        whole = "whole " if field["type"] == "integer" else ""
        raise ValueError(f"Enter a {whole}number.") from error
    least, most = field.get("minimum", number), field.get("maximum", number)
    if not least <= number <= most:
        bounds = [f"at least {least}"] * ("minimum" in field) + [f"at most {most}"] * ("maximum" in field)
        raise ValueError(f"Enter a number, {' and '.join(bounds)}.")
    return number


def _array(said: str, field: Json) -> list[Any]:
    parts = [value_of(part.strip(), field.get("items", {})) for part in said.split(";") if part.strip()]
    least, most = field.get("minItems", 0), field.get("maxItems", len(parts))
    if not least <= len(parts) <= most:
        wanted = (
            f"exactly {least}" if least == most else f"at least {least}" if len(parts) < least else f"at most {most}"
        )
        raise ValueError(f"Enter {wanted}, separated by semicolons, not {len(parts)}.")
    return parts


def _object(said: str, field: Json) -> Json:
    fields: dict[str, Json] = field.get("properties", {})
    # A text may hold colons of its own; where the last part is one of a few options, they stand before it.
    split = said.rsplit if fields and _options(list(fields.values())[-1]) else said.split
    parts = [part.strip() for part in split(":", len(fields) - 1)]
    if len(parts) != len(fields):
        raise ValueError(f"Enter {': '.join(fields)}.")
    return {name: value_of(part, fields[name]) for name, part in zip(fields, parts, strict=True)}


def _null(said: str, field: Json) -> None:
    del field
    if said:
        raise ValueError("Enter nothing.")


def _text(said: str, field: Json) -> str:
    if not said and field.get("minLength", 1):
        raise ValueError("Enter at least one word.")
    least, most = field.get("minLength", 0), field.get("maxLength", len(said))
    if not least <= len(said) <= most:
        bound = f"at least {least}" if len(said) < least else f"at most {most}"
        raise ValueError(f"Enter {bound} characters, not {len(said)}.")
    return said


_READERS: Final[dict[str, Callable[[str, Json], Any]]] = {
    "boolean": _boolean,
    "integer": _number,
    "number": _number,
    "array": _array,
    "object": _object,
    "null": _null,
}
