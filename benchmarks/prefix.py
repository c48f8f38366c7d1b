"""How much of its prompts a room really has to read: the improved prompt order beside the paper's."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.casting import base_sampling
from fabula.journal import Journal
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import DEFAULT_MODEL, models_home
from fabula.models.limits import Limited
from fabula.prompts import Prompts
from fabula.roles import Cast, Part
from fabula.run import Hands, Run
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.models.base import Sampling

TITLE: Final = "prompt tokens that the embedded engine really reads"
BRIEFS: Final = Path(__file__).parents[1] / "examples" / "briefs"
_SHARE: Final = 45.0
_PERCENT: Final = 100.0


@dataclass(frozen=True)
class Sizes:
    """How much is written: a story for each of the last `briefs`, with `settings` on top of the improved preset.

    `weights` is a GGUF file; `None` takes the default model. `base` are its values against loops.
    """

    briefs: int = 3
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Path | None = None
    base: Sampling = field(default_factory=lambda: base_sampling(DEFAULT_MODEL))
    context: int = 8192
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What one story took: calls, prompt tokens sent and really read, and seconds until first tokens, all together."""

    calls: int
    sent: int
    read: int
    waited: float

    @property
    def share(self) -> float:
        """Percent of the prompt tokens that were read and not found in the cache."""
        return _PERCENT * self.read / self.sent


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
            Row(f"{what}: read of sent", tuple(r.share for r in found), "%", "story", most=most),
            Row(f"{what}: prompt tokens sent", tuple(float(r.sent) for r in found), "tokens", "story"),
            Row(f"{what}: prompt tokens read", tuple(float(r.read) for r in found), "tokens", "story"),
            Row(f"{what}: wait for first tokens", tuple(r.waited for r in found), "s", "story"),
            Row(f"{what}: calls", tuple(float(r.calls) for r in found), "", "story"),
        ]
    notes = (
        (
            f"Agents' Room, improved preset, {Path(_weights(sizes)).name}, one slot, a new engine for each story; the "
            f"briefs are {', '.join(file.stem for file in files)}. The two orders differ in `instruction_first` alone."
        ),
        (
            "Read is what the engine reports as prompt tokens less those it took from its cache. Seconds depend on this "
            "machine and on who else uses it; the shares do not."
        ),
    )
    return Table("prefix", TITLE, tuple(rows), notes)


def _weights(sizes: Sizes) -> Path:
    return sizes.weights or find_weights(DEFAULT_MODEL, models_home(os.environ))


async def reading(brief: Brief, sizes: Sizes, *, first: bool) -> Reading:
    """A story's reading, in the paper's order if `first`."""
    system = find("agents-room")
    engine = EmbeddedModel(
        _weights(sizes), name=f"embedded:{DEFAULT_MODEL}", context=sizes.context, threads=sizes.threads
    )
    cast = Cast(Part(Limited(engine, timeout=None), base=sizes.base))
    config = system.config("improved", {**sizes.settings, "instruction_first": first})
    try:
        with Journal() as journal:
            await system.write(brief, Run(Hands(journal, Prompts(system.prompts), cast)), config)
            used = [call.reply.usage for call in journal.calls()]
    finally:
        await cast.close()
    return Reading(
        len(used), sum(u.prompt for u in used), sum(u.prompt - u.cached for u in used), sum(u.first or 0 for u in used)
    )
