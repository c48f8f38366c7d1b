"""What goes over the wire of `/api/v1` beside the dataclasses of `fabula.app`: bodies of requests, and answers.

The client for Python (`fabula.Client`) reads the same classes, so nothing here needs a web framework.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from fabula.app.chat_views import MoveKind  # noqa: TC001 - pydantic reads it
from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - pydantic reads it
from fabula.models.answer_files import LARGEST
from fabula.server.runs.record import Run
from fabula.verbs.base import Body

LONGEST_CHAT = 200
_LONGEST_SAID = 20_000  # characters that are taken in, to be told what is too long
_MOST_IN_CHAT = 50

InChat = Annotated[str, Field(max_length=LONGEST_CHAT)]


# runs -----------------------------------------------------------------------------------------------------------------


class RunList(BaseModel):
    """The runs of a project, the newest first."""

    runs: list[Run]


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


# chats ----------------------------------------------------------------------------------------------------------------


class NewChat(Body, json_schema_extra={"examples": [{"others": ["Odile"], "player": "Tobias"}]}):
    """A conversation that is to begin. Without a `player` you are whom the story names most beside those who answer."""

    others: Annotated[list[InChat], Field(min_length=1, max_length=_MOST_IN_CHAT)]
    player: InChat = ""
    freedom: Freedom | None = None
    name: InChat = ""


class Move(Body, json_schema_extra={"examples": [{"kind": "say", "text": "When does the ferry come?"}]}):
    """A move: "say" `text`; "begin" (the character speaks first); "go_on" without you; "another" answer instead.

    `version` is that of the conversation as you have seen it: a move that is meant for an older one is refused. `model`
    answers instead of the project's own.
    """

    kind: MoveKind
    text: Annotated[str, Field(max_length=_LONGEST_SAID)] = ""
    version: int | None = None
    model: Annotated[str, Field(max_length=500)] = ""


class AnswerChoice(Body, json_schema_extra={"examples": [{"number": 2}]}):
    """The number (from 1) of the answer that is to stand."""

    number: int
    version: int | None = None


class ChatVersion(Body, json_schema_extra={"examples": [{"version": 7}]}):
    """The version of the conversation as you have seen it."""

    version: int | None = None


class BranchPoint(Body, json_schema_extra={"examples": [{"after": 2}]}):
    """The turn (from 1) after which another conversation branches off; 0 keeps none."""

    after: Annotated[int, Field(ge=0)]


class ChatChange(Body, json_schema_extra={"examples": [{"freedom": "guided"}]}):
    """Who of the others is there from now on, and how far you may lead away; what is null stays."""

    present: list[InChat] | None = None
    freedom: Freedom | None = None
