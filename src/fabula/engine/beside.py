"""A text and what was made with it: a memory, a plan for the next part, what somebody knows at that point.

Such a value is a dataclass or a pydantic model with a field `text`. That field is the artefact's file; the other fields
are recorded next to it as JSON, because no file shows them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from fabula.base.errors import PluginError
from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TEXT: Final = "text"


class WithText(Protocol):
    """A value with a text and other fields that were made with it."""

    @property
    def text(self) -> str:
        """The part that the author sees, as a file."""


W = TypeVar("W", bound=WithText)


def written(value: WithText) -> str:
    """All fields of a value except its text, as JSON."""
    return _adapter(type(value)).dump_json(value, exclude={TEXT}).decode()


def read(shape: type[W], text: str, recorded: str | None) -> W:
    """The value made from a text and the record of its other fields; defaults if that record is missing or unreadable.

    Raises:
        PluginError: a field has no default.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - heavy at start-up

    adapter = _adapter(shape)
    for fields in (json.loads(recorded) if recorded else {}, {}):
        try:
            return adapter.validate_json(json.dumps({**fields, TEXT: text}))
        except ValidationError as error:
            problem = error
    lacking = ", ".join(sorted({str(one["loc"][0]) for one in problem.errors() if one["loc"]}))
    raise PluginError(
        f"{shape.__name__} cannot be made from an author's own text alone: {lacking}. Give every field except {TEXT!r} "
        "a default, because an author may write the text before any model is called."
    ) from problem


@remembered(64)  # making one takes 15 ms, and each text of a method is kept in the same shape
def _adapter(shape: type[W]) -> TypeAdapter[W]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy at start-up

    return TypeAdapter(shape)
