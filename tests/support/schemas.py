"""What is wrong in the schema of a reply, as a model reads it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

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
