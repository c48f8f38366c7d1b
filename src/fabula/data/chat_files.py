"""The messages of a SillyTavern chat (.jsonl), and its text: a paragraph for each, which begins with its speaker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.story import one_line, plain

if TYPE_CHECKING:
    from collections import Counter


BEGINS: Final = (b'{"user_name"', b'{"chat_metadata"')
"""What the first line of such a file begins with."""
_LONGEST: Final = 20_000_000
"""Characters of a message with the names in it, which it may say very often."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message: who wrote it, whether that was the user, the texts drawn for it, and the index of the one shown."""

    name: str
    by_user: bool
    texts: tuple[str, ...]
    shown: int


def messages_in(data: bytes) -> list[ChatMessage]:
    """The messages of a chat; those that are hidden from the model are left out.

    Raises:
        ValueError: a line is not a message in JSON, or a message is too long.
    """
    lines = [json.loads(line) for line in data.decode("utf-8-sig").split("\n")[1:] if line.strip()]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line is not a message")
    said = [line for line in lines if not line.get("is_system") and isinstance(line.get("mes"), str)]
    user, character = (
        next((_name(one) for one in said if bool(one.get("is_user")) is who), "") for who in (True, False)
    )

    def text(words: str) -> str:
        if len(words) + words.count("{{") * max(len(user), len(character)) > _LONGEST:
            raise ValueError("a message is too long")
        return plain(words.replace("{{user}}", user or "You").replace("{{char}}", character or "They"))

    found = []
    for one in said:
        swipes = one.get("swipes")
        drawn = [swipe for swipe in swipes if isinstance(swipe, str)] if isinstance(swipes, list) else []
        drawn = drawn if one["mes"] in drawn else [*drawn, one["mes"]]
        texts = tuple(dict.fromkeys(map(text, drawn)))
        found.append(ChatMessage(_name(one), bool(one.get("is_user")), texts, texts.index(text(one["mes"]))))
    return found


def chat_text(data: bytes, left_out: Counter[str]) -> str:
    """The messages of a chat as fabula's conversations have them; alternatives that are not shown are left out.

    Raises:
        ValueError: a line is not a message in JSON.
    """
    messages = messages_in(data)
    left_out["hidden message"] += sum(1 for line in data.split(b"\n")[1:] if line.strip()) - len(messages)
    left_out["alternative"] += sum(len(one.texts) - 1 for one in messages)
    return "\n\n".join(f"**{one.name}:** {one.texts[one.shown]}" for one in messages)


def _name(line: dict[str, Any]) -> str:
    return one_line(str(line.get("name") or "")).replace("*", "") or "Somebody"
