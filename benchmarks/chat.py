"""Talking through stories of any length: what a turn reads, how much of it is in the cache, and how long it waits.

What a turn reads needs no model: a script answers with texts as long as a good model's. Cache and waiting need weights:
the character is then played by the embedded engine, and the same requests go to a bare engine beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from fabula.base.errors import ModelUnavailableError
from fabula.craft import PROMPTS
from fabula.craft.conversation import Parties, open_conversation
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Sampling, Wrapper
from fabula.models.budget import prompt_tokens
from fabula.models.embedded import EmbeddedModel, find_weights
from fabula.models.known import DEFAULT_MODEL, models_home
from fabula.models.scripted import ScriptedModel
from fabula.project.casting import base_sampling
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.craft.conversation import Conversation
    from fabula.models.base import Model, OnText, Reply, Request

TITLE: Final = "talking: prompt tokens a turn, prefix reuse, and the wait for the first token"
_TWO: Final = Parties("Tobias", ("Mara",))
_TURN: Final = 40  # tokens of a turn
_RATIO, _REUSE, _WAIT, _FELT, _PERCENT = 1.15, 80.0, 1.3, 3.0, 100.0  # a lone cell has no summary of one before
_TEXT: Final = (
    "the lamp was lit and a boat came round the reef while wind turned over cold water nobody spoke of an old letter "
    "that lay on a table by the window so the boy counted seven steps up the tower and the keeper waited for morning "
    "with bread and salt and rope and coal"
)
_WORDS: Final = tuple(_TEXT.split())


@dataclass(frozen=True)
class Sizes:
    """Stories of so many cells, `turns` of each cell; `rounds` draws.

    `weights` is a GGUF file; `None` takes the default model, and leaves these rows out where it is not there.
    `base` are its values against loops.
    """

    cells: tuple[int, ...] = (1, 10, 100)
    turns: int = 6
    rounds: int = 3
    engine_turns: int = 10
    weights: Path | None = None
    base: Sampling = field(default_factory=lambda: base_sampling(DEFAULT_MODEL))
    context: int = 8192
    threads: int | None = None


def prose(rng: random.Random, sentences: int) -> str:
    """So many sentences of about 17 words about Mara and Tobias."""
    told = []
    for number in range(sentences):
        words = rng.choices(_WORDS, k=rng.randint(12, 18))
        told.append(f"{('Mara', 'Tobias')[number % 2]} knew that {' '.join(words)}.")
    return " ".join(told)


@dataclass
class Company:
    """A script that plays every role with texts of a good model's length."""

    rng: random.Random

    def __call__(self, request: Request) -> str:
        """The reply to a request."""
        if request.path.endswith("/witnesses"):
            numbers = re.findall(r"^(\d+)\. ", request.messages[-1].content, re.MULTILINE)
            return json.dumps({"sentences": [{"sentence": int(n), "witnesses": _TWO.names} for n in numbers]})
        if request.role == "labeller":
            people = [
                {"name": name, "traits": ["stubborn", "kind"], "background": self._text(25)} for name in _TWO.names
            ]
            return json.dumps({"characters": people})
        if request.role == "planner":
            cell = request.messages[-1].content.partition("# The current story")[2].split(".")
            return "\n".join(f"#{n}. {cell[n].strip()}\n- {self._text(22)}" for n in range(5))
        if request.role == "judge":
            return "4"
        if request.role == "summariser":
            return f"{self._text(80)}."
        return f"[Mara: ({self._text(5)}) {self._text(18).capitalize()}.]"

    def _text(self, words: int) -> str:
        return " ".join(self.rng.choices(_WORDS, k=words))


def bench(sizes: Sizes | None = None) -> Table:
    """All of it, as far as there are weights."""
    sizes = sizes or Sizes()
    rows = list(_growth(sizes))
    notes = [
        (
            "Tokens are fabula's estimates; improved preset. Cells have ten sentences of about 17 words, plans five "
            "points of 40, summaries 80 words, turns 25, what the player says 12. Cells have equally many turns."
        )
    ]
    try:
        rows += asyncio.run(_engine(sizes))
        notes.append(
            "Reuse and waiting: a cell on the embedded engine, after its first turn; other roles are scripted. The "
            "bare engine is a second one that gets each request right after the first one. Words are shown once no "
            "check can refuse them; the wait holds every draw that was refused before."
        )
    except ModelUnavailableError as error:
        notes.append(f"Prefix reuse and the wait for the first token were not measured: {error}")
    return Table("chat", TITLE, tuple(rows), tuple(notes))


def _growth(sizes: Sizes) -> list[Row]:
    found = {
        cells: [asyncio.run(read(cells, sizes.turns, seed)) for seed in range(sizes.rounds)] for cells in sizes.cells
    }
    rows = [
        Row(f"{cells} cells: prompt tokens a turn", tuple(map(fmean, stories)), "tokens", "story")
        for cells, stories in found.items()
    ]
    rows += [
        Row(
            f"{cells} cells: largest prompt of a turn", tuple(float(max(story)) for story in stories), "tokens", "story"
        )
        for cells, stories in found.items()
    ]
    first = found[sizes.cells[0]]
    for cells in sizes.cells[1:]:
        ratios = tuple(fmean(b) / fmean(a) for a, b in zip(first, found[cells], strict=True))
        rows.append(Row(f"tokens a turn, {cells} cells to {sizes.cells[0]}", ratios, "x", "pair", most=_RATIO))
    return rows


async def read(cells: int, turns: int, seed: int) -> list[int]:
    """Prompt tokens of every turn of a story of so many cells."""
    rng = random.Random(seed)  # noqa: S311 - stories, not secrets
    model = ScriptedModel(Company(rng))
    with Journal() as journal:
        story = "\n\n".join(prose(rng, 10) for _ in range(cells))
        conversation = await _conversation(story, journal, Cast.of(model))
        for _ in conversation.talk.segments:
            await _cell(conversation, turns, rng)
    return [prompt_tokens(request) for request in model.asked if request.role == "npc"]


async def _conversation(story: str, journal: Journal, cast: Cast) -> Conversation:
    system = find("snap")
    context = RunContext(journal, SystemPrompts(system.prompt_folders("improved"), common=PROMPTS), cast)
    # What is measured is a turn; cells of equal length make stories of different length comparable.
    config = system.config("improved", {"candidates": 1, "turns_per_step": 0})
    talk = await system.program(config).open_talk(story, Run(context), config, _TWO)
    return open_conversation(None, talk, context)


async def _cell(conversation: Conversation, turns: int, rng: random.Random) -> None:
    """A cell of so many turns, from its first to the point where `/next` leads on to the next cell."""
    await conversation.go_on()
    for _ in range(turns - 1):
        await conversation.say(" ".join(rng.choices(_WORDS, k=12)))
    while conversation.where.step < conversation.where.steps:
        conversation.state = conversation.state.skipped()


# the engine ---------------------------------------------------------------------------------------------------------


@dataclass
class Listening(Wrapper):
    """A model that notes its requests, and when the first piece of each reply came."""

    model: Model
    asked: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    first: list[float] = field(default_factory=list)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply."""
        came: list[float] = []

        def heard(text: str) -> None:
            came.append(time.perf_counter())
            if on_text is not None:
                on_text(text)

        reply = await self.model.ask(request, heard)
        self.asked.append(request)
        self.replies.append(reply)
        self.first.append(came[0] if came else time.perf_counter())
        return reply


async def _engine(sizes: Sizes) -> list[Row]:
    rounds = [await _round(sizes, seed) for seed in range(sizes.rounds)]
    reuse, ours, shown, bare = (tuple(column) for column in zip(*rounds, strict=True))
    ratios = tuple(a / b for a, b in zip(ours, bare, strict=True))
    felt = tuple(a / b for a, b in zip(shown, bare, strict=True))
    return [
        Row("prompt tokens found in the cache, within a cell", reuse, "%", "cell", least=_REUSE),
        Row("first token of a turn", ours, "ms", "cell"),
        Row("first token of the bare engine", bare, "ms", "cell"),
        Row("first token, a turn to the bare engine", ratios, "x", "cell", most=_WAIT),
        Row("first words shown, a turn to the bare engine's first token", felt, "x", "cell", most=_FELT),
    ]


async def _round(sizes: Sizes, seed: int) -> tuple[float, float, float, float]:
    """Percent of prompt tokens from the cache; median milliseconds to first token, first words shown, and bare."""
    rng = random.Random(seed)  # noqa: S311 - as above
    engine, bare = Listening(_model(sizes)), Listening(_model(sizes))
    cast = Cast(
        Assignment(ScriptedModel(Company(rng))),
        {"npc": Assignment(engine, Sampling(max_tokens=_TURN), base=sizes.base)},
    )
    ours: list[float] = []
    shown: list[float] = []
    theirs: list[float] = []
    try:
        with Journal() as journal:
            conversation = await _conversation(prose(rng, 10), journal, cast)
            for turn in range(sizes.engine_turns + 1):
                token, words = await _waited(conversation, engine, " ".join(rng.choices(_WORDS, k=12)) if turn else "")
                other = await _bare(bare, engine.asked[len(bare.asked) :])
                if turn:  # the first one reads the whole prompt
                    ours.append(token)
                    shown.append(words)
                    theirs.append(other)
    finally:
        await cast.close()
        await bare.close()
    used = [reply.usage for reply in engine.replies[1:]]
    reuse = _PERCENT * sum(usage.cached for usage in used) / sum(usage.prompt for usage in used)
    return reuse, median(ours), median(shown), median(theirs)


async def _waited(conversation: Conversation, engine: Listening, message: str) -> tuple[float, float]:
    """Milliseconds from the player's message to the first token, and to the first words that the player sees."""
    shown: list[float] = []
    before, begun = len(engine.first), time.perf_counter()

    def show(_: str) -> None:
        shown.append(time.perf_counter())

    await (conversation.say(message, show) if message else conversation.begin(show))
    seen = shown[0] if shown else time.perf_counter()  # a turn without any word shows that nothing comes
    return (engine.first[before] - begun) * 1000, (seen - begun) * 1000


async def _bare(engine: Listening, requests: Sequence[Request]) -> float:
    """The same for the first of `requests`, on an engine that gets them by themselves."""
    waits = []
    for request in requests:
        begun = time.perf_counter()
        await engine.ask(replace(request, sampling=replace(request.sampling, max_tokens=2)))
        waits.append((engine.first[-1] - begun) * 1000)
    return waits[0]


def _model(sizes: Sizes) -> EmbeddedModel:
    weights = sizes.weights or find_weights(DEFAULT_MODEL, models_home(os.environ))
    return EmbeddedModel(weights, name=f"embedded:{DEFAULT_MODEL}", context=sizes.context, threads=sizes.threads)
