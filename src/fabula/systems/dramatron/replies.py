"""Characters and scenes as a model gives them by a schema, in improved mode."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fabula.engine.replies import short
from fabula.story import one_line
from fabula.systems.dramatron.hierarchy import CharacterEntry, SceneEntry, with_stop

_Line: TypeAlias = Annotated[str, BeforeValidator(lambda value: one_line(value) if isinstance(value, str) else value)]


class CharacterReply(BaseModel):
    """A character of the play."""

    model_config = ConfigDict(frozen=True)
    name: Annotated[_Line, Field(min_length=1), short(30, least=2)]
    description: Annotated[_Line, Field(min_length=1), short(220, least=40)]

    @property
    def entry(self) -> CharacterEntry:
        """As the other levels have it."""
        return CharacterEntry(self.name, self.description)


class SceneReply(BaseModel):
    """A scene of the play."""

    model_config = ConfigDict(frozen=True)
    happens: Annotated[_Line, Field(min_length=1), short(220, least=40)]
    place: Annotated[_Line, Field(min_length=1), short(50, least=4)]
    element: Annotated[_Line, Field(min_length=1), short(50)]

    @property
    def entry(self) -> SceneEntry:
        """As the other levels have it."""
        return SceneEntry(with_stop(self.place), self.element, self.happens)


class CharactersReply(BaseModel):
    """The characters of the play."""

    records: Annotated[list[CharacterReply], Field(min_length=1), short(5, least=2)]


class ScenesReply(BaseModel):
    """The scenes of the play, in the order in which it shows them."""

    records: Annotated[list[SceneReply], Field(min_length=1), short(6, least=3)]
