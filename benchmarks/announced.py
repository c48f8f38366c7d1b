"""Announced against done: random edits of everything that can be edited, in every system.

A story is written by a capable made-up model, one of its texts is edited (a word, a line, or the whole), a dry run says
what will be asked, and the same run is done. It may ask nothing else without stopping first.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from benchmarks.estimates import PROFILES, TALKS, Writer, sentence
from benchmarks.table import Row, Table
from fabula.app.writing import rehearsed
from fabula.base.errors import MoreThanAnnouncedError, UsageError
from fabula.craft.planning import PROMPTS
from fabula.engine.announced import Announced
from fabula.engine.events import Kept
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.story import Brief
from fabula.systems import System, find, systems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.events import Event
    from fabula.story import Story

TITLE: Final = "Announced against done"
EDITS: Final = 200
_PERCENT: Final = 100.0
_BRIEF: Final = (
    "Write a story of about 500 words about Mara, who keeps a lighthouse, and the boy Tobias, who waits for his "
    "father's boat. It ends with hope."
)
_WORD: Final = re.compile(r"\b[a-z]{4,}\b")
How: TypeAlias = Literal["word", "line", "whole"]
Ended: TypeAlias = Literal["equal", "stopped", "fewer", "other"]


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit, how the run after it ended, and what was announced and asked."""

    system: str
    path: str
    how: How
    ended: Ended
    announced: Counter[str]
    asked: Counter[str]


def tried(name: str, seed: int) -> Edited | None:
    """A random edit in a story of a system; `None` where the edited text cannot be read any more."""
    draw = random.Random(f"{name}/{seed}")  # noqa: S311 - edits, not secrets
    return asyncio.run(_tried(find(name), draw))


async def _tried(system: System, draw: random.Random) -> Edited | None:
    brief = Brief.parse(_BRIEF)
    kept: list[Event] = []
    with Journal() as journal:
        await _written(system, journal, brief, listeners=[kept.append])
        texts = {event.path: event for event in kept if isinstance(event, Kept)}
        path = draw.choice(["brief", *sorted(texts)])
        how: How = draw.choice(["word", "line", "whole"])
        if path == "brief":
            brief = Brief.parse(edited(_BRIEF, "word", "md", draw))
        else:
            after = edited(texts[path].text, how, texts[path].suffix, draw)
            if after == texts[path].text:
                return None
            journal.decide(path, "edit", after)
        try:
            dry = await rehearsed(_context(system, Writer(1.0, PROFILES[1]), journal, mode="dry"), _of(system, brief))
        except (UsageError, BaseExceptionGroup):  # a form that the edit has broken: said before anything is asked
            return None
        announced = Counter(call.path for call in dry.planned)
        model = Writer(1.0, PROFILES[1])
        context = _context(system, model, journal, announced=Announced(dry, exact=True))
        stopped = False
        try:
            await _of(system, brief)(context)
        except (MoreThanAnnouncedError, BaseExceptionGroup) as error:
            stopped = isinstance(error, MoreThanAnnouncedError) or bool(error.subgroup(MoreThanAnnouncedError))
            if not stopped:
                raise
        asked = Counter(request.path for request in model.asked)
        ended: Ended = (
            "stopped" if stopped else "equal" if asked == announced else "fewer" if asked < announced else "other"
        )
        return Edited(system.name, path, how, ended, announced, asked)


def _of(system: System, brief: Brief):  # type: ignore[no-untyped-def] # noqa: ANN202 - a closure
    config = system.config("improved", {"player": "Tobias", "npc": "Mara"} if system.name in TALKS else {})

    async def write(context: RunContext) -> Story:
        return await system.write(brief, Run(context), config)

    return write


async def _written(system: System, journal: Journal, brief: Brief, **more: object) -> None:
    await _of(system, brief)(_context(system, Writer(1.0, PROFILES[1]), journal, **more))


def _context(system: System, model: Writer, journal: Journal, **more: object) -> RunContext:
    return RunContext(journal, Prompts(system.prompts, common=PROMPTS), Cast.of(model), **more)  # type: ignore[arg-type]


def edited(text: str, how: How, suffix: str, draw: random.Random) -> str:
    """A text with one word changed, one line anew, or all of it anew; of a form, only words and lines of prose."""
    if how == "whole" and suffix == "md":
        return "\n\n".join(sentence(draw, 14) for _ in range(max(len(text.split()) // 14, 1)))
    lines = text.split("\n")
    able = [n for n, line in enumerate(lines) if len(_WORD.findall(line)) > 2]
    if not able:
        return text
    at = draw.choice(able)
    if how == "word":
        word = draw.choice(_WORD.findall(lines[at]))
        lines[at] = re.sub(rf"\b{word}\b", "z" * len(word), lines[at], count=1)
    else:
        head = re.match(r"[^:]{0,30}:\s+|\W*", lines[at])
        lines[at] = (head[0] if head else "") + sentence(draw, 12)
    return "\n".join(lines)


def bench(edits: int = EDITS, names: Sequence[str] = ()) -> Table:
    """How runs after random edits ended, over all systems in turn."""
    names = names or list(systems())
    found: list[Edited] = []
    seed = 0
    while len(found) < edits:
        one = tried(names[seed % len(names)], seed)
        seed += 1
        if one is not None:
            found.append(one)
    rows = []
    for ended, target in (("equal", None), ("stopped", None), ("fewer", None), ("other", 0.0)):
        share = _PERCENT * sum(one.ended == ended for one in found) / len(found)
        rows.append(Row(_SAID[ended], (share,), "%", f"{len(found)} edits", most=target))
    return Table("announced", TITLE, tuple(rows), ())


_SAID: Final = {
    "equal": "asked exactly what was announced",
    "stopped": "stopped before a call that was not announced",
    "fewer": "asked less than was announced, and nothing else",
    "other": "asked something else without stopping",
}
