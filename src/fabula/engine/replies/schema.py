"""JSON schemas of our types for models, with all definitions inline and only the descriptions meant for models.

Class names and docstrings are for people who read the code. They are left out, so that renaming a class or rewording a
docstring changes no call: the key of a call includes the schema. Text that a model should read is in
`Field(description=...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from fabula.models.base import Json

SHORT_TEXT: Final = 600  # characters of a string for which the type says nothing, where replies are to be short
SHORT_LIST: Final = 12
_SHORT: Final = "short"
_REF: Final = "#/$defs/"
_NOISE: Final = frozenset({"title", "$defs", "discriminator", _SHORT})


def short(most: int, *, least: int = 0) -> Any:  # noqa: ANN401 - any type
    """Metadata for `Annotated` that bounds a text or a list for models that need short replies.

    It does not bind other models. A bound with a meaning (five options, a number from 1 to 10) belongs in a `Field`.

    Args:
        most: the largest number of characters or entries.
        least: the smallest number of characters or entries, for models that leave out anything optional.
    """
    from pydantic import Field  # noqa: PLC0415 - heavy at start-up

    return Field(json_schema_extra={_SHORT: [least, most]})


def schema_of(type_: Any, *, short: bool = False) -> Json:  # noqa: ANN401 - any type
    """The JSON schema of `type_`, which forbids unknown fields; only a recursive type keeps `$defs`.

    Args:
        type_: a pydantic model, a dataclass, or any annotation that pydantic understands.
        short: whether strings, lists and mappings without a bound get one (`short(...)` of the type, or a default),
            because small models do not know when to stop.

    Returns:
        The schema. Do not change it, because it is made only once for each type.
    """
    try:
        return _made_once(type_, short)
    except TypeError:  # an annotation that has no hash
        return _made(type_, short)


def _made(type_: Any, short: bool) -> Json:  # noqa: ANN401, FBT001 - any type
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy at start-up

    raw = TypeAdapter(type_).json_schema()
    raw.pop("description", None)  # a docstring
    definitions: Json = {
        name: {key: value for key, value in node.items() if key != "description"}
        for name, node in raw.get("$defs", {}).items()
    }
    shaper = _Shaper(definitions, short=short)
    schema: Json = shaper.shape(raw, ())
    if shaper.kept:
        schema["$defs"] = {
            alias: shaper.shape(definitions[name], (name,)) for name, alias in sorted(shaper.kept.items())
        }
    return schema


_made_once = remembered(256)(_made)


class _Shaper:
    """Inlines and bounds; `kept` collects the definitions that contain themselves, numbered as they are met."""

    def __init__(self, definitions: Json, *, short: bool) -> None:
        self.definitions, self.short = definitions, short
        self.kept: dict[str, str] = {}

    def shape(self, node: Any, inside: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON data of any shape
        """`node` with references replaced and bounds set; `inside` names the definitions around it."""
        if isinstance(node, list):
            return [self.shape(part, inside) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return self._refer(node, inside)
        shaped = {k: self._value(k, v, inside) for k, v in node.items() if k not in _NOISE}
        self._bound(shaped, node.get(_SHORT))
        return shaped

    def _value(self, key: str, value: Any, inside: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON data of any shape
        """Names of properties are data: one called "title" stays."""
        if key == "properties":
            return {name: self.shape(part, inside) for name, part in value.items()}
        return value if key in {"default", "enum", "const", "examples"} else self.shape(value, inside)

    def _refer(self, node: Json, inside: tuple[str, ...]) -> Json:
        name = str(node["$ref"]).removeprefix(_REF)
        beside = {k: v for k, v in node.items() if k not in {"$ref", *_NOISE}}
        if name in inside:
            alias = self.kept.setdefault(name, f"part{len(self.kept) + 1}")
            return {"$ref": _REF + alias, **beside}
        return {**self.shape(self.definitions[name], (*inside, name)), **beside}

    def _bound(self, node: Json, bounds: tuple[int, int] | None) -> None:
        kind = node.get("type")
        if kind == "object" and "properties" in node:
            node.setdefault("additionalProperties", False)
        if not self.short:
            return
        least, most = bounds or (0, SHORT_TEXT if kind == "string" else SHORT_LIST)
        if kind == "string" and not {"enum", "const", "format", "pattern", "maxLength"} & node.keys():
            _set_bounds(node, "Length", least, most)
        elif kind == "array" and "maxItems" not in node:
            _set_bounds(node, "Items", least, most)
        elif kind == "object" and "properties" not in node:
            node.setdefault("maxProperties", SHORT_LIST)


def _set_bounds(node: Json, of: str, least: int, most: int) -> None:
    """Set `minLength` and `maxLength` (or `minItems` and `maxItems`) where they narrow what the type allows."""
    least = max(least, node.get(f"min{of}", 0))
    if least:
        node[f"min{of}"] = least
    node[f"max{of}"] = max(most, least)
