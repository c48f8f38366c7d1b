"""Commands in messages, completed so that you can type them as shown."""

from __future__ import annotations

import os
import re
import shlex
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from fabula.cli.lazy import COMMANDS, full_name

NAMED: Final[ContextVar[str]] = ContextVar("named", default="")
"""The project folder in the command; empty if it is the current folder."""
_COMMAND: Final = re.compile("`fabula ([^`]+)`")
_OF_PROJECTS: Final = frozenset(
    {"write", "update", "show", "status", "world", "edit", "undo", "redo", "export", "chat", "check"}
    | {name for name in COMMANDS if name.startswith("text ")}
) - {"text card"}


_FILE: Final = re.compile(
    r"(?<![\w./'-])(?:(?:plan|story|drafts)/[\w.-]{1,200}\.(?:md|yaml|csv)|story\.md|brief\.md|fabula\.toml)(?![\w/-])"
)


def as_typed_here(sentence: str, *, files: bool = False) -> str:
    """Return a sentence in which each command includes the command's project, unless that is the current folder.

    With `files`, the names of the project's files get its folder, too, except names as typed, in quotes, and lists.
    """
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

    def placed(found: re.Match[str]) -> str:
        there = Path(folder, found[0]).exists() and not Path(found[0]).exists()
        return f"{shown}/{found[0]}" if there else found[0]

    sentence = _COMMAND.sub(named, sentence)
    said, known, names = sentence.partition(" Known: ")
    return (_FILE.sub(placed, said) if files else said) + known + names
