"""The places where a user meets an error: a terminal, a page, or a program. The advice differs.

Messages below the command line are written once, in its words: options with two dashes, commands in backticks. An
error remembers its door and gives its advice in the words of that door: elsewhere, an option is a setting or an
argument of the same name, and there is no command to run again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias

Door: TypeAlias = Literal["terminal", "page", "program"]

_DOOR: Final[ContextVar[Door]] = ContextVar("door", default="program")
_OPTION: Final = re.compile(r"(?<![\w/.-])--([a-z][a-z-]{1,30})(?![\w-])")
_COMMAND: Final = re.compile(r"(\b[Rr]un )?`fabula ([^`\n]{1,300})`")
_SET: Final = re.compile(r"(?<![\w/.-])--set (?=[a-z_]{1,40}=)")
_AGAIN: Final = (
    ("run the command again", "try again"),
    ("run the same command again", "try again"),
    ("Run the same command again", "Try again"),
    ("give the same command again", "try it again"),
    ("Give the same command again", "Try it again"),
    ("Run the same command again with", "Do the same again with"),
    ("The same command", "Another try"),
    ("the same command", "another try"),
)
_ON_PAGES: Final = (
    ("text undo", "Undo on the Edit page"),
    ("undo", "Undo on the Edit page"),
    ("redo", "Redo on the Edit page"),
    ("text pin", "Pin on the Edit page"),
    ("text unpin", "Unpin on the Edit page"),
    ("show --versions", "History on the Edit page"),
    ("text retake", "“Write it another way” on the Edit page"),
    ("text edits", "“What the final reading changed” on the Edit page"),
    ("write", "a new run on the Write page"),
    ("update", "a new run on the Write page"),
    ("check", "a check on the World page"),
    ("world", "the World page"),
    ("evaluate facts", "reading for facts on the World page"),
    ("status", "the Edit page"),
    ("show --prompts", "the Prompts page"),
    ("new", "a new project on the first page"),
)


@contextmanager
def at_door(door: Door) -> Iterator[None]:
    """While this context is open, errors give their advice in the words of this door."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)


def door_here() -> Door:
    """The door of errors that are raised now."""
    return _DOOR.get()


def said(text: str, door: Door) -> str:
    """A message in the words of a door."""
    if door == "terminal":
        return text
    text = _COMMAND.sub(lambda found: _named(found[2], door, found[1] or ""), text)
    for command, other in _AGAIN:
        text = text.replace(command, other)
    text = _SET.sub("", text)
    between = " " if door == "page" else "_"
    return _OPTION.sub(lambda found: found[1].replace("-", between), text)


def _named(command: str, door: Door, run: str) -> str:
    """A command in the words of a door. A command that only a terminal has keeps its name, without its options."""
    if door == "page":
        for name, place in _ON_PAGES:
            if command == name or command.startswith(f"{name} "):
                return {"Run ": "Use ", "run ": "use "}.get(run, "") + place
    return f"{run}`fabula {command.partition(' --')[0]}` in a terminal"
