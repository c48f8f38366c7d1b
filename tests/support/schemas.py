"""A smallest value of a schema, and what is wrong in one, as a model reads it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.dry_run import placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS: Final = re.compile(r"\b(section|appendix|paper|algorithm|dataclass|pydantic|preset)\b", re.IGNORECASE)


def wrong_in(schema: Any, *, short: bool) -> Iterator[str]:  # noqa: ANN401 - JSON data
    """What does not speak to the model, cannot be met, or (unless it is for a `short` reply) binds a strong model."""
    yield from _OURS.findall(json.dumps(schema))
    for node in _nodes(schema):
        default = node.get("default")
        for of in ("Length", "Items"):
            least, most = node.get(f"min{of}", 0), node.get(f"max{of}")
            if isinstance(default, str | list) and len(default) < least:
                yield f"default {default!r} with min{of} {least}"
            if isinstance(most, int) and most < max(least, 1):
                yield f"max{of} {most} with min{of} {least}"
            if not short and most is not None and of == "Length":
                yield f"max{of} {most}"


def _nodes(part: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON data
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from _nodes(value)
    elif isinstance(part, list):
        for value in part:
            yield from _nodes(value)


def example(schema: Any, path: str = "", nth: int = 0) -> Any:  # noqa: ANN401 - JSON data of any shape
    """A smallest sensible value of a JSON schema (references inlined).

    The `nth` entry of an array takes the `nth` option of what it may choose from, so that all are named.
    """
    if "const" in schema:
        return schema["const"]
    if options := schema.get("enum"):
        return options[nth % len(options)]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return example(schema[several][0], path, nth)
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: example(part, f"{path}/{name}", nth) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        items = schema.get("items", {"type": "string"})
        return [example(items, f"{path}/{n}", n) for n in range(max(schema.get("minItems", 1), 1))]
    plain = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False, "null": None}
    words = min(max(int(schema.get("maxLength", 0)) // 14, 8), 120)  # half of what its bound allows
    return plain.get(kind, placeholder(words, path))
