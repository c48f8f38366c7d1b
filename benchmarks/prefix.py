"""How much of its prompts a room really has to read: the improved prompt order beside the paper's."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.base.errors import ReplyError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import DEFAULT_MODEL, models_home
from fabula.models.limits import Limited
from fabula.project.casting import base_sampling
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.context import Aids
    from fabula.engine.journal import Call
    from fabula.engine.methods import Preset
    from fabula.models.base import Sampling

TITLE: Final = "prompt tokens that the embedded engine really reads"
BRIEFS: Final = Path(__file__).parents[1] / "examples" / "briefs"
_SHARE: Final = 45.0
_PERCENT: Final = 100.0
_MORE: Final = {"again", "extend", "shorten"}  # scopes of calls that length control and tidying add


@dataclass(frozen=True)
class Sizes:
    """How much is written: a story for each of the last `briefs`, with `settings` on top of the improved preset.

    `weights` is a GGUF file; `None` takes the default model. `base` are its values against loops, `aids` its help.
    """

    briefs: int = 3
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Path | None = None
    base: Sampling = field(default_factory=lambda: base_sampling(DEFAULT_MODEL))
    context: int = 8192
    threads: int | None = None
    aids: Aids = "auto"


@dataclass(frozen=True, slots=True)
class Reading:
    """What some calls took: their number, prompt tokens sent and really read, and seconds until first tokens."""

    calls: int
    sent: int
    read: int
    waited: float

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Reading:
        """That of recorded calls."""
        used = [call.reply.usage for call in calls]
        sent, cached = sum(usage.prompt for usage in used), sum(usage.cached for usage in used)
        return cls(len(used), sent, sent - cached, sum(usage.first or 0.0 for usage in used))

    @property
    def share(self) -> float:
        """Percent of the prompt tokens that were read and not found in the cache."""
        return _PERCENT * self.read / self.sent


@dataclass(frozen=True, slots=True)
class Told:
    """A story's reading: of all its calls, and of the first call of each agent, which is what the paper knows."""

    whole: Reading
    first: Reading


def bench(sizes: Sizes | None = None) -> Table:
    """Both orders in turns, story by story.

    Raises:
        ModelUnavailableError: the weights are not there.
    """
    sizes = sizes or Sizes()
    files = sorted(BRIEFS.glob("*.md"), reverse=True)[: sizes.briefs]
    pairs = [
        tuple(asyncio.run(reading(Brief.read(file), sizes, first=first)) for first in (False, True)) for file in files
    ]
    ours, papers = zip(*pairs, strict=True)
    rows: list[Row] = []
    for what, most, found in (
        ("scratchpad first (improved)", _SHARE, ours),
        ("instruction first (the paper's order)", None, papers),
    ):
        rows += [
            Row(f"{what}: read of sent", tuple(t.whole.share for t in found), "%", "story", most=most),
            Row(f"{what}: the same in first calls", tuple(t.first.share for t in found), "%", "story"),
            Row(f"{what}: prompt tokens sent", tuple(float(t.whole.sent) for t in found), "tokens", "story"),
            Row(f"{what}: prompt tokens read", tuple(float(t.whole.read) for t in found), "tokens", "story"),
            Row(f"{what}: wait for first tokens", tuple(t.whole.waited for t in found), "s", "story"),
            Row(f"{what}: calls", tuple(float(t.whole.calls) for t in found), "", "story"),
        ]
    notes = (
        (
            f"Agents' Room, improved preset, {Path(_weights(sizes)).name}, one slot, a new engine for each story; "
            f"the briefs are {', '.join(file.stem for file in files)}. The two orders are those of the paper's prompts "
            "and of improved mode's, which also differ in their words."
        ),
        (
            "Read is what the engine reports as prompt tokens less those it took from its cache. Seconds depend on "
            "this machine and on who else uses it; the shares do not. First calls leave out those that extend a "
            "short part or ask again: these have one order only, scratchpad first."
        ),
    )
    return Table("prefix", TITLE, tuple(rows), notes)


def _weights(sizes: Sizes) -> Path:
    return sizes.weights or find_weights(DEFAULT_MODEL, models_home(os.environ))


async def reading(brief: Brief, sizes: Sizes, *, first: bool) -> Told:
    """A story's reading, in the paper's order if `first`."""
    system = find("agents-room")
    engine = EmbeddedModel(
        _weights(sizes), name=f"embedded:{DEFAULT_MODEL}", context=sizes.context, threads=sizes.threads
    )
    cast = Cast(Assignment(Limited(engine, timeout=None), base=sizes.base))
    preset: Preset = "faithful" if first else "improved"
    config, prompts = (
        system.config(preset, sizes.settings),
        SystemPrompts(system.prompt_folders(preset), common=PROMPTS),
    )
    try:
        with Journal() as journal:
            context = RunContext(journal, prompts, cast, aids=sizes.aids)
            with suppress(ReplyError):  # a story that is given up counts with the calls that it made
                await system.write(brief, Run(context), config)
            calls = journal.calls.find(prompts=True)
    finally:
        await cast.close()
    return Told(Reading.of(calls), Reading.of([call for call in calls if not _MORE & set(call.path.split("/"))]))
