"""The replies of director, actors, memory and players, as types. A list's limit is only in its schema."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from fabula.engine.replies import short


class Outline(BaseModel):
    """The director's outline."""

    previous_outline: Annotated[str, short(500)] = Field(description="what has happened so far, summed up")
    new_outline: Annotated[str, short(600)] = Field(
        min_length=1, description="what should happen next, described and not as dialogue"
    )


class GoalCheck(BaseModel):
    """Whether an objective is reached."""

    completed: bool = Field(description="is the objective complete")
    reason: Annotated[str, short(240)] = Field("", description="why, in a few words")


class LineCheck(BaseModel):
    """An actor's check of its own line."""

    result: bool = Field(description="does only this character speak here")
    revised_response: Annotated[str, short(600)] = Field("", description="the corrected line, if not")


def script_shape(names: Sequence[str], lines: int) -> type[Any]:
    """The next lines: `scripts`, each with `role`, one of `names`, and `content`."""
    content = Annotated[str, short(300), Field(min_length=1, description="what is said")]
    line = create_model("Line", role=(_one_of(names), Field(description="who speaks")), content=(content, ...))
    return create_model("Lines", scripts=(_list_of(line, lines), ...))


def points_shape(most: int) -> type[Any]:
    """A summary: `points`, at most `most` sentences."""
    point = Annotated[str, short(240), Field(min_length=1, description="one sentence")]
    return create_model("Points", points=(_list_of(point, most), ...))


def impressions_shape(names: Sequence[str]) -> type[Any]:
    """What an actor thinks of others: `impressions`, each with `name`, one of `names`, and `impression`."""
    impression = Annotated[str, short(300), Field(min_length=1, description="what the character thinks of this one")]
    one = create_model("Impression", name=(_one_of(names), ...), impression=(impression, ...))
    return create_model("Impressions", impressions=(_list_of(one, len(names)), ...))


def steps_shape(steps: int) -> type[Any]:
    """An objective in stages: `steps`, `steps` sentences."""
    step = Annotated[str, short(240), Field(min_length=1, description="one concrete thing that happens, in a sentence")]
    return create_model("Steps", steps=(_list_of(step, steps), ...))


def action_shape(places: Sequence[str]) -> type[Any]:
    """What a player does: `action`, `words`, and where there is more than one place, `place` (the first by default)."""
    kinds = ("none", "talk", "move", "move and talk") if len(places) > 1 else ("none", "talk")
    fields: dict[str, Any] = {
        "action": (_one_of(kinds), Field(description="none to wait")),
        "words": (Annotated[str, short(600)], Field("", description="what you say, if you talk")),
    }
    if len(places) > 1:
        fields["place"] = (_one_of(places), Field(places[0], description="where you go, if you move"))
    shape: type[Any] = create_model("Action", **fields)
    return shape


def _one_of(values: Sequence[str]) -> Any:  # noqa: ANN401 - a type made at run time
    return Literal[tuple(values)]


def _list_of(item: Any, most: int) -> Any:  # noqa: ANN401 - a type made at run time
    bound: Any = Field(min_length=1, json_schema_extra={"maxItems": most})
    return Annotated[(types.GenericAlias(list, (item,)), bound)]
