"""The text of a SillyTavern chat (.jsonl): each message as a paragraph that begins with the name of who wrote it."""

from __future__ import annotations

import json
from typing import Any, Final

from fabula.story import one_line, plain

BEGINS: Final = (b'{"user_name"', b'{"chat_metadata"')
"""What the first line of such a file begins with."""


def chat_text(data: bytes) -> str:
    """The messages of a chat as fabula's conversations have them; those that are hidden from the model are left out.

    Raises:
        ValueError: a line is not a message in JSON.
    """
    lines = [json.loads(line) for line in data.decode("utf-8-sig").split("\n")[1:] if line.strip()]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line is not a message")
    said = [line for line in lines if not line.get("is_system") and isinstance(line.get("mes"), str)]
    user, character = (
        next((_name(one) for one in said if bool(one.get("is_user")) is who), "") for who in (True, False)
    )
    texts = [one["mes"].replace("{{user}}", user or "You").replace("{{char}}", character or "They") for one in said]
    return "\n\n".join(f"**{_name(one)}:** {plain(text)}" for one, text in zip(said, texts, strict=True))


def _name(line: dict[str, Any]) -> str:
    return one_line(str(line.get("name") or "")).replace("*", "") or "Somebody"
