"""The typed replies of director, sorter and characters: types whose names and numbers come from the scene."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model, model_validator

from fabula.engine.replies import short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self


class Spoken(BaseModel):
    """What a character does and says in one turn."""

    response: Annotated[str, short(4000)] = Field(min_length=1, description="the turn")


def verdict_type(names: Sequence[str], events: int, *, numbered: bool) -> type[Any]:
    """Whether a scene is to end: `covered`, and why: `reasons`, or `uncovered` (event and character each)."""
    covered = (bool, Field(description="whether the play has covered the whole outline, so that the scene ends"))
    if not numbered:
        why = "the reasons for your decision: exactly which events are not yet covered, and whose they are"
        return create_model("Verdict", reasons=(_text(600), Field(description=why)), covered=covered)
    uncovered = create_model(
        "Uncovered",
        event=(_event(events, numbered=True), Field(description="the number of the event")),
        character=(_one_of(names), Field(description="the character who still has to play it")),
    )
    what = "the events that are not yet covered; none if all are covered"
    return create_model(
        "Verdict", uncovered=(_list_of(uncovered, short(events), Field(description=what)), ...), covered=covered
    )


def direction_type(names: Sequence[str], events: int, *, numbered: bool, chosen: bool = False) -> type[Any]:
    """What comes next: `remaining`, `next_speaker`, `next_command`; where one is to be `chosen`, also its `event`."""
    remaining = "the numbers of the events that remain" if numbered else "the events that remain, word for word"
    event = _event(events, numbered=numbered)
    which: dict[str, Any] = {"event": (event, Field(description="the event that the next turn plays"))}
    made: type[Any] = create_model(
        "Direction",
        remaining=(_list_of(event, short(events), Field(description=remaining)), ...),
        **(which if chosen else {}),
        next_speaker=(_one_of(names), Field(description="who plays the next turn")),
        next_command=(_text(240), Field(description="your short command to that character")),
    )
    return made


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


def decision_type(names: Sequence[str], events: int, *, begun: bool) -> type[Any]:
    """Whether a scene ends (nothing is `remaining`) and, if not, `next_speaker` and `next_command`; of one reply."""
    what = (
        "the numbers of those events of the outline that were not yet played; empty if all were, which ends the scene"
    )
    some = Field(min_length=0 if begun else 1, description=what)
    made: type[_Decision] = create_model(
        "Decision",
        __base__=_Decision,
        remaining=(_list_of(_event(events, numbered=True), some), ...),
        next_speaker=(_one_of([*names, ""]), Field(description="who plays the next turn; empty if the scene ends")),
        next_command=(str, Field(description="your short command to that character; empty if the scene ends")),
    )
    return made


def order_type(names: Sequence[str], accepts: Callable[[Sequence[str]], str]) -> type[Any]:
    """All scene names in the order of time; the model is shown what `accepts` objects to."""

    def checked(order: list[str]) -> list[str]:
        if problem := accepts(order):
            raise ValueError(problem)
        return order

    every = Field(min_length=len(names), max_length=len(names))
    return create_model("Order", scenes=(_list_of(_one_of(names), every, AfterValidator(checked)), ...))


def outline_type(events: int, *, numbered: bool) -> type[Any]:
    """The chronological outline: `points`, as many as there are events at most."""
    no_more = Field(min_length=1, max_length=events)
    if not numbered:
        return create_model("Outline", points=(_list_of(_text(240), no_more), ...))
    point = create_model("Point", event=(_event(events, numbered=True), ...), text=(_text(240), ...))
    return create_model("Outline", points=(_list_of(point, no_more), ...))


def _event(events: int, *, numbered: bool) -> Any:  # noqa: ANN401 - a type made at run time
    """An event by its number, or word for word."""
    return _one_of(range(1, events + 1)) if numbered else Annotated[str, short(300)]


def _text(most: int) -> Any:  # noqa: ANN401 - a type made at run time
    return Annotated[str, short(most, least=3), Field(min_length=1)]


def _one_of(values: Sequence[object]) -> Any:  # noqa: ANN401 - a type made at run time
    return Literal[tuple(values)]


def _list_of(item: Any, *metadata: object) -> Any:  # noqa: ANN401 - a type made at run time
    return Annotated[(types.GenericAlias(list, (item,)), *metadata)]
