"""The command line run in this process, with a script that plays every role of Agents' Room."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fabula.cli.documents import DOCUMENTS, document_of
from fabula.cli.lazy import full_name
from fabula.cli.main import main
from fabula.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

BY_PARTS = ("--system", "agents-room", "--set", "final_reading=false")
"""A room whose agents plan and write, nine calls in all, as `REPLIES` has them."""

REPLIES = {
    "conflict": "Mara must light the lamp before the storm takes the harbour, but her father forbade it.",
    "character": "Mara, sixteen, stubborn. Her father Jonas, keeper of the lamp, afraid of fire.",
    "setting": "A lighthouse on a rock in the north sea, autumn, a hundred years ago.",
    "plot": "Mara finds the lamp dark. She climbs. The storm comes. She lights it. Jonas forgives her.",
    "exposition": "The lamp was dark when Mara came home. Nobody had climbed the stairs in a week.",
    "rising_action": "She took the matches from the drawer. Her father slept, or seemed to sleep.",
    "climax": "The storm broke the window. Mara held the flame with both her hands.",
    "falling_action": "One ship turned away from the rocks. Then another turned, and another.",
    "resolution": "In the morning Jonas carried the coal up himself, and said nothing at all.",
}
BRIEF = "# The Lamp\n\nA girl lights a lighthouse against her father's will.\n"

LAMP = "The lamp was dark. Mara lit it. The boats came home one after the other, and she slept."
ENDING = "Plot: A\nCreativity: A\nDevelopment: A\nLanguage Use: A\nOverall: A\n"
EXPERIMENT = """\
name = "Two <rooms>"
briefs = ["brief.md"]
systems = ["agents-room"]
models = [{ model = "scripted:script.toml", label = "script" }]
preset = "faithful"

[[evaluators]]
evaluator = "pairwise"
model = "scripted:script.toml"
preset = "faithful"
"""
"""Two systems, judged in pairs; its script needs `writer` and `judge` beside `REPLIES`."""

PLAN = """\
title: The Last Lamp
conflict: The lamp is to go dark while a boat is still out.
setting: A lighthouse on a bare cape, in the autumn of 1962.
characters:
  - name: Mara
    age: 70
    speech: Few words, often numbers.
  - name: Tobias
    age: 10
  - name: The fishermen
    group: yes
scenes:
  - name: The letter
    place: The lamp room, at dusk
    importance: 8
    time: 1962
    characters:
      Mara: to hide what the letter says
      Tobias: to hear what it says
    outline:
      - Tobias brings a letter.
      - Mara reads it and says nothing.
  - name: The wreck
    place: The quay, many years ago
    time: 1893
    characters: [Mara, The fishermen]
    outline:
      - The fishermen pull young Mara out of the sea.
"""


def _direction(turn: str, speaker: str, command: str) -> dict[str, str]:
    said = {"remaining": [1], "next_speaker": speaker, "next_command": command}
    return {f"role-play/{turn}/decide": json.dumps(said)}


PLAY = {
    "sorter": '{"points": [{"event": 1, "text": "It begins."}]}',
    **_direction("the-letter/turn/1", "Tobias", "Bring it."),
    **_direction("the-letter/turn/2", "Mara", "Read and be still."),
    **_direction("the-wreck/turn/1", "Mara", "Cry for help."),
    **_direction("the-wreck/turn/2", "The fishermen", "Haul her in."),
    "memory:memory": "I know what the sea takes, and what it gives back.",
    "Mara": "Mara counts. 'Eleven boats,' she says, 'and ten of them are home.'",
    "Tobias": "Tobias puts the envelope on the table and does not let go of it.",
    "The fishermen": "The fishermen haul until their hands bleed.",
    "the-letter/rewrite": "The boy had run all the way with the letter. Mara read it standing, and folded it.",
    "the-wreck/rewrite": "They had pulled her out of that water once, and nobody had asked whose child she was.",
}


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - a test knows the shape
        return json.loads(self.out)


def check_document(arguments: Sequence[str], out: str) -> None:
    """See that a document of `--json` is as its published schema wants it.

    Raises:
        AssertionError: it is not, or is none.
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    command = command_of(arguments)
    if "--json" not in options or not out or not command or "--json-schema" in options:
        return
    try:
        _document_of(command).validate_json(out, strict=True)
    except ValidationError as error:
        raise AssertionError(f"`fabula {' '.join(arguments)}` is not as the schema of {command!r}: {error}") from error


_document_of = cache(document_of)


def command_of(arguments: Sequence[str]) -> str:
    """The whole name of the command of a command line, that of its group's own included; empty for an unknown one."""
    words = list(takewhile(lambda word: not word.startswith("-"), arguments))
    name = full_name(words)
    used = len(name.split())
    inner = f"{name} {words[used]}" if len(words) > used else name
    return inner if inner in DOCUMENTS else name


@dataclass
class Cli:
    """Runs commands in this process, in `folder`."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        self.patch.setattr(sys, "stdin", io.StringIO(stdin))
        self.capture.readouterr()
        code = main(list(arguments))
        ran = self.capture.readouterr()
        check_document(arguments, ran.out)
        return Ran(code, ran.out, ran.err)

    def at_terminal(self) -> None:
        """From now on a person can be asked."""
        self.patch.setattr(Terminal, "interactive", property(lambda _: True))


def script_of(replies: Mapping[str, str]) -> str:
    """A script file's text."""
    return "[replies]\n" + "".join(f"{json.dumps(role)} = {json.dumps(text)}\n" for role, text in replies.items())
