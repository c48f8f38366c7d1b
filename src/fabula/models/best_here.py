"""Which of fabula's own models this machine can best write with: by its memory, its disk and its measured speed."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ModelError, ModelUnavailableError
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.known import DEFAULT_MODEL, KNOWN, cache_home, installed, local_path
from fabula.models.memory import free_memory
from fabula.models.pull import pull

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabula.models.known import KnownModel
    from fabula.models.pull import Report

    Pull = Callable[[KnownModel, Path, Report], object]
    Speed = Callable[[Path, Mapping[str, str]], float]

QUICK: Final = KNOWN[DEFAULT_MODEL]
BEST: Final = max(KNOWN.values(), key=lambda model: model.size)
_MEMORY: Final = 2_600_000_000  # bytes that the better model takes while it writes, measured
_STORY: Final = 21_000  # tokens that the quick model writes while the better one writes a story of 900 words
_LONGEST: Final = 900  # seconds that a first story may take
_PIECE: Final = 48  # tokens that are written to see how fast that is
_SPARE: Final = 1.1  # times the bytes of a file that have to be free for it
_MEGA: Final = 1e6


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model that was chosen, and a sentence that says why."""

    model: KnownModel
    sentence: str


def pull_best(
    home: Path, environ: Mapping[str, str], report: Report, *, fetch: Pull | None = None, speed: Speed | None = None
) -> Chosen:
    """The best of fabula's own models that this machine can write with; it is there at the end.

    The quick one is fetched first and shows how fast the machine is. Where the better one has no room, would take too
    long or cannot be fetched, the quick one it is, and the sentence says why.

    Raises:
        ModelUnavailableError: not even the quick one can be had.
    """
    fetch = fetch or _fetched
    fetch(QUICK, home, report)
    why = _no_room(home)
    seconds = 0.0
    if not why:
        pace = (speed or _tokens_a_second)(home, environ)
        seconds = _STORY / pace if pace else 0.0
        if seconds > _LONGEST:
            why = f"{BEST.name} would take about {seconds / 60:.0f} minutes for a story here"
    if not why:
        try:
            fetch(BEST, home, report)
        except ModelUnavailableError as error:
            why = f"{BEST.name} cannot be had: {str(error).rstrip('.')}"
    if why:
        return Chosen(QUICK, f"{QUICK.name} writes: {why}. It is quick, and forgets half of its plan.")
    return Chosen(BEST, f"{BEST.name} writes: the best that this machine can run, in {_minutes(seconds)}.")


def _fetched(model: KnownModel, home: Path, report: Report) -> object:
    return pull(model, home, report=report)


def _no_room(home: Path) -> str:
    """Why the better model has no room here; empty if it has."""
    memory = free_memory()
    if memory is not None and memory < _MEMORY:
        return f"{BEST.name} needs {_MEMORY / _MEGA:,.0f} MB of memory, and {memory / _MEGA:,.0f} MB are free"
    if installed(BEST.name, home):
        return ""
    with suppress(OSError):
        disk, needs = shutil.disk_usage(home).free, BEST.size * _SPARE
        if disk < needs:
            return f"{BEST.name} needs {needs / _MEGA:,.0f} MB of disk, and {disk / _MEGA:,.0f} MB are free"
    return ""


def _tokens_a_second(home: Path, environ: Mapping[str, str]) -> float:
    """How fast the quick model writes here now; 0 where it cannot be seen."""
    model = EmbeddedModel(local_path(QUICK.name, home), name=f"embedded:{QUICK.name}", cache=cache_home(environ))
    request = Request((Message("user", "Tell a story."),), Sampling(max_tokens=_PIECE, seed=1))

    async def measured() -> float:
        try:
            await model.ask(request)  # the first call starts the engine
            usage = (await model.ask(request)).usage
            return usage.reply / usage.seconds if usage.seconds else 0.0
        finally:
            await model.close()

    try:
        return asyncio.run(measured())
    except ModelError:
        return 0.0


def _minutes(seconds: float) -> str:
    minutes = max(round(seconds / 60), 1)
    return f"about {minutes} {'minute' if minutes == 1 else 'minutes'} a story" if seconds else "some minutes"
