"""The typed replies of SNAP's roles."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from fabula.engine.replies import short


class Label(BaseModel):
    """A character of a segment: its name, and the traits and background that the segment shows."""

    name: Annotated[str, short(80)]
    traits: Annotated[list[Annotated[str, short(120)]], short(8)] = []
    background: Annotated[str, short(600)] = ""


class CharacterLabels(BaseModel):
    """The characters of a segment."""

    characters: Annotated[list[Label], short(12)]


class NarrativeReply(BaseModel):
    """A writing task as a narrative."""

    narrative: str = Field("", description="the whole narrative; empty where the text is one itself")
