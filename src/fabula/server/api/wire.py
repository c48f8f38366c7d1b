"""What goes over the wire of `/api/v1` beside the dataclasses of `fabula.app`: bodies of requests, and answers.

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
    """The runs of a project, the newest first."""

    runs: list[RunRecord]


class RunEvents(BaseModel):
    """What has happened in a run so far."""

    after: int = Field(description="The number after which `/api/v1/events` goes on.")
    events: list[dict[str, Any]] = Field(description="As in `/api/v1/events`, each call's text in one piece.")


class Messages(BaseModel):
    """What a run has said beside its events."""

    messages: str


class Prompt(BaseModel):
    """A prompt that somebody is to answer."""

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
