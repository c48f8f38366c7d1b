"""A person at the terminal who plays a role or approves texts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fabula.app.asking import file_of, waiting_for
from fabula.base.errors import FabulaError, PausedError, UsageError
from fabula.cli.form import asked_as, shown, value_of
from fabula.engine.roles import HandBackError
from fabula.story import count_words

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.cli.terminal import Terminal
    from fabula.engine.events import Kept
    from fabula.models.base import Json, Request

_RULE = "-" * 72
_WHAT_NOW = "[a]ccept, [e]dit, [t]ype another, [r]etake or [s]top? "
_PASS, _HAND_BACK = "/pass", "/hand-back"
_END = """\
  .            ends your text
  /edit        opens it in your editor
"""
_OTHERS = f"""\
  {_PASS}        lets the model take this turn
  {_HAND_BACK}   lets the model take this role from now on"""


class AnotherTakeError(FabulaError):
    """Raised if a person wants an artefact rewritten: the run restarts and replays everything before it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"You asked for another version of {path!r}.")
        self.path = path


@dataclass
class People:
    """The person at the terminal, who answers one question at a time."""

    terminal: Terminal
    folder: Path
    wait_for: Literal["plans", "all"] | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, request: Request) -> str:
        """Return the person's reply to a prompt; ask again if it is empty.

        Raises:
            PausedError: the input ended before a text was entered.
            HandBackError: the person leaves the answer to the model.
        """
        message = self.terminal.message
        texts, schema = shown(request)
        async with self._one:
            with self.terminal.aside():
                message(f"\n{_RULE}\nYou play {request.role} ({request.path}).\n{_RULE}")
                message(self.terminal.wrapped("\n\n".join(texts)))
                message(_RULE)
                if schema is not None:
                    return json.dumps(await self._typed(request, schema), ensure_ascii=False)
                if request.choices:
                    message(f"Answer on one line, or type\n{_OTHERS}")
                    return str(await self._field(request, "your choice", {"enum": list(request.choices)}))
                return await self._text(request)

    async def _text(self, request: Request) -> str:
        """A text by the person."""
        self.terminal.message(f"Write your text on as many lines as you like. On a separate line\n{_END}{_OTHERS}")
        if asked := _asked_for(request):
            self.terminal.message(asked)
        while True:
            text, ended = await self.terminal.lines((_PASS, _HAND_BACK))
            if text in {_PASS, _HAND_BACK}:
                raise HandBackError(for_good=text == _HAND_BACK)
            if text.strip():
                if held := _held_against(request, count_words(text)):
                    self.terminal.message(held)
                return text
            if ended:
                raise _waiting(request)
            self.terminal.message(
                "You wrote nothing. Write at least one word, and then a full stop on a separate line."
            )

    async def _typed(self, request: Request, schema: Json) -> Any:  # noqa: ANN401 - JSON data
        """The person's typed reply: each field on a line, or a text if only a text is wanted."""
        fields: dict[str, Json] = schema.get("properties", {})
        if [_is_text(field) for field in fields.values()] == [True]:
            return dict.fromkeys(fields, await self._text(request))
        self.terminal.message(f"Answer each question on one line. Instead of an answer,\n{_OTHERS}")
        if schema.get("type") != "object":
            return await self._field(request, "your answer", schema)
        needed = schema.get("required", list(fields))
        said = {name: await self._field(request, name, field, needed=name in needed) for name, field in fields.items()}
        return {name: value for name, value in said.items() if value is not None or name in needed}

    async def _field(self, request: Request, name: str, field: Json, *, needed: bool = True) -> Any:  # noqa: ANN401 - JSON data
        """One field's value: asked again until it fits; `None` if it is optional and left empty."""
        shown = field.get("description") or name.replace("_", " ")
        while True:
            line = await self.terminal.line(f"{shown}{asked_as(field)}{'' if needed else ' (or nothing)'}: ")
            if line is None:
                raise _waiting(request)
            said = line.strip()
            if said in {_PASS, _HAND_BACK}:
                raise HandBackError(for_good=said == _HAND_BACK)
            if not (said or needed):
                return None
            try:
                return value_of(said, field)
            except ValueError as problem:
                self.terminal.message(str(problem))

    async def approve(self, kept: Kept) -> str:
        """Return the artefact's text as the person approves or edits it.

        Raises:
            PausedError: no person is at the terminal, or the person stops.
            AnotherTakeError: the person wants it rewritten.
        """
        if self.wait_for == "plans" and kept.folder != "plan":
            return kept.text
        waits = waiting_for(self.folder, kept)
        if not self.terminal.interactive:
            raise waits
        async with self._one:
            with self.terminal.aside():
                self.terminal.message(
                    f"\n{_RULE}\n{file_of(self.folder, kept)}\n{_RULE}\n{kept.text}\n{_RULE}\n{_count(kept.text)}"
                )
                while (said := await self.terminal.choice(_WHAT_NOW, "aetrs")) in {"e", "t"}:
                    if text := await self._other_text(kept.text, said):
                        return text
        if said == "r":
            raise AnotherTakeError(kept.path)
        if said == "s":
            raise waits
        return kept.text

    async def _other_text(self, text: str, how: str) -> str:
        """The text as the person edits or retypes it; empty if that failed."""
        if how == "t":
            self.terminal.message(f"Type the whole text as it should be. On a separate line\n{_END}")
            return (await self.terminal.lines())[0].strip("\n")
        try:
            return (await self.terminal.edited(text)).strip("\n")
        except UsageError as problem:  # the run goes on
            self.terminal.message(f"{problem} Or type it: t.")
            return ""


def _count(text: str) -> str:
    return f"{count_words(text):,} words"


def _asked_for(request: Request) -> str:
    """How many words are asked for, and how many to cut; empty if no number is asked for."""
    least, most = request.words
    if not most:
        return ""
    asked = f"{least:,} to {most:,} words are requested." if least < most else f"About {most:,} words are requested."
    return f"{asked} The text has {request.has:,}. Cut about {request.has - most:,}." if request.has > most else asked


def _held_against(request: Request, words: int) -> str:
    """How many words a text has, compared with those asked for; empty if no number is asked for."""
    least, most = request.words
    if not most:
        return ""
    if least <= words <= most:
        return f"Your text has {words:,} words, as requested."
    off = f"{least - words:,} too few" if words < least else f"{words - most:,} too many"
    return f"Your text has {words:,} words: {off}."


def _is_text(field: Json) -> bool:
    return field.get("type") == "string" and "enum" not in field


def _waiting(request: Request) -> PausedError:
    return PausedError(
        f"The role {request.role!r} is waiting for your text, but the input has ended. All finished work is kept. To "
        "continue from here, run the same command again.",
        path=request.path,
    )
