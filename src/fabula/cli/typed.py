"""The commands that a message names, so that they can be typed as they stand there."""

from __future__ import annotations

import os
import re
import shlex
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from fabula.cli.lazy import COMMANDS, full_name

NAMED: Final[ContextVar[str]] = ContextVar("named", default="")
"""The folder of the project that the command was given; empty where it is the one that one is in."""
_COMMAND: Final = re.compile("`fabula ([^`]+)`")
_OF_PROJECTS: Final = frozenset(
    {"write", "update", "show", "status", "world", "edit", "undo", "redo", "export"}
    | {name for name in COMMANDS if name.startswith("text ")}
) - {"text card"}


def as_typed_here(sentence: str) -> str:
    """A sentence whose commands name the project that the command was given, where it is not the one here."""
    folder = NAMED.get()
    if not folder or Path(folder).resolve() == Path.cwd():
        return sentence
    inside = Path(folder).resolve().is_relative_to(Path.cwd())
    shown = os.path.relpath(folder) if inside else folder

    def named(found: re.Match[str]) -> str:
        words = found[1].split()
        of_project = (Path(folder).resolve(), Path(folder).resolve() / "brief.md")
        there = any(Path(word).resolve() in of_project for word in words[1:])
        if there or "-C" in words or full_name(words) not in _OF_PROJECTS:
            return found[0]
        return f"`fabula {found[1]} -C {shlex.quote(shown)}`"

    return _COMMAND.sub(named, sentence)
