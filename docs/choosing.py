"""The table that helps to choose a system: what each would ask for the examples, by dry runs, and what it is for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.beginning import FOR_SHORT_STORIES, FOR_SMALL_MODELS
from fabula.app.writing import Options, dry_run
from fabula.craft.chapters import LONG
from fabula.project.settings import Settings
from fabula.story import Brief
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.systems import System

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "examples"
BRIEFS: Final = ("orchard", "lighthouse", "clockmaker")
# Snap and its baseline talk a narrative through; who does.
TALKS: Final = ("snap", "vanilla")
NARRATIVES: Final = {"ferry-long": ("Jonas", "Elin"), "well-long": ("Sigrid", "Tomas")}
MODEL: Final = "openai-chat:any"  # no small one, so that it gets no help; nobody is asked
IN_PRICE, OUT_PRICE = 1.0, 5.0  # US dollars for a million tokens
READ_PACE, WRITE_PACE = 2000, 50  # tokens a second


@dataclass(frozen=True, slots=True)
class Bill:
    """What one story takes: calls, tokens read and written."""

    calls: int
    read: int
    written: int

    @property
    def dollars(self) -> float:
        """The cost at the prices that the page names."""
        return (self.read * IN_PRICE + self.written * OUT_PRICE) / 1e6

    @property
    def minutes(self) -> float:
        """The time at the pace that the page names, one call after the other."""
        return (self.read / READ_PACE + self.written / WRITE_PACE) / 60


def choosing() -> str:
    """What each system is for, from how strong a model on, and what a story takes, by dry runs on the examples."""
    rows = "\n".join(_row(system) for system in systems().values())
    asks = "\n".join(f"- [{s.name}](systems.md#{s.name}): {s.paper['asks']}." for s in systems().values())
    worth = "\n".join(f"- **{s.name}**: {s.worth}" for s in systems().values())
    return f"""# Choose a system

`fabula write BRIEF --system NAME`. Where you name none, model and length choose: `{FOR_SMALL_MODELS}` for
[a small model](../how-to/models.md#help-for-small-models); for a capable one `{FOR_SHORT_STORIES}` where the story has
at most {LONG:,} words, or no length is asked for, and `{Settings().system}` where it has more, where the brief
asks for chapters, where you give a plan, with `--preset faithful`, and with a setting or a role that it alone has.

| system | what it is good at | model | calls | cost | time |
|---|---|---|---|---|---|
{rows}

**Calls, cost, time** are what dry runs say of the three briefs in `examples/briefs` (600 to 1,350 words), and of
`snap` and `vanilla` of the two long stories in `examples/narratives`, in the preset `improved`, from the smallest to
the largest; nobody was asked. Each is the mean of models that give 85 %, all and 115 % of the words
asked for. Cost is at {IN_PRICE:g} dollar for a million tokens read and {OUT_PRICE:g} for a million written, without a
provider's discount for repeated beginnings of prompts, which is large where there are many calls. Time is at
{READ_PACE:,} tokens read and {WRITE_PACE} written a second, one call after the other. For your brief and your model,
`fabula write BRIEF --dry-run` says it.

**Model** is from how strong a one on the system is worth what it costs: *small* is any, also one of a few hundred
million parameters; *medium* some billions; *large* a strong one.

{worth}

What the number of calls follows from:

{asks}
"""


def _row(system: System) -> str:
    bills = [bill(system, name) for name in (NARRATIVES if system.name in TALKS else BRIEFS)]
    calls = _range([b.calls for b in bills], str)
    cost = _range([b.dollars for b in bills], "{:.2f}".format)
    time = _range([b.minutes for b in bills], lambda minutes: f"{minutes:.0f}" if minutes > 1 else "under 1")
    cells = (f"[{system.name}](systems.md#{system.name})", system.paper["when"], system.strength)
    return f"| {' | '.join(cells)} | {calls} | ${cost} | {time} min |"


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low}\u2013{high}"


def bill(system: System, example: str) -> Bill:
    """What a dry run says of one example; the mean over terse and generous models."""
    changes: dict[str, Any] = {"system": system.name, "model": MODEL}
    changes["models"] = {MODEL: {"base_url": "http://localhost:1/v1"}}
    if example in NARRATIVES:
        changes["config"] = dict(zip(("player", "npc"), NARRATIVES[example], strict=True))
    text = EXAMPLES / ("narratives" if example in NARRATIVES else "briefs") / f"{example}.md"
    found = asyncio.run(dry_run(Brief.read(text), Settings.of(changes, __file__), Options()))
    walks = [found, *found.others]
    return Bill(*(round(sum(parts) / len(walks)) for parts in zip(*map(_sums, walks), strict=True)))


def _sums(walk: DryRun) -> tuple[int, int, int]:
    calls = walk.planned
    return len(calls), sum(call.prompt for call in calls), sum(call.reply for call in calls)
