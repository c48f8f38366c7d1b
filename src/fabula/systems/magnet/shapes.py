"""What MAGNET's agents answer, as types; `short` bounds hold for small models alone."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, create_model

from fabula.base.remembering import remembered
from fabula.engine.replies import short


class ActionReply(BaseModel):
    """What a character means to do (section 3.2, character agent)."""

    action: Annotated[
        str, short(400), Field(min_length=1, description="one concrete deed or utterance that you intend now")
    ]


class Update(BaseModel):
    """One world update."""

    key: Annotated[
        str, short(64), Field(min_length=1, description="name of the variable, small letters and underscores")
    ]
    value: Annotated[str, short(120), Field(description="true, false, a number or a few words")]


class CritiqueReply(BaseModel):
    """What the critic finds where nobody names world updates."""

    revise: bool = Field(description="must the character find another action")
    feedback: Annotated[str, short(300), Field(description="if so: what is wrong and what would be better")] = ""
    goal_reached: bool = Field(description="is the story's goal complete once this action has happened")


class Critique(CritiqueReply):
    """What the critic finds (section 3.2, critic)."""

    world_updates: Annotated[list[Update], short(6), Field(description="what the action changes")] = []


class NextGoal(BaseModel):
    """The goal that follows, and the paragraph that leads to it (section 3.2, goal generator)."""

    goal: Annotated[str, short(300), Field(min_length=3, description="the new goal, one concrete sentence")]
    goal_domain: Annotated[str, short(60), Field(description="its domain: kind of conflict, setting, stakes")] = ""
    transition_paragraph: Annotated[
        str,
        short(900),
        Field(min_length=1, description="the text of the story that leads from the last paragraph to the new goal"),
    ]


class Changes(BaseModel):
    """What a person's edit changes in W."""

    world_updates: Annotated[list[Update], Field(description="the variables that have another value now")]


_UPDATES: Any = (Annotated[list[Update], short(6), Field(description="what the chosen actions change")], [])
_REACHED: Any = (Annotated[bool, Field(description="is the story's goal complete once they have happened")], ...)


@remembered(64)
def narration_shape(actions: int, *, critic: bool = True, updates: bool = True) -> type[Any]:
    """The narrator's choice among so many actions, `order`, and the `paragraph` about them.

    Without a critic also `goal_reached` and, with `updates`, `world_updates`: what the critic else says.
    """
    paragraph = Annotated[str, short(1600), Field(min_length=1, description="the paragraph")]
    more: dict[str, Any] = {} if critic else {"goal_reached": _REACHED}
    more |= {"world_updates": _UPDATES} if updates and not critic else {}
    shape: type[Any] = create_model("Narration", order=(_order(actions), ...), paragraph=(paragraph, ...), **more)
    return shape


def _order(actions: int) -> Any:  # noqa: ANN401 - a type
    """Numbers from 1 to `actions`, each once, at least one; others do not count."""
    number = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": actions})]
    extra: Any = {"minItems": 1, "maxItems": actions}
    return Annotated[list[number], AfterValidator(partial(_chosen, actions)), Field(json_schema_extra=extra)]


def _chosen(actions: int, order: list[int]) -> list[int]:
    found = [number for number in dict.fromkeys(order) if 1 <= number <= actions]
    if not found:
        raise ValueError(f"choose at least one of the actions, by its number from 1 to {actions}")
    return found


# people who know what they have seen, and scenes (the preset improved) ------------------------------------------------


class SeenCritique(Critique):
    """What the critic finds, and who learns of it."""

    unseen_by: Annotated[
        list[str],
        Field(description="names of the characters who can neither see nor hear this action; empty if all do"),
    ] = []


class NextActor(BaseModel):
    """Who acts next."""

    name: Annotated[str, Field(min_length=1)]
    elsewhere: Annotated[
        str, Field(description="place, day and time of day where the character acts, if the story is elsewhere then")
    ] = ""


class CourseReply(BaseModel):
    """How the story goes on after this."""

    next_scene: Annotated[
        str,
        short(120),
        Field(description="if the scene ends here: place, day and time of day of the next one, in a few words"),
    ] = ""
    next_date: Annotated[
        str,
        short(40),
        Field(
            description="date and time of the next scene, as 1921-05-03 or 1921-05-03 14:30, where the story has dates"
        ),
    ] = ""
    acts_next: Annotated[list[NextActor], short(6), Field(description="who acts next; empty if all do")] = []


class LedGoal(CourseReply, NextGoal):
    """The goal that follows, and where it leads."""

    hidden_from: Annotated[
        list[str], Field(description="names of the characters who know nothing of what the goal speaks of")
    ] = []
    world_updates: Annotated[
        list[Update], short(6), Field(description="what the transition paragraph changes in the state of the world")
    ] = []


@remembered(64)
def choice_shape(actions: int) -> type[Any]:
    """The narrator's choice alone, and how the story continues."""
    shape: type[Any] = create_model("Choice", __base__=CourseReply, order=(_order(actions), ...))
    return shape
