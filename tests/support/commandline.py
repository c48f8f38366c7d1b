"""The command line run in this process, with a script that plays every role of Agents' Room."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.cli.main import main
from fabula.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

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


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - a test knows the shape
        return json.loads(self.out)


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
        told = self.capture.readouterr()
        return Ran(code, told.out, told.err)

    def at_terminal(self) -> None:
        """From now on a person can be asked."""
        self.patch.setattr(Terminal, "interactive", property(lambda _: True))


def script_of(replies: Mapping[str, str]) -> str:
    """A script file's text."""
    return "[replies]\n" + "".join(f"{role} = {json.dumps(text)}\n" for role, text in replies.items())
