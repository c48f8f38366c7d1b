"""What director, actors, memory and players answer, as types. Bounds on lengths stand in the schema alone."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

if TYPE_CHECKING:
    from collections.abc import Sequence


def _text(longest: int, told: str, *, least: int = 1) -> Any:  # noqa: ANN401 - what `Field` gives has no type of its own
    return Field(min_length=least, json_schema_extra={"maxLength": longest}, description=told)


def _list_of(item: Any, most: int, *, least: int = 1) -> Any:  # noqa: ANN401 - a type made at run time
    bound: Any = Field(min_length=least, json_schema_extra={"maxItems": most})
    return Annotated[(types.GenericAlias(list, (item,)), bound)]


def _one_of(values: Sequence[str]) -> Any:  # noqa: ANN401 - a type made at run time
    return Literal[tuple(values)]


class Outline(BaseModel):
    """The director's outline."""

    previous_outline: Annotated[str, _text(500, "what has happened so far, summed up", least=0)]
    new_outline: Annotated[str, _text(600, "what should happen next, described and not as dialogue")]


class GoalCheck(BaseModel):
    """Whether an objective is reached."""

    completed: bool = Field(description="is the objective complete")
    reason: Annotated[str, _text(240, "why, in a few words", least=0)] = ""


class LineCheck(BaseModel):
    """An actor's look at its own line."""

    result: bool = Field(description="does only this character speak here, and in character")
    revised_response: Annotated[str, _text(600, "the mended line, if not", least=0)] = ""


def script_shape(roles: Sequence[str], lines: int) -> type[Any]:
    """The next lines: `scripts`, each with `role`, one of `roles`, and `content`."""
    content = Annotated[str, _text(300, "what is said")]
    line = create_model("Line", role=(_one_of(roles), Field(description="who speaks")), content=(content, ...))
    return create_model("Lines", scripts=(_list_of(line, lines), ...))


def points_shape(most: int) -> type[Any]:
    """A summary: `points`, at most `most` sentences."""
    point = Annotated[str, _text(240, "one sentence")]
    return create_model("Points", points=(_list_of(point, most), ...))


def impressions_shape(names: Sequence[str]) -> type[Any]:
    """What an actor makes of others: `impressions`, each with `name`, one of `names`, and `impression`."""
    impression = Annotated[str, _text(300, "what the character thinks of this one")]
    one = create_model("Impression", name=(_one_of(names), ...), impression=(impression, ...))
    return create_model("Impressions", impressions=(_list_of(one, len(names)), ...))


def steps_shape(steps: int) -> type[Any]:
    """An objective in stages: `steps`, `steps` sentences."""
    step = Annotated[str, _text(240, "one concrete thing that happens, in a sentence")]
    return create_model("Steps", steps=(_list_of(step, steps), ...))


def action_shape(places: Sequence[str]) -> type[Any]:
    """What a player does: `action`, `words`, and where there is more than one place, `place` (the first by default)."""
    kinds = ("none", "talk", "move", "move and talk") if len(places) > 1 else ("none", "talk")
    fields: dict[str, Any] = {
        "action": (_one_of(kinds), Field(description="none to wait")),
        "words": (Annotated[str, _text(600, "what you say, if you talk", least=0)], ""),
    }
    if len(places) > 1:
        fields["place"] = (_one_of(places), Field(places[0], description="where you go, if you move"))
    shape: type[Any] = create_model("Action", **fields)
    return shape
