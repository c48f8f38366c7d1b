"""The typed replies of director, sorter and characters: types whose names and numbers come from the scene."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, create_model, model_validator

from fabula.engine.replies import short

_COMMAND = "your short command to that character"
_SPEAKER = "who plays the next turn"


class Spoken(BaseModel):
    """What a character does and says in one turn."""

    response: Annotated[str, short(4000)] = Field(min_length=1, description="the turn")


class EndVerdict(BaseModel):
    """Whether a scene is to end, and why."""

    reasons: Annotated[str, short(600, least=3)] = Field(
        min_length=1,
        description="the reasons for your decision: exactly which events are not yet covered, and whose they are",
    )
    covered: bool = Field(description="whether the play has covered the whole outline, so that the scene ends")


def direction_type(names: Sequence[str], events: int) -> type[Any]:
    """What comes next: `remaining`, `next_speaker`, `next_command`."""
    remaining = Field(description="the events that remain, word for word")
    return create_model(
        "Direction",
        remaining=(_list_of(Annotated[str, short(300)], short(events), remaining), ...),
        next_speaker=(_one_of(names), Field(description=_SPEAKER)),
        next_command=(_text(240), Field(description=_COMMAND)),
    )


def order_type(names: Sequence[str], accepts: Callable[[Sequence[str]], str]) -> type[Any]:
    """All scene names in the order of time; the model is shown what `accepts` objects to."""

    def checked(order: list[str]) -> list[str]:
        if problem := accepts(order):
            raise ValueError(problem)
        return order

    every = Field(min_length=len(names), max_length=len(names))
    return create_model("Order", scenes=(_list_of(_one_of(names), every, AfterValidator(checked)), ...))


def outline_type(events: int) -> type[Any]:
    """The chronological outline: `points`, as many as there are events at most."""
    return create_model("Outline", points=(_list_of(_text(240), Field(min_length=1, max_length=events)), ...))


# ours -----------------------------------------------------------------------------------------------------------------


def numbered_outline_type(events: int) -> type[Any]:
    """The same, each point with the number of its event."""
    point = create_model("Point", event=(_one_of(range(1, events + 1)), ...), text=(_text(240), ...))
    return create_model("Outline", points=(_list_of(point, Field(min_length=1, max_length=events)), ...))


class _Decision(BaseModel):
    """What a decision of one call must be: while an event remains, somebody plays on."""

    remaining: list[int]
    next_speaker: str
    next_command: str

    @model_validator(mode="after")
    def _goes_on(self) -> Self:
        if self.remaining and not (self.next_speaker and self.next_command.strip()):
            raise ValueError("Events remain, so the scene goes on: give next_speaker and next_command.")
        return self


def decision_type(names: Sequence[str], events: int, *, begun: bool, full: bool) -> type[Any]:
    """Whether a scene ends (nothing is `remaining`) and, if not, `next_speaker` and `next_command`; of one reply.

    `full`: both are there in any case, for small models, which else leave them empty where they are needed.
    """
    what = (
        "the numbers of those events of the outline that were not yet played; empty if all were, which ends the scene"
    )
    some = Field(min_length=0 if begun else 1, description=what)
    made: type[_Decision] = create_model(
        "Decision",
        __base__=_Decision,
        remaining=(_list_of(_one_of(range(1, events + 1)), some), ...),
        next_speaker=(
            _one_of(names if full else [*names, ""]),
            Field(description=f"{_SPEAKER}; empty if the scene ends"),
        ),
        next_command=(
            _text(240) if full else str,
            Field(
                description=f"{_COMMAND}; empty if the scene ends",
                json_schema_extra=None if full else {"minLength": 0},  # a person may leave it empty
            ),
        ),
    )
    return made


def _text(most: int) -> Any:  # noqa: ANN401 - a type made at run time
    return Annotated[str, short(most, least=3), Field(min_length=1)]


def _one_of(values: Sequence[object]) -> Any:  # noqa: ANN401 - a type made at run time
    return Literal[tuple(values)]


def _list_of(item: Any, *metadata: object) -> Any:  # noqa: ANN401 - a type made at run time
    return Annotated[(types.GenericAlias(list, (item,)), *metadata)]
