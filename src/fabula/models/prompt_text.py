"""A request as one text, for a chat window or for a person who answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabula.models.base import Json, Request

_HEADINGS: Final = {"assistant": "## Your earlier answer", "user": "## What I say to that"}


def json_instruction(schema: Json) -> str:
    """The instruction to a role if the engine cannot enforce the schema."""
    shown = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with JSON alone, no other text before or after it, that fits this JSON schema:\n{shown}"


def prompt_text(request: Request) -> str:
    """The messages of a request in order, and the form of its reply."""
    parts: list[str] = []
    answered = False
    for message in request.messages:
        if message.role == "assistant" or (message.role == "user" and answered):
            parts.append(_HEADINGS[message.role])
            answered = True
        parts.append(message.content.strip())
    return "\n\n".join(part for part in (*parts, form_wanted(request)) if part)


def form_wanted(request: Request) -> str:
    """The instruction about the form of the reply; empty for free text."""
    if request.schema is not None:
        return json_instruction(request.schema)
    if request.choices:
        return f"Answer with one of these, and with nothing else: {' | '.join(request.choices)}"
    return ""
