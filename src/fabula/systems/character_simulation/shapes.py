"""What the director and the sorters answer, as types whose names and numbers come from the scene.

Bounds on lengths stand in the schema alone: they keep engines that write by it from running on, and a reply that is
longer is still one.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMAND_LENGTH = 240
POINT_LENGTH = 240
EVENT_LENGTH = 300


class Spoken(BaseModel):
    """A character's turn as the paper wants it."""

    response: str = Field(
        min_length=1, json_schema_extra={"maxLength": 4000}, description="the turn, told in the third person"
    )


def _one_of(values: Sequence[object]) -> Any:  # noqa: ANN401 - a type made at run time
    return Literal[tuple(values)]


def _list_of(item: Any, *bounds: object) -> Any:  # noqa: ANN401 - a type made at run time
    """The type of lists of `item`, with `bounds`."""
    return Annotated[(types.GenericAlias(list, (item,)), *bounds)]


def _at_most(items: int) -> Any:  # noqa: ANN401 - what `Field` gives has no type of its own
    return Field(json_schema_extra={"maxItems": max(items, 1)})


def _event(events: int, *, numbered: bool) -> Any:  # noqa: ANN401 - a type made at run time
    """An event by its number, or word for word."""
    if numbered:
        return _one_of(range(1, events + 1))
    return Annotated[str, Field(json_schema_extra={"maxLength": EVENT_LENGTH})]


def verdict_shape(names: Sequence[str], events: int, *, numbered: bool) -> type[Any]:
    """Whether a scene is to end: `uncovered` (event and character each) and `covered`."""
    uncovered = create_model(
        "Uncovered",
        event=(_event(events, numbered=numbered), Field(description="the event of the outline")),
        character=(_one_of(names), Field(description="who still has to play it")),
    )
    what = "events not covered yet, each as event : character; nothing if all are"
    return create_model(
        "Verdict",
        uncovered=(_list_of(uncovered, _at_most(events), Field(description=what)), ...),
        covered=(bool, Field(description="is the whole outline covered, so that the scene ends")),
    )


def direction_shape(names: Sequence[str], events: int, *, numbered: bool) -> type[Any]:
    """What comes next: `remaining`, `next_speaker`, `next_command`."""
    command: Any = Annotated[str, Field(min_length=3, json_schema_extra={"maxLength": COMMAND_LENGTH})]
    told = "numbers of the events that remain" if numbered else "the events that remain, word for word"
    return create_model(
        "Direction",
        remaining=(_list_of(_event(events, numbered=numbered), _at_most(events), Field(description=told)), ...),
        next_speaker=(_one_of(names), Field(description="who plays the next turn")),
        next_command=(command, Field(description="your short command to that character")),
    )


def order_shape(names: Sequence[str], accepts: Callable[[Sequence[str]], str]) -> type[Any]:
    """All scene names in the order of time; what `accepts` objects to is told to the model."""

    def checked(order: list[str]) -> list[str]:
        problem = accepts(order)
        if problem:
            raise ValueError(problem)
        return order

    bounded = Field(min_length=len(names), max_length=len(names))
    return create_model("Order", scenes=(_list_of(_one_of(names), bounded, AfterValidator(checked)), ...))


def outline_shape(events: int, *, numbered: bool) -> type[Any]:
    """The chronological outline: `points`, each event once."""
    text = Annotated[str, Field(min_length=3, json_schema_extra={"maxLength": POINT_LENGTH})]
    bounded = Field(min_length=1, max_length=events)
    if not numbered:
        return create_model("Outline", points=(_list_of(text, bounded), ...))
    point = create_model("Point", event=(_one_of(range(1, events + 1)), ...), text=(text, ...))
    return create_model("Outline", points=(_list_of(point, bounded), ...))
