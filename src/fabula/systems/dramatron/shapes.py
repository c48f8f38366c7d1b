"""Typed replies of the levels that list: what a model fills in where the format is a schema."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from fabula.engine.replies.labelled import reads_as_text
from fabula.story import one_line
from fabula.systems.dramatron.parsing import place_key, whole
from fabula.systems.dramatron.records import Beat, Figure

Element: TypeAlias = Literal[
    "Exposition",
    "Inciting incident",
    "Conflict",
    "Rising action",
    "Dilemma",
    "Climax",
    "Falling action",
    "Resolution",
    "Dénouement",
]
MOST_FIGURES: Final = 5
USUAL_SCENES: Final = 6


def _said(value: object) -> object:
    return one_line(value) if isinstance(value, str) else value


def _told(low: int, high: int) -> Any:  # noqa: ANN401 - what `Field` gives has no type of its own
    """Bounds on a length; engines that write by a schema keep to them, what others say is taken."""
    return Field(min_length=1, json_schema_extra={"minLength": low, "maxLength": high})


Name: TypeAlias = Annotated[str, BeforeValidator(_said), _told(2, 30)]
Place: TypeAlias = Annotated[str, BeforeValidator(_said), _told(4, 50)]
Sentence: TypeAlias = Annotated[str, BeforeValidator(_said), _told(40, 220)]


class FigureReply(BaseModel):
    """A character."""

    model_config = ConfigDict(frozen=True)

    name: Name
    description: Sentence

    def sound(self) -> bool:
        """Whether it holds text."""
        return reads_as_text(self.description)

    def record(self) -> Figure:
        """As the other levels have it."""
        name = self.name.title() if self.name == self.name.lower() else self.name
        return Figure(name, whole(self.description))


class SceneReply(BaseModel):
    """A scene."""

    model_config = ConfigDict(frozen=True)

    happens: Sentence
    place: Place
    element: Element

    def sound(self) -> bool:
        """Whether it holds text."""
        return reads_as_text(self.happens)

    def record(self) -> Beat:
        """As the other levels have it."""
        return Beat(place_key(self.place), self.element, whole(self.happens))


def figures_shape(low: int) -> type[BaseModel]:
    """A list of characters, at least `low` if it can be had."""
    return _list_shape("Characters", FigureReply, low, MOST_FIGURES)


def scenes_shape(low: int, high: int) -> type[BaseModel]:
    """A list of scenes, at least `low` if it can be had, and at most `high`."""
    return _list_shape("Scenes", SceneReply, low, high)


def _list_shape(name: str, kind: type[BaseModel], low: int, high: int) -> type[BaseModel]:
    listed = Annotated[list[kind], Field(min_length=1, json_schema_extra={"minItems": low, "maxItems": high})]  # type: ignore[valid-type] # pydantic reads it at run time
    return create_model(name, records=(listed, ...))
