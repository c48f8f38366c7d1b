"""The record of a run: its verb and arguments, its state, and its calls, tokens and cost so far."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabula.base.errors import FabulaError, PausedError, UsageError, kind_of
from fabula.base.files import PRIVATE, inside, make_folder, read_text, write_atomically

State: TypeAlias = Literal["queued", "running", "waits", "finished", "stopped", "failed", "killed"]

NAME: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
"""The name of a run's folder: the time of the request and a unique suffix."""
RUNS: Final = ".fabula/runs"
"""The folder of a project in which each run has its own folder."""
RECORD: Final = "run.json"
OPEN: Final = ("queued", "running")
_LARGEST: Final = 1_000_000
_STOPPED: Final = "Stopped. Every finished call is kept. To continue, do the same again."
_MOST_KEPT: Final = 30  # runs of a project whose logs are kept
_MOST: Final = 2**53  # the limit of any count
_MOST_FILES: Final = 100  # awaited files that are shown


class Tally(BaseModel):
    """The number, tokens, time and cost of calls, of one role or of all."""

    model_config = ConfigDict(allow_inf_nan=False)

    calls: int = 0
    replayed: int = 0
    prompt: int = 0
    cached: int = 0
    reply: int = 0
    seconds: float = 0.0
    cost: float | None = Field(default=0.0, description="US dollars; null if a price is unknown.")

    def begin(self, event: dict[str, Any]) -> None:
        """Count that a call has begun: before the first call is answered, its price may be unknown."""
        if event.get("priced") is False and not self.calls:
            self.cost = None

    def count(self, event: dict[str, Any]) -> None:
        """Count a call that was answered or lost; a call from the journal costs nothing."""
        if event.get("replayed"):
            self.replayed += 1
            return
        usage = event.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        before = self.cost if self.calls else 0.0
        self.calls += 1
        self.prompt += _whole(usage.get("prompt"))
        self.cached += _whole(usage.get("cached"))
        self.reply += _whole(usage.get("reply"))
        self.seconds += _number(usage.get("seconds")) or 0.0
        cost = _number(usage.get("cost"))
        self.cost = None if before is None or cost is None else before + cost


class RunRecord(BaseModel):
    """One run of a project."""

    model_config = ConfigDict(allow_inf_nan=False)

    id: str
    verb: str = Field(description="The long-running verb that the run executes.")
    arguments: dict[str, Any] = Field(default={}, description="The arguments of the verb, by name.")
    state: State = "queued"
    created: float = Field(default=0.0, description="Seconds since 1970, like all times here.")
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    kind_of_error: str = Field(default="", description="The name of the error's class.")
    message: str = Field(default="", description="Why the run failed, or what it waits for.")
    waits_for: str = Field(default="", description="The artefact that is waiting for approval.")
    awaited: list[str] = Field(
        default=[], description="The answer files for which the run is waiting, in the folder `awaited_in`."
    )
    awaited_in: str = ""
    kept: int = Field(default=0, description="The number of artefacts that already have their texts.")
    total: Tally = Tally()
    roles: dict[str, Tally] = {}
    terminal: bool = Field(default=False, description="Whether the run is a command that a person typed in a terminal.")
    pid: int | None = Field(
        default=None, ge=1, lt=2**31, description="The ID of the process, or of the server in whose queue the run is."
    )

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self.state in OPEN

    def hear(self, event: dict[str, Any]) -> None:
        """Update the record with an event."""
        kind = event["type"]
        if kind == "call_started":
            self.total.begin(event)
            self.roles.setdefault(str(event.get("role", "")), Tally()).begin(event)
        elif kind in ("call_finished", "call_lost"):
            role = str(event.get("role", ""))
            self.total.count(event)
            self.roles.setdefault(role, Tally()).count(event)
        elif kind == "kept":
            self.kept += 1
        elif kind == "answers_awaited":
            files = event.get("files")
            self.awaited = [str(file) for file in files[:_MOST_FILES]] if isinstance(files, list) else []
            self.awaited_in = str(event.get("folder", ""))
        elif kind == "command_ended":
            self._ends(event)

    def _ends(self, event: dict[str, Any]) -> None:
        """Update the record with the command's own report of its end."""
        self.exit_code = _whole(event.get("exit_code"))
        self.kind_of_error, self.message = str(event.get("kind", "")), str(event.get("message", ""))
        self.awaited = []
        if self.kind_of_error == "PausedError":
            self.state, self.waits_for = "waits", str(event.get("artefact", ""))
        elif self.kind_of_error == "StoppedError":
            self.state = "stopped"
        else:
            self.state = "finished" if self.exit_code == 0 else "failed"

    def save(self, folder: Path) -> None:
        """Write the record into its folder.

        Raises:
            ProjectError: the record cannot be written.
        """
        make_folder(folder, mode=0o700)
        write_atomically(folder / RECORD, self.model_dump_json(indent=1) + "\n", mode=PRIVATE)


def end_of(error: BaseException | None) -> dict[str, Any]:
    """How a run ended, as its log says it; errors that are not fabula's own count too."""
    if isinstance(error, asyncio.CancelledError):
        return {"exit_code": 130, "kind": "StoppedError", "message": _STOPPED}
    if not isinstance(error, FabulaError):
        return (
            {"exit_code": 0} if error is None else {"exit_code": 1, "kind": type(error).__name__, "message": str(error)}
        )
    said = {"exit_code": error.exit_code, "kind": kind_of(error), "message": str(error)}
    return said | ({"artefact": error.path} if isinstance(error, PausedError) else {})


def new_name(now: float) -> str:
    """A name for a run that is requested `now`, in seconds since 1970."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"


def runs_in(folder: Path) -> Iterator[str]:
    """The names of the runs in a project's folder."""
    with suppress(OSError, UsageError), os.scandir(inside(folder, RUNS)) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.name


def forget_old(folder: Path, at_work: Container[str] = ()) -> None:
    """Remove the logs of a project's oldest runs, except those `at_work`."""
    ended = sorted(name for name in runs_in(folder) if name not in at_work)
    for name in ended[:-_MOST_KEPT]:
        shutil.rmtree(folder / RUNS / name, ignore_errors=True)


def read_run(folder: Path) -> RunRecord | None:
    """The run of this folder; `None` if it has no readable record."""
    try:
        run = RunRecord.model_validate_json(read_text(folder / RECORD, _LARGEST, links=False))
    except (FabulaError, ValidationError):
        return None
    return run if run.id == folder.name else None


def _whole(value: object) -> int:
    number = _number(value)
    return 0 if number is None else int(number)


def _number(value: object) -> float | None:
    """A number from a log; `None` if it is not a number, or is larger than in any run."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        return None
    return float(value)
