"""A model that answers from another project's journal, by path: for demonstrations and golden tests."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from fabula.base.errors import ConfigError, ModelError
from fabula.engine.journal import Journal
from fabula.models.base import Capabilities, OnText, Reply, Request


class ReplayModel:
    """Answers each path with the newest reply recorded there; the usage is as recorded, but costs nothing again."""

    def __init__(self, path: Path) -> None:
        self._path = path if path.suffix == ".db" else path / ".fabula" / "journal.db"
        self.name = f"replay:{path}"
        self.capabilities = Capabilities(schema=True, choices=True)
        self._turns: Counter[str] = Counter()

    @property
    def identity(self) -> str:
        """`replay@` and a digest of the recorded replies."""
        recorded = "\0".join(f"{path}\0{n}\0{reply.text}" for (path, n), reply in sorted(self._recorded.items()))
        return f"replay@{sha256(recorded.encode()).hexdigest()[:12]}"

    @cached_property
    def _recorded(self) -> dict[tuple[str, int], Reply]:
        if not self._path.is_file():
            raise ConfigError(f"There is no journal at {self._path}. Give a project folder or a journal file.")
        with Journal(self._path) as journal:
            return {(call.path, call.ordinal): call.reply for call in journal.calls.find(prompts=True)}

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The reply recorded at the request's path.

        Raises:
            ModelError: nothing was recorded there.
        """
        turn = self._turns[request.path]
        self._turns[request.path] += 1
        reply = self._recorded.get((request.path, turn)) or self._recorded.get((request.path, 0))
        if reply is None:
            raise ModelError(
                f"{self._path} has no reply at {request.path}. Replay the same run that was recorded there."
            )
        if on_text is not None:
            on_text(reply.text)
        return reply

    async def close(self) -> None:
        """Do nothing, because nothing is open."""
