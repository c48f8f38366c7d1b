"""Long stories with MAGNET: what 100 and 300 pages cost, whether the estimate said so, and how deep their calls are.

No model is asked and no second waited for: scripted roles answer as long as a good model would, each reply after
the time that its tokens take, on a clock that skips waits (`schedule.SkippingLoop`).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.schedule import SkippingLoop
from benchmarks.table import Row, Table
from benchmarks.theatre import SCHEMA, VOCABULARY, prose
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.budget import estimate_tokens, prompt_tokens
from fabula.models.limits import Limited
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.personas import Persona, Personas, write_personas
from fabula.systems import find

if TYPE_CHECKING:
    from fabula.engine.methods import Preset
    from fabula.engine.run import Mode
    from fabula.models.base import Request

TITLE: Final = "long stories with MAGNET: growth, estimate, depth"
_SYSTEM: Final = find("magnet")
_BRIEF: Final = Brief.parse("Write a story about a harbour town whose lighthouse is to go dark.")
_GROWTH, _OFF, _SECONDS, _LARGEST = 3.2, 20.0, 180.0, 6000.0
_DEPTH: Final = 35.0
WORDS_A_PAGE: Final = 400
_PERCENT: Final = 100.0
_SPEED: Final = 50.0  # tokens a second of a hosted model
_PARALLEL: Final = 8
_REVISED, _REACHED, _KNOWN = 0.1, 0.03, 0.6  # how often a critic refuses, a goal is reached, a key is used again
_ENDS: Final = 0.15  # how often a narrator ends a scene
_MOST_UPDATES: Final = 3
_ROUND: Final = 60.0  # seconds of a call where only the depth counts
_WANTED: Final = re.compile(r"(?:about|exactly|at most|in) (\d+) words(?:, between \d+ and (\d+))?")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pages of the shorter and the longer story, and of the one whose calls' depth is looked at."""

    pages: tuple[int, int] = (100, 300)
    people: int = 5
    depth_pages: int = 10
    rounds: int = 3


@dataclass
class Roles:
    """Every role of MAGNET. Replies are fixed by the seed and the call's path; `latency` 0 draws it by tokens."""

    seed: int
    people: int
    latency: float = 0.0
    revised: float = _REVISED
    calls: int = 0
    prompt: int = 0
    reply: int = 0
    largest: int = 0
    seconds: float = 0.0
    by_prompt: dict[str, int] = field(default_factory=dict)

    async def answer(self, request: Request) -> str:
        """What the role says, after the time that it takes."""
        draw = random.Random(f"{self.seed}/{request.path}")  # noqa: S311 - texts, not secrets
        name = request.path.rpartition("/")[2]
        begun = time.process_time()
        text = self._said(name, request, draw)
        self.seconds += time.process_time() - begun
        read, written = prompt_tokens(request), estimate_tokens(text)
        self.calls, self.prompt, self.reply = self.calls + 1, self.prompt + read, self.reply + written
        self.largest = max(self.largest, read)
        self.by_prompt[name] = self.by_prompt.get(name, 0) + read
        await asyncio.sleep(self.latency or draw.uniform(0.3, 1.2) + written / _SPEED)
        return text

    def _said(self, name: str, request: Request, draw: random.Random) -> str:
        if name in ("tell", "extend", "shorten"):
            *_, wanted = _WANTED.finditer(request.messages[-1].content)
            most = int(wanted[2] or wanted[1])
            return prose(draw, max(10, int(most * draw.uniform(0.8, 1.0))))
        if name == "act" and request.schema is None:
            return few(draw, 25)
        return json.dumps(self._form(name, request, draw))

    def _form(self, name: str, request: Request, draw: random.Random) -> dict[str, Any]:
        if name == "act":
            return {"action": few(draw, 25)}
        if name == "criticise":
            return self._critique(draw)
        if name == "reread":
            return {"world_updates": [{"key": self._key(draw), "value": few(draw, 3)}]}
        if name == "set_goal":
            return {
                "goal": few(draw, 18),
                "goal_domain": few(draw, 4),
                "transition_paragraph": prose(draw, 50),
            }
        most = (request.schema or {})["properties"]["order"]["maxItems"]
        order = draw.sample(range(1, most + 1), min(most, draw.randint(1, 3)))
        if name == "choose":
            return {"order": order, "next_scene": few(draw, 6) if draw.random() < _ENDS else ""}
        return {"order": order, "paragraph": prose(draw, 110)}

    def _critique(self, draw: random.Random) -> dict[str, Any]:
        if draw.random() < self.revised:
            return {"revise": True, "feedback": few(draw, 20), "goal_reached": False, "world_updates": []}
        updates = [
            {"key": self._key(draw), "value": few(draw, draw.randint(1, 5))}
            for _ in range(draw.randint(0, _MOST_UPDATES))
        ]
        reached = draw.random() < _REACHED
        return {"revise": False, "feedback": "", "goal_reached": reached, "world_updates": updates}

    def _key(self, draw: random.Random) -> str:
        """A key that was used before, or a new one of somebody or of something."""
        who = f"person_{draw.randrange(self.people)}"
        if draw.random() < _KNOWN:
            return f"{who}_{draw.choice(('location', 'mood', 'aim', 'trust', 'wound', 'holds', 'knows', 'fear'))}"
        return "_".join([who, *draw.sample(VOCABULARY.split(), 2)])


def few(draw: random.Random, words: int) -> str:
    """So many words as one sentence."""
    return f"{' '.join(draw.choices(VOCABULARY.split(), k=words)).capitalize()}."


@dataclass(frozen=True, slots=True)
class Written:
    """A story of so many pages: what it took, and what a dry run had said that it would take."""

    words: int
    roles: Roles
    wall: float
    cpu: float
    estimated: int

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.roles.prompt + self.roles.reply


def bench(sizes: Sizes | None = None) -> Table:
    """Both lengths in the improved preset, one story each; depth over several draws."""
    sizes = sizes or Sizes()
    rows: list[Row] = []
    found = {pages: written(pages, sizes.people, 1) for pages in sizes.pages}
    for pages, one in found.items():
        rows += _rows(pages, one)
    short, long_ = (found[pages] for pages in sizes.pages)
    name = f"prompt tokens, {sizes.pages[1]} pages / {sizes.pages[0]} pages"
    rows.append(Row(name, (long_.roles.prompt / short.roles.prompt,), "", "pair", most=_GROWTH))
    rows += _depths(sizes)
    notes = (
        (
            f"{sizes.people} characters, improved preset, {_PARALLEL} calls at once. Critics refuse {_REVISED:.0%} of "
            f"the actions, reach the goal with {_REACHED:.0%}, and name 0 to {_MOST_UPDATES} updates, {_KNOWN:.0%} of "
            "them of keys that were there. Tokens are fabula's estimates."
        ),
        "The estimate is a dry run's before anything is written, with what the personas' file says and nothing else.",
        "Depth counts calls that wait for one another, all calls taking the same time.",
    )
    return Table("long", TITLE, tuple(rows), notes)


def _rows(pages: int, one: Written) -> list[Row]:
    said = _PERCENT * one.estimated / one.tokens
    return [
        Row(f"{pages} pages: words", (float(one.words),), "", "story"),
        Row(f"{pages} pages: calls", (float(one.roles.calls),), "", "story"),
        Row(f"{pages} pages: prompt tokens", (float(one.roles.prompt),), "", "story"),
        Row(f"{pages} pages: reply tokens", (float(one.roles.reply),), "", "story"),
        Row(f"{pages} pages: largest prompt", (float(one.roles.largest),), "tokens", "story", most=_LARGEST),
        Row(
            f"{pages} pages: tokens estimated / used", (said,), "%", "story",
            most=_PERCENT + _OFF, least=_PERCENT - _OFF,
        ),
        Row(f"{pages} pages: CPU of ours", (one.cpu,), "s", "story", most=_SECONDS),
        Row(f"{pages} pages: hours with these models", (one.wall / 3600,), "h", "story"),
    ]  # fmt: skip


def _depths(sizes: Sizes) -> list[Row]:
    """Calls that wait for one another, side by side as a share of one after another."""
    rows = []
    kinds: tuple[tuple[Preset, float, float | None], ...] = (
        ("faithful", 0.0, _DEPTH),
        ("faithful", _REVISED, None),
        ("improved", 0.0, None),  # who acts later knows what was accepted before, and so waits for it
    )
    for preset, revised, most in kinds:
        shares = []
        for seed in range(sizes.rounds):
            walls = []
            for at_once in (_PARALLEL, 1):
                roles = Roles(seed, sizes.people, _ROUND, revised)
                walls.append(_run(roles, preset, _of_pages(sizes.depth_pages), at_once)[1])
            shares.append(_PERCENT * walls[0] / walls[1])
        refused = f"{revised:.0%} of the actions refused" if revised else "no action refused"
        what = f"{preset}, {refused}: depth side by side / one after another"
        rows.append(Row(what, tuple(shares), "%", f"{sizes.depth_pages} pages", most=most))
    return rows


def written(pages: int, people: int, seed: int) -> Written:
    """A story of so many pages in the improved preset."""
    config = _of_pages(pages)
    planned = _estimate(people, config)
    roles, begun = Roles(seed, people), time.process_time()
    words, wall = _run(roles, "improved", config)
    return Written(words, roles, wall, time.process_time() - begun, planned)


def _of_pages(pages: int) -> dict[str, str]:
    """The setting that asks for so many pages."""
    return {"words": f"~{pages * WORDS_A_PAGE}"}


def personas_of(people: int) -> str:
    """The personas of a story, with sheets as long as authors make them."""
    draw = random.Random(people)  # noqa: S311 - personas, not secrets
    names = [f"Person {n}" for n in range(people)]
    personas = tuple(
        Persona(
            name,
            description=prose(draw, 30),
            role="companion",
            goals=(few(draw, 12),),
            relationships=tuple((other, few(draw, 6)) for other in names if other != name)[:2],
        )
        for name in names
    )
    return write_personas(Personas(few(draw, 18), personas))


def _estimate(people: int, config: dict[str, Any]) -> int:
    """Tokens that a dry run plans."""
    model = ScriptedModel(_never, capabilities=SCHEMA)
    with Journal() as journal:
        context = _context(journal, Cast.of(model), people, "dry", "improved")
        asyncio.run(_SYSTEM.write(_BRIEF, Run(context), _SYSTEM.config("improved", config)))
    return context.dry_run.tokens


def _never(request: Request) -> str:
    raise AssertionError(request.path)


def _run(roles: Roles, preset: Preset, config: dict[str, Any], at_once: int = _PARALLEL) -> tuple[int, float]:
    """Words of a story, and the seconds it takes on a clock that skips waits, with so many calls at once."""

    async def timed() -> tuple[int, float]:
        loop, begun = asyncio.get_running_loop(), 0.0
        model = Limited(ScriptedModel(roles.answer, name="slow", capabilities=SCHEMA), parallel=at_once)
        with Journal() as journal:
            run = Run(_context(journal, Cast.of(model), roles.people, "live", preset))
            begun = loop.time()
            story = await _SYSTEM.write(_BRIEF, run, _SYSTEM.config(preset, config))
            return story.words, loop.time() - begun

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(timed())


def _context(journal: Journal, cast: Cast, people: int, mode: Mode, preset: Preset) -> RunContext:
    journal.decisions.add("personas", "edit", personas_of(people))
    return RunContext(journal, SystemPrompts(_SYSTEM.prompt_folders(preset), common=PROMPTS), cast, mode=mode)
