"""Bodies and answers of `/api/v1`, apart from the dataclasses of `fabula.app`.

The client for Python (`fabula.Client`) reads the same classes, so nothing here needs a web framework.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from fabula.models.answer_files import LARGEST
from fabula.server.runs.record import RunRecord
from fabula.verbs.base import Body

# runs -----------------------------------------------------------------------------------------------------------------


class RunList(BaseModel):
    """The runs of a project, newest first."""

    runs: list[RunRecord]


class RunEvents(BaseModel):
    """The events of a run so far."""

    after: int = Field(description="The event number from which `/api/v1/events` continues.")
    events: list[dict[str, Any]] = Field(
        description="The events, as in `/api/v1/events`, with the text of each call in one piece."
    )


class Messages(BaseModel):
    """The messages of a run, apart from its events."""

    messages: str


class Prompt(BaseModel):
    """A prompt that a person must answer."""

    name: str
    prompt: str


class Prompts(BaseModel):
    """The prompts that wait for an answer."""

    prompts: list[Prompt]


class Answer(
    Body,
    json_schema_extra={
        "examples": [{"name": "0001-conflict", "text": "Odile wants to leave, and the ferry does not come."}]
    },
):
    """The answer to a prompt."""

    name: str = Field(max_length=500)
    text: str = Field(max_length=LARGEST)
