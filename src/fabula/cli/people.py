"""A person in the room: playing a role, and approving texts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from fabula.errors import FabulaError, PausedError
from fabula.files import slug

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.cli.terminal import Terminal
    from fabula.events import Kept
    from fabula.models.base import Request

_RULE = "-" * 72


class AnotherTakeError(FabulaError):
    """A person wants an artefact written anew: the run starts over, and replays what stands before it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"Another take of {path!r} is wanted.")
        self.path = path


@dataclass
class People:
    """Asks the person at the terminal, one question at a time."""

    terminal: Terminal
    folder: Path
    wait_for: Literal["plans", "all"] | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, request: Request) -> str:
        """The person's reply to a prompt; an empty one is asked for again.

        Raises:
            PausedError: the input ended before there was a text.
        """
        tell = self.terminal.tell
        async with self._one:
            with self.terminal.aside():
                tell(f"\n{_RULE}\nYou play {request.role} ({request.path}).\n{_RULE}")
                for message in request.messages:
                    tell(message.content)
                if request.choices:
                    tell("Answer with one of: " + ", ".join(request.choices))
                tell(f"{_RULE}\nWrite your text. A line with a single full stop ends it; /edit opens your editor.")
                while True:
                    text, ended = await self.terminal.lines()
                    if text.strip():
                        return text
                    if ended:
                        raise PausedError(
                            f"The role {request.role!r} waits for your text, but the input has ended. Everything "
                            "finished is kept; the same command goes on from here.",
                            path=request.path,
                        )
                    tell("Nothing was written. Write at least a word, then a line with a single full stop.")

    async def approve(self, kept: Kept) -> str:
        """The artefact's text, as the person accepts or changes it.

        Raises:
            PausedError: nobody can be asked, or the person stops here.
            AnotherTakeError: the person wants it written anew.
        """
        if self.wait_for == "plans" and kept.folder != "plan":
            return kept.text
        file = next((self.folder / kept.folder).glob(f"*{slug(kept.path)}.md"), self.folder / kept.folder)
        waits = PausedError(
            f"{file} waits for your approval. Edit the file, or say `fabula approve -C {self.folder}`; then give the "
            "same command again.",
            path=kept.path,
        )
        if not self.terminal.interactive:
            raise waits
        async with self._one:
            with self.terminal.aside():
                self.terminal.tell(f"\n{_RULE}\n{file}\n{_RULE}\n{kept.text}\n{_RULE}")
                said = await self.terminal.choice("[a]ccept, [e]dit, [r]etake or [s]top? ", "aers")
                if said == "e":
                    return (await self.terminal.edited(kept.text)).strip("\n") or kept.text
        if said == "r":
            raise AnotherTakeError(kept.path)
        if said == "s":
            raise waits
        return kept.text
