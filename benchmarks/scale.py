"""A novel's project: what it takes to replay it, to tell its state, to say what an edit would ask, and to update it.

MAGNET writes it with the scripted roles of `long`; nobody is asked and no second waited for.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.long import WORDS_A_PAGE, Roles, personas_of
from benchmarks.schedule import SkippingLoop
from benchmarks.table import Row, Table
from benchmarks.theatre import SCHEMA
from fabula.app.standing import shortfalls, texts
from fabula.app.writing import Options, Supplied, dry_run_in, write_in
from fabula.engine.roles import Cast
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Story

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

TITLE: Final = "a novel's project: replay, status, update --dry-run, update"
_BRIEF: Final = "Write a story about a harbour town whose lighthouse is to go dark."
_MOST: Final = 1.0  # seconds of CPU
_UPDATE: Final = 3.0  # of them, for an update beside what is asked


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pages of the story, its characters, and how often each thing is timed."""

    pages: int = 300
    people: int = 5
    rounds: int = 3


def bench(sizes: Sizes | None = None) -> Table:
    """CPU of each thing, beside the CPU of writing the story with models that answer at once."""
    sizes = sizes or Sizes()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
        rows = _rows(sizes, Path(folder) / "novel")
    notes = (
        f"MAGNET, {sizes.pages} pages, {sizes.people} characters. CPU is this process's (time.process_time).",
        "After the edits the project is as it was, so that each round begins alike; texts are edited on disk.",
    )
    return Table("scale", TITLE, rows, notes)


def _rows(sizes: Sizes, folder: Path) -> tuple[Row, ...]:
    roles = Roles(1, sizes.people)
    model = ScriptedModel(roles.answer, name="scripted", capabilities=SCHEMA)
    settings = {"system": "magnet", "config": {"words": f"~{sizes.pages * WORDS_A_PAGE}"}}
    project = ProjectFolder.create(folder, Brief.parse(_BRIEF), settings)
    (folder / "plan" / "personas.yaml").write_text(personas_of(sizes.people), encoding="utf-8")

    async def write() -> None:
        await write_in(project, project.settings, Options(), Supplied(Cast.of(model), Budget()))

    async def dry() -> None:
        await dry_run_in(project, project.settings, Options(), Supplied(Cast.of(model), Budget()))

    async def status() -> None:
        coming, _ = await dry_run_in(project, project.settings, Options(), Supplied(Cast.of(model), Budget()))
        with project.journal as journal:
            texts(journal, project.changes(journal), coming)
            shortfalls(journal, project.brief, project.settings, Story.parse(project.story_file.read_text()).words)

    first, calls = _cpu(write) - roles.seconds, roles.calls
    late = sorted((folder / "story").glob("*.md"))[-2:][0]
    each = f"{calls:,} calls"
    return (
        Row("writing it: CPU of ours", (first,), "s", each),
        Row("replay", tuple(_cpu(write) for _ in range(sizes.rounds)), "s", each, most=_MOST),
        Row("dry run, nothing changed", tuple(_cpu(dry) for _ in range(sizes.rounds)), "s", each, most=_MOST),
        Row(
            "dry run, the personas edited",
            _edited(folder / "plan" / "personas.yaml", dry, sizes),
            "s",
            each,
            most=_MOST,
        ),
        Row("dry run, a late scene edited", _edited(late, dry, sizes), "s", each, most=_MOST),
        Row("status", tuple(_cpu(status) for _ in range(sizes.rounds)), "s", each, most=_MOST),
        _updated(late, write, roles, sizes),
    )


def _updated(file: Path, write: Callable[[], Coroutine[Any, Any, None]], roles: Roles, sizes: Sizes) -> Row:
    """CPU of updates after edits of a late scene, without that of the roles."""
    found: list[float] = []
    calls = roles.calls
    for number in range(sizes.rounds):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r" ([a-z]{4,})", rf" {'another ' * (number + 1)}\1", text, count=1), encoding="utf-8")
        before = roles.seconds
        found.append(_cpu(write) - (roles.seconds - before))
    asked = (roles.calls - calls) / sizes.rounds
    return Row("update, a late scene edited", tuple(found), "s", f"{asked:,.0f} calls asked", most=_UPDATE)


def _edited(file: Path, work: Callable[[], Coroutine[Any, Any, None]], sizes: Sizes) -> tuple[float, ...]:
    """CPU with one word of a file changed; the file is as before afterwards."""
    before = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r" ([a-z]{4,})", r" another \1", before, count=1), encoding="utf-8")
    try:
        return tuple(_cpu(work) for _ in range(sizes.rounds))
    finally:
        file.write_text(before, encoding="utf-8")


def _cpu(work: Callable[[], Coroutine[Any, Any, None]]) -> float:
    """Seconds of CPU that some work takes, on a clock that skips waits."""
    begun = time.process_time()
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(work())
    return time.process_time() - begun
