"""A text and what was made with it: a memory, a plan for what comes next, what somebody knows by now.

Such a value is a dataclass or a pydantic model with a field `text`. That field is the artefact's file; the others are
recorded beside it, as JSON, since no file shows them.
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
    """What has a text, and more that was made with it."""

    @property
    def text(self) -> str:
        """What the author sees of it, as a file."""


W = TypeVar("W", bound=WithText)


def written(value: WithText) -> str:
    """All of a value but its text, as JSON."""
    return _adapter(type(value)).dump_json(value, exclude={TEXT}).decode()


def read(shape: type[W], text: str, recorded: str | None) -> W:
    """The value of a text and of what was recorded beside it; its fields' defaults where that is nothing or unreadable.

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
        f"{shape.__name__} cannot be made of an author's own text alone: {lacking}. Give every field beside {TEXT!r} a "
        "default, since an author may write the text before anything was asked."
    ) from problem


@remembered(64)  # making one takes 15 ms, and each text of a method is kept in the same shape
def _adapter(shape: type[W]) -> TypeAdapter[W]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy at start-up

    return TypeAdapter(shape)
