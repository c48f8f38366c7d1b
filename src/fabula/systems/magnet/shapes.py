"""What MAGNET's agents answer, as types. Bounds on lengths stand in the schema alone, as in other systems."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

_MOST_UPDATES = 6


def _text(longest: int, told: str, *, least: int = 1) -> Any:  # noqa: ANN401 - what `Field` gives has no type of its own
    return Field(min_length=least, json_schema_extra={"maxLength": longest}, description=told)


class Action(BaseModel):
    """What a character means to do (section 3.2, character agent)."""

    action: Annotated[str, _text(400, "one concrete deed or utterance that you intend now, at most 60 words")]
    rationale: Annotated[str, _text(200, "why, in a few words", least=0)] = ""


class Change(BaseModel):
    """One world update."""

    key: Annotated[str, _text(64, "name of the variable, small letters and underscores")]
    value: Annotated[str, _text(120, "true, false, a number or a few words", least=0)]


class Critique(BaseModel):
    """What the critic finds (section 3.2, critic)."""

    revise: bool = Field(description="must the character find another action")
    feedback: Annotated[str, _text(300, "if so: what is wrong and what would be better", least=0)] = ""
    goal_reached: bool = Field(description="is the story's goal complete once this action has happened")
    world_updates: Annotated[
        list[Change], Field(json_schema_extra={"maxItems": _MOST_UPDATES}, description="what the action changes")
    ] = []


class NextGoal(BaseModel):
    """The goal that follows, and the paragraph that leads to it (section 3.2, goal generator)."""

    goal: Annotated[str, _text(300, "the new goal, one concrete sentence", least=3)]
    goal_domain: Annotated[str, _text(60, "its field: kind of conflict, setting, stakes", least=0)] = ""
    transition_paragraph: Annotated[
        str, _text(900, "story prose in the past tense that leads from the last paragraph to it", least=0)
    ] = ""


_UPDATES: Any = (
    Annotated[list[Change], Field(json_schema_extra={"maxItems": _MOST_UPDATES}, description="what they change")],
    [],
)


@cache
def narration_shape(actions: int, *, updates: bool = False) -> type[Any]:
    """The narrator's choice and paragraph: `order`, numbers from 1 to `actions`, and `paragraph`.

    With `updates` also `world_updates`, which else are the critic's.
    """
    order = Annotated[list[int], Field(min_length=0, json_schema_extra={"maxItems": actions})]
    more = {"world_updates": _UPDATES} if updates else {}
    shape: type[Any] = create_model(
        "Narration", order=(order, ...), paragraph=(str, _text(1600, "the paragraph")), **more
    )
    return shape


@cache
def choice_shape(actions: int, *, updates: bool = False) -> type[Any]:
    """The narrator's choice alone: `order`, numbers from 1 to `actions`; with `updates` also `world_updates`."""
    item = Annotated[int, Field(ge=1, le=actions)]
    order = Annotated[list[item], Field(min_length=1, json_schema_extra={"maxItems": actions})]
    more = {"world_updates": _UPDATES} if updates else {}
    shape: type[Any] = create_model("Choice", order=(order, ...), **more)
    return shape
