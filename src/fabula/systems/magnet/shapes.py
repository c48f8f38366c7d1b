"""What MAGNET's agents answer, as types; `short` bounds hold for small models alone."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

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


class Change(Update):
    """One world update that not everybody learns of (ours)."""

    unseen_by: Annotated[
        list[str],
        Field(
            description="names of characters who see the action and yet do not learn of this; empty if all of them do"
        ),
    ] = []


class Verdict(BaseModel):
    """What the critic finds where nobody names world updates."""

    revise: bool = Field(description="must the character find another action")
    feedback: Annotated[str, short(300), Field(description="if so: what is wrong and what would be better")] = ""
    goal_reached: bool = Field(description="is the story's goal complete once this action has happened")


class Critique(Verdict):
    """What the critic finds (section 3.2, critic)."""

    world_updates: Annotated[list[Update], short(6), Field(description="what the action changes")] = []


class Witnessed(Verdict):
    """What the critic finds where people know what they have seen (ours)."""

    world_updates: Annotated[list[Change], Field(description="what the action changes")] = []
    unseen_by: Annotated[
        list[str],
        Field(description="names of the characters who can neither see nor hear this action; empty if all do"),
    ] = []


class Contradiction(BaseModel):
    """A variable of the world that a paragraph contradicts."""

    key: Annotated[str, Field(min_length=1, description="the variable, as it stands above")]
    value: Annotated[str, Field(description="the value that the paragraph gives it instead")]
    quote: Annotated[str, Field(min_length=1, description="the words of the paragraph that say so")]


class Reading(BaseModel):
    """What in a paragraph does not agree with W, and which actions it leaves out."""

    contradictions: Annotated[list[Contradiction], Field(description="empty if the paragraph agrees with all")]
    untold: Annotated[
        list[int], Field(description="numbers of the actions that do not happen in the paragraph; empty if all do")
    ] = []
    added: Annotated[
        list[Change],
        Field(description="variables that the paragraph changes beyond the actions, with the values at its end"),
    ] = []


class Sight(BaseModel):
    """Something that can be seen or heard, and by whom."""

    what: Annotated[
        str, Field(min_length=1, description="one sentence: who does or says what, without thoughts, feelings, secrets")
    ]
    unseen_by: Annotated[
        list[str], Field(description="names of the characters who neither see nor hear it; empty if all do")
    ] = []
    changes: Annotated[
        list[str], Field(description="keys of the world above that change with it, or that it shows; often empty")
    ] = []


class Account(Reading):
    """Beside that, what those who are there see and hear (ours)."""

    seen: Annotated[list[Sight], Field(description="what can be seen and heard in the paragraph, in its order")]
    now: Annotated[str, Field(description="place, day and time of day at the end of the paragraph, in a few words")] = (
        ""
    )


class Changes(BaseModel):
    """What a person's edit changes in W."""

    world_updates: Annotated[list[Update], Field(description="the variables that have another value now")]


class Start(BaseModel):
    """Where a character is when the story begins, and whether it knows of the goal (ours)."""

    name: Annotated[str, Field(min_length=1)]
    place: Annotated[str, Field(description="where the character is at the story's first moment, in a few words")]
    place_unknown_to: Annotated[
        list[str], Field(description="names of the characters who do not know that, or believe otherwise")
    ] = []
    there: Annotated[bool, Field(description="is that where the opening is, so that the character can act in it")] = (
        True
    )
    knows_goal: Annotated[bool, Field(description="does the character know of what the goal speaks")]
    knows: Annotated[
        str,
        Field(description="what it knows of the others, as above, without what it believes wrongly; empty if nothing"),
    ] = ""
    believes: Annotated[
        str,
        Field(
            description="what it believes wrongly, said as it would say it itself, without a word that it is wrong "
            '("Her father is at sea."); empty if nothing'
        ),
    ] = ""


class FirstGoal(BaseModel):
    """The goal that the story begins with (ours)."""

    goal: Annotated[
        str, Field(min_length=3, description="the end state, one sentence that a reader of the story could check")
    ]
    opening: Annotated[
        str, Field(description="place, date and time of day of the story's first moment, in a few words")
    ]
    setting: Annotated[
        str, Field(description="the setting as everybody there knows it: place, time, season, what stands where")
    ] = ""
    people: Annotated[list[Start], Field(description="every character, once")] = []


class Turn(BaseModel):
    """Who acts next (ours)."""

    name: Annotated[str, Field(min_length=1)]
    elsewhere: Annotated[
        str, Field(description="place, day and time of day where the character acts, if the story is elsewhere then")
    ] = ""


class Course(BaseModel):
    """How the story goes on after this (ours)."""

    next_scene: Annotated[
        str,
        Field(description="if the scene ends here: place, day and time of day of the next one, in a few words"),
    ] = ""
    acts_next: Annotated[list[Turn], Field(description="who acts next; empty if all do")] = []


class NextGoal(BaseModel):
    """The goal that follows, and the paragraph that leads to it (section 3.2, goal generator)."""

    goal: Annotated[str, short(300), Field(min_length=3, description="the new goal, one concrete sentence")]
    goal_domain: Annotated[str, short(60), Field(description="its domain: kind of conflict, setting, stakes")] = ""
    transition_paragraph: Annotated[
        str, short(900), Field(description="the text of the story that leads from the last paragraph to the new goal")
    ] = ""


class HiddenGoal(Course, NextGoal):
    """The goal that follows, where people know what they have seen (ours)."""

    hidden_from: Annotated[
        list[str], Field(description="names of the characters who know nothing of what the goal speaks of")
    ] = []


_UPDATES: Any = (Annotated[list[Update], short(6), Field(description="what the chosen actions change")], [])
_REACHED: Any = (Annotated[bool, Field(description="is the story's goal complete once they have happened")], ...)


@remembered(64)
def narration_shape(actions: int, *, updates: bool = False, reached: bool = False) -> type[Any]:
    """The narrator's choice and paragraph: `order`, numbers from 1 to `actions`, and `paragraph`.

    With `updates` also `world_updates`, with `reached` also `goal_reached`: what the critic else says. Numbers that no
    action has are left to the caller.
    """
    order = Annotated[list[int], Field(json_schema_extra={"maxItems": actions})]
    paragraph = Annotated[str, short(1600), Field(min_length=1, description="the paragraph")]
    more = _more(updates=updates, reached=reached)
    shape: type[Any] = create_model("Narration", order=(order, ...), paragraph=(paragraph, ...), **more)
    return shape


@remembered(64)
def choice_shape(actions: int, *, updates: bool = False, reached: bool = False, leads: bool = False) -> type[Any]:
    """The narrator's choice alone: as `narration_shape` without the paragraph; with `leads` also the `Course`."""
    item = Annotated[int, Field(ge=1, le=actions)]
    order = Annotated[list[item], Field(min_length=1, json_schema_extra={"maxItems": actions})]
    more: dict[str, Any] = {name: (one.annotation, one) for name, one in Course.model_fields.items()} if leads else {}
    more |= _more(updates=updates, reached=reached)
    shape: type[Any] = create_model("Choice", order=(order, ...), **more)
    return shape


def _more(*, updates: bool, reached: bool) -> dict[str, Any]:
    return ({"world_updates": _UPDATES} if updates else {}) | ({"goal_reached": _REACHED} if reached else {})
