"""JSON schemas of our types, shaped for small models: everything inline, everything bounded."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fabula.models.base import Json

MAX_LENGTH: Final = 600  # characters of a string for which the type sets no bound
MAX_ITEMS: Final = 12
_REF: Final = "#/$defs/"
_NOISE: Final = frozenset({"title", "$defs", "discriminator"})


def schema_of(type_: Any, *, max_length: int = MAX_LENGTH, max_items: int = MAX_ITEMS) -> Json:  # noqa: ANN401 - any type
    """The JSON schema of `type_`; strings and arrays without a bound get one, because small models run on.

    Definitions stand inline; only a type that contains itself keeps `$defs`. Unknown fields are not allowed.

    Args:
        type_: pydantic model, dataclass, or any annotation that pydantic understands.
        max_length: characters of a string for which the type sets no bound.
        max_items: entries of an array or mapping for which the type sets no bound.

    Returns:
        The schema, not to be changed: a type's is made once.
    """
    try:
        return _made_once(type_, max_length, max_items)
    except TypeError:  # an annotation that has no hash
        return _made(type_, max_length, max_items)


def _made(type_: Any, max_length: int, max_items: int) -> Json:  # noqa: ANN401 - any type
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy at start-up

    raw = TypeAdapter(type_).json_schema()
    definitions: Json = raw.get("$defs", {})
    shaper = _Shaper(definitions, max_length, max_items)
    schema: Json = shaper.shape(raw, ())
    if shaper.kept:
        schema["$defs"] = {name: shaper.shape(definitions[name], (name,)) for name in sorted(shaper.kept)}
    return schema


_made_once = lru_cache(maxsize=256)(_made)


class _Shaper:
    """Inlines and bounds; `kept` collects the definitions that contain themselves."""

    def __init__(self, definitions: Json, max_length: int, max_items: int) -> None:
        self.definitions, self.max_length, self.max_items = definitions, max_length, max_items
        self.kept: set[str] = set()

    def shape(self, node: Any, inside: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON data of any shape
        """`node` with references replaced and bounds set; `inside` names the definitions we stand in."""
        if isinstance(node, list):
            return [self.shape(part, inside) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return self._refer(node, inside)
        shaped = {k: self._value(k, v, inside) for k, v in node.items() if k not in _NOISE}
        self._bound(shaped)
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
            self.kept.add(name)
            return {"$ref": _REF + name, **beside}
        return {**self.shape(self.definitions[name], (*inside, name)), **beside}

    def _bound(self, node: Json) -> None:
        kind = node.get("type")
        if kind == "string" and not {"enum", "const", "format", "pattern", "maxLength"} & node.keys():
            node["maxLength"] = max(self.max_length, node.get("minLength", 0))
        elif kind == "array" and "maxItems" not in node:
            node["maxItems"] = max(self.max_items, node.get("minItems", 0))
        elif kind == "object" and "properties" in node:
            node.setdefault("additionalProperties", False)
        elif kind == "object":
            node.setdefault("maxProperties", self.max_items)
