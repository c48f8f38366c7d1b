"""The parts of OpenAI's chat completions that a conversation needs: requests in, replies and chunks out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, StrictBool

from fabula.base.errors import UsageError
from fabula.server.chat.histories import Exchange

if TYPE_CHECKING:
    from fabula.models.base import Usage


LONGEST_ID: Final = 200
LONGEST_MODEL: Final = 500
MOST_MESSAGES: Final = 5000
_MOST_PARTS: Final = 1000  # of a message
_NAMED: Final = 30  # the maximum number of unused fields
_UNSET: Final[tuple[object, ...]] = (None, [], {}, "", False)
_OURS: Final = frozenset({"user", "assistant"})


class UnableError(UsageError):
    """A field asks for something that characters cannot do.

    Attributes:
        param: the field.
    """

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param


class ContentPart(BaseModel):
    """A piece of a message; only text is supported."""

    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation, as the client sends it."""

    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[ContentPart], Field(max_length=_MOST_PARTS)] | None = None

    @property
    def text(self) -> str:
        """The text of the message.

        Raises:
            UsageError: the message has a part that is not text.
        """
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        foreign = next((part.type for part in self.content if part.type != "text"), None)
        if foreign is not None:
            raise UsageError(
                f"A message has a part of type {foreign[:40]!r}, but characters read only text. Remove that part."
            )
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """What a streamed reply contains besides its text."""

    model_config = ConfigDict(extra="ignore")
    include_usage: StrictBool | None = None


class ChatRequest(BaseModel):
    """The body of `POST /v1/chat/completions`. Other fields, such as sampling values, are accepted and ignored."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[str, Field(max_length=LONGEST_MODEL)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES), FailFast()]
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    modalities: list[str] | None = None
    response_format: dict[str, Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    user: Annotated[str, Field(max_length=LONGEST_ID)] | None = None
    metadata: dict[str, str] | None = None

    @property
    def not_used(self) -> list[str]:
        """The names of fields that a client has set in vain: the project decides how a character speaks."""
        return sorted(name[:60] for name, value in (self.model_extra or {}).items() if value not in _UNSET)[:_NAMED]

    def check_able(self) -> None:
        """Check, before a model is called, that a character can give the requested answer.

        Raises:
            UnableError: a character cannot; the error names the field.
        """
        if self.n not in (None, 1):
            raise UnableError(
                "A character gives one answer at a time. Omit `n`. To get another answer, send the request again.", "n"
            )
        if any(kind != "text" for kind in self.modalities or ()):
            raise UnableError("Characters answer only in text. Omit `modalities`.", "modalities")
        if (self.response_format or {}).get("type", "text") != "text":
            message = "Characters cannot fill in forms. Omit `response_format`."
            raise UnableError(message, "response_format")
        if self.tool_choice not in (None, "auto", "none"):
            raise UnableError("Characters do not use tools. Omit `tool_choice`, or set it to auto.", "tool_choice")

    @property
    def with_usage(self) -> bool:
        """Whether a streamed reply ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)


@dataclass(frozen=True, slots=True)
class RequestedTurn:
    """A conversation from a request: the exchanges so far, and what the player says now.

    Attributes:
        history: the exchanges, oldest first. The player says nothing in an exchange for a greeting of the client.
        said: what the player says now; `None` if the character begins or continues.
    """

    history: tuple[Exchange, ...]
    said: str | None


def requested_turn(messages: Sequence[ChatMessage], notices: Sequence[str] = ()) -> RequestedTurn:
    """The conversation in a client's messages, without instructions (system, developer) and tools.

    Consecutive messages of one speaker become one. The server's own notices (`notices`) and the messages that they
    answer are not part of the conversation.

    Raises:
        UsageError: a message has a part that is not text.
    """
    turns: list[tuple[str, str]] = []
    for message in messages:
        if message.role not in _OURS:
            continue
        if turns and turns[-1][0] == message.role:
            turns[-1] = (message.role, f"{turns[-1][1]}\n{message.text}")
        else:
            turns.append((message.role, message.text))
    said: str | None = None
    if turns and turns[-1][0] == "user":
        said = turns.pop()[1]
    history: list[Exchange] = []
    asked = ""
    for role, text in turns:
        if role == "user":
            asked = text
        else:
            history.append(Exchange(asked, text))
            asked = ""
    return RequestedTurn(tuple(exchange for exchange in history if exchange.answer.strip() not in notices), said)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The shared fields of all pieces of a reply: its identifier, its time in seconds since 1970, and its model.

    Attributes:
        not_used: the fields of the request that had no effect.
    """

    id: str
    created: int
    model: str
    not_used: tuple[str, ...] = ()

    def about(self, turn: dict[str, Any]) -> dict[str, Any]:
        """The field `fabula` of a reply."""
        return turn | ({"not_used": list(self.not_used)} if self.not_used else {})

    def whole(self, text: str, usage: Usage, about: dict[str, Any]) -> dict[str, Any]:
        """A reply in one piece."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
        return self._of("chat.completion", [choice]) | {"usage": usage_body(usage), "fabula": self.about(about)}

    def piece(self, delta: dict[str, Any], finish: str | None = None, **more: object) -> dict[str, Any]:
        """A piece of a streamed reply."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._of("chat.completion.chunk", [choice]) | more

    def usage(self, usage: Usage) -> dict[str, Any]:
        """The piece that contains only the usage."""
        return self._of("chat.completion.chunk", []) | {"usage": usage_body(usage)}

    def _of(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


def usage_body(usage: Usage) -> dict[str, Any]:
    """The numbers of tokens in OpenAI's format."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.reply,
        "total_tokens": usage.prompt + usage.reply,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def model_body(name: str, created: int) -> dict[str, Any]:
    """An entry of the list of models."""
    return {"id": name, "object": "model", "created": created, "owned_by": "fabula"}
