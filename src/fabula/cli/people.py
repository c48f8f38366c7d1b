"""A person at the terminal who plays a role or approves texts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.app.asking import file_of, waiting_for
from fabula.base.errors import FabulaError, PausedError, UsageError
from fabula.engine.roles import HandBackError
from fabula.models.prompt_text import json_instruction
from fabula.story import count_words

if TYPE_CHECKING:
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


# typed replies from a person ------------------------------------------------------------------------------------------


_KINDS: Final = {"boolean": " (y/n)", "integer": " (number)", "number": " (number)"}
_SEVERAL: Final = ("anyOf", "oneOf", "allOf")
_TOLD: Final = json_instruction({}).removesuffix("{}")


def shown(request: Request) -> tuple[tuple[str, ...], Json | None]:
    """Return the texts that a person reads, and the JSON schema of a typed reply (`None` for free text).

    For a model that does not support schemas, fabula appends the schema to a text as an instruction. This instruction,
    the model's prefilled words, and replies that could not be parsed are hidden from the person. In a chat, both sides
    are shown.
    """
    schema, texts = request.schema, []
    said = request.messages if _is_chat(request) else [one for one in request.messages if one.role != "assistant"]
    for message in said:
        text, shown, rest = message.content.rpartition(_TOLD)
        if shown and schema is None:
            schema = json.loads(rest)
        texts.append(text.rstrip() if shown else rest)
    return tuple(texts), schema


def _is_chat(request: Request) -> bool:
    """Whether the assistant's messages in a request are turns of a dialogue, with the last word by the user."""
    typed = request.schema is not None or request.choices or any(_TOLD in one.content for one in request.messages)
    return not typed and request.messages[-1].role == "user"


def asked_as(field: Json) -> str:
    """Return a description of a field, to print after the question."""
    options = _options(field)
    if options:
        return f" ({' | '.join(_named(options))})"
    for name in _SEVERAL:
        if name in field:
            return next(filter(None, map(asked_as, field[name])), "")
    if field.get("type") == "array":
        return _several(field.get("items", {}))
    return _KINDS.get(str(field.get("type")), "")


def _several(item: Json) -> str:
    if item.get("type") == "object":
        names = (name + asked_as(part) for name, part in item.get("properties", {}).items())
        return f" ({': '.join(names)}; put ; between several)"
    wanted = asked_as(item).removeprefix(" (").removesuffix(")")
    return f" ({wanted}; put ; between several)" if wanted else " (put ; between several)"


def value_of(said: str, field: Json) -> Any:  # noqa: ANN401 - JSON data
    """Convert a line to a field's value; semicolons separate array entries, and colons separate object fields.

    Raises:
        ValueError: the line does not fit the field; the message describes a valid line.
    """
    options = _options(field)
    if options:
        return _option(said, options)
    for name in _SEVERAL:
        if name in field:
            return _first(said, field[name])
    reader = _READERS.get(str(field.get("type")), _text)
    return reader(said, field)


def _options(field: Json) -> list[Any]:
    return [field["const"]] if "const" in field else list(field.get("enum", ()))


def _first(said: str, fields: list[Json]) -> Any:  # noqa: ANN401 - a value of any JSON type
    """The value in the first of several shapes that fits."""
    problem = ValueError("Enter something else.")
    for shape in fields:
        try:
            return value_of(said, shape)
        except ValueError as error:
            problem = error
    raise problem


def _option(said: str, options: list[Any]) -> Any:  # noqa: ANN401 - a value of any JSON type
    """The option that the person means, from the whole option or the beginning of one of its words."""
    if not said and "" in options:
        return ""
    begun = [option for option in options if said and f" {said}".casefold() in f" {option}".casefold()]
    whole = [option for option in begun if str(option).casefold() == said.casefold()]
    if len(whole or begun) != 1:
        raise ValueError(f"Enter one of: {', '.join(_named(options))}.")
    return (whole or begun)[0]


def _named(options: list[Any]) -> list[str]:
    """The options as they are shown; an empty option means that no answer is needed."""
    return [str(option) for option in options if option != ""] + ["or nothing"] * ("" in options)


def _boolean(said: str, field: Json) -> bool:
    del field
    if said.casefold() not in {"y", "yes", "n", "no"}:
        raise ValueError("Answer y or n.")
    return said[0].casefold() == "y"


def _number(said: str, field: Json) -> float:
    try:
        number = int(said) if field["type"] == "integer" else float(said)
    except ValueError as error:
        whole = "whole " if field["type"] == "integer" else ""
        raise ValueError(f"Enter a {whole}number.") from error
    least, most = field.get("minimum", number), field.get("maximum", number)
    if not least <= number <= most:
        bounds = [f"at least {least}"] * ("minimum" in field) + [f"at most {most}"] * ("maximum" in field)
        raise ValueError(f"Enter a number, {' and '.join(bounds)}.")
    return number


def _array(said: str, field: Json) -> list[Any]:
    parts = [value_of(part.strip(), field.get("items", {})) for part in said.split(";") if part.strip()]
    least, most = field.get("minItems", 0), field.get("maxItems", len(parts))
    if not least <= len(parts) <= most:
        wanted = (
            f"exactly {least}" if least == most else f"at least {least}" if len(parts) < least else f"at most {most}"
        )
        raise ValueError(f"Enter {wanted}, separated by semicolons, not {len(parts)}.")
    return parts


def _object(said: str, field: Json) -> Json:
    fields: dict[str, Json] = field.get("properties", {})
    # A text may hold colons of its own; where the last part is one of a few options, they stand before it.
    split = said.rsplit if fields and _options(list(fields.values())[-1]) else said.split
    parts = [part.strip() for part in split(":", len(fields) - 1)]
    if len(parts) != len(fields):
        raise ValueError(f"Enter {': '.join(fields)}.")
    return {name: value_of(part, fields[name]) for name, part in zip(fields, parts, strict=True)}


def _null(said: str, field: Json) -> None:
    del field
    if said:
        raise ValueError("Enter nothing.")


def _text(said: str, field: Json) -> str:
    if not said and field.get("minLength", 1):
        raise ValueError("Enter at least one word.")
    least, most = field.get("minLength", 0), field.get("maxLength", len(said))
    if not least <= len(said) <= most:
        bound = f"at least {least}" if len(said) < least else f"at most {most}"
        raise ValueError(f"Enter {bound} characters, not {len(said)}.")
    return said


_READERS: Final[dict[str, Callable[[str, Json], Any]]] = {
    "boolean": _boolean,
    "integer": _number,
    "number": _number,
    "array": _array,
    "object": _object,
    "null": _null,
}
