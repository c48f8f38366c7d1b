"""What MAGNET's agents answer, as types; `short` bounds hold for small models alone."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from fabula.engine.replies import short


class ActionReply(BaseModel):
    """What a character means to do (section 3.2, character agent)."""

    action: Annotated[
        str, short(400), Field(min_length=1, description="one concrete deed or utterance that you intend now")
    ]
    rationale: Annotated[str, short(200), Field(description="why, in a few words")] = ""


class Update(BaseModel):
    """One world update."""

    key: Annotated[
        str, short(64), Field(min_length=1, description="name of the variable, small letters and underscores")
    ]
    value: Annotated[str, short(120), Field(description="true, false, a number or a few words")]


class Critique(BaseModel):
    """What the critic finds (section 3.2, critic)."""

    revise: bool = Field(description="must the character find another action")
    feedback: Annotated[str, short(300), Field(description="if so: what is wrong and what would be better")] = ""
    goal_reached: bool = Field(description="is the story's goal complete once this action has happened")
    world_updates: Annotated[list[Update], short(6), Field(description="what the action changes")] = []


class NextGoal(BaseModel):
    """The goal that follows, and the paragraph that leads to it (section 3.2, goal generator)."""

    goal: Annotated[str, short(300), Field(min_length=3, description="the new goal, one concrete sentence")]
    goal_domain: Annotated[str, short(60), Field(description="its domain: kind of conflict, setting, stakes")] = ""
    transition_paragraph: Annotated[
        str, short(900), Field(description="story prose that leads from the last paragraph to the new goal")
    ] = ""


_UPDATES: Any = (Annotated[list[Update], short(6), Field(description="what the chosen actions change")], [])


@cache
def narration_shape(actions: int, *, updates: bool = False) -> type[Any]:
    """The narrator's choice and paragraph: `order`, numbers from 1 to `actions`, and `paragraph`.

    With `updates` also `world_updates`, which else are the critic's. Numbers that no action has are left to the caller.
    """
    order = Annotated[list[int], Field(json_schema_extra={"maxItems": actions})]
    paragraph = Annotated[str, short(1600), Field(min_length=1, description="the paragraph")]
    more = {"world_updates": _UPDATES} if updates else {}
    shape: type[Any] = create_model("Narration", order=(order, ...), paragraph=(paragraph, ...), **more)
    return shape


@cache
def choice_shape(actions: int, *, updates: bool = False) -> type[Any]:
    """The narrator's choice alone: `order`, numbers from 1 to `actions`; with `updates` also `world_updates`."""
    item = Annotated[int, Field(ge=1, le=actions)]
    order = Annotated[list[item], Field(min_length=1, json_schema_extra={"maxItems": actions})]
    more = {"world_updates": _UPDATES} if updates else {}
    shape: type[Any] = create_model("Choice", order=(order, ...), **more)
    return shape
