"""What a check of a long story asks of its models: calls, tokens, the largest prompt, and how that grows.

No model is asked: a script answers with as much as a model may say (suspicions with quotations from the text, notes on
every paragraph, verdicts on all that is shown), so that prompts are as long as they get.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from benchmarks.theatre import prose, stories
from fabula.base.errors import UsageError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.models.budget import prompt_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Scene, Story, count_words
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.engine.methods import Preset
    from fabula.models.base import Request

TITLE: Final = "what ATLAS asks of its models as stories get longer"
EVALUATOR: Final = find("atlas")
PAGE: Final = 400  # words
_BESIDE: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
_CALLS, _TOKENS, _LARGEST, _GROWTH = 60.0, 350_000.0, 32_000.0, 3.6
_TARGETED: Final = 100
_SUSPICIONS: Final = 1.0  # for 1,000 words; planted stories have 3 to 4, published ones fewer
_NOTES: Final = 2  # for a paragraph


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pages of the stories, from the shortest to the longest; `data` is the ground truth's folder, for real prose."""

    pages: tuple[int, ...] = (20, 100, 300)
    data: Path | None = None
    ways: tuple[tuple[Preset, str], ...] = (("improved", "windows"), ("improved", "whole"))
    scene_words: tuple[int, ...] = (0, 500, 1800, 5000)


@dataclass(frozen=True, slots=True)
class Read:
    """What one check read."""

    calls: int
    tokens: int
    largest: int
    seconds: float


def bench(sizes: Sizes | None = None) -> Table:
    """Each way of reading at each length and for scenes of several sizes; 0 words stands for prose without scenes."""
    sizes = sizes or Sizes()
    words = _words(sizes)
    rows: list[Row] = []
    for preset, reading in sizes.ways:
        found = {
            pages: [read(story_of(words, pages * PAGE, each), preset, reading) for each in sizes.scene_words]
            for pages in sizes.pages
        }
        rows += _rows(reading if preset == "improved" else preset, found)
    notes = (
        (
            "Tokens are fabula's estimates, schemas not counted. Values are for scenes of "
            f"{', '.join(map(str, sizes.scene_words))} words (0: prose without scenes), in this order."
        ),
        "Windows take two notes for a paragraph and one suspicion for 1,000 words; all suspicions are verified.",
    )
    return Table("atlas", TITLE, tuple(rows), notes)


def _rows(name: str, found: dict[int, list[Read]]) -> Iterator[Row]:
    for pages, reads in found.items():
        bound = name == "windows" and pages == _TARGETED
        what, each = f"{name}, {pages} pages", "story"
        yield Row(f"{what}: calls", _values(reads, "calls"), "", each, most=_CALLS if bound else None)
        yield Row(f"{what}: prompt tokens", _values(reads, "tokens"), "tokens", each, most=_TOKENS if bound else None)
        most = _LARGEST if name == "windows" else None
        yield Row(f"{what}: largest prompt", _values(reads, "largest"), "tokens", each, most=most)
        yield Row(f"{what}: our own time", _values(reads, "seconds"), "s", each)
    lengths = list(found)
    if len(lengths) > 1:
        short, long_ = found[lengths[-2]], found[lengths[-1]]
        grown = tuple(b.tokens / a.tokens for a, b in zip(short, long_, strict=True))
        most = _GROWTH if name == "windows" else None
        yield Row(f"{name}: tokens, {lengths[-1]} pages / {lengths[-2]}", grown, "", "pair", most=most)


def _values(reads: Sequence[Read], what: str) -> tuple[float, ...]:
    return tuple(float(getattr(one, what)) for one in reads)


def _words(sizes: Sizes) -> list[str]:
    """Paragraphs to make stories of: those of the natural stories, or drawn ones where they are not there."""
    folder = sizes.data or Path(os.environ.get("FABULA_DATA") or _BESIDE)
    texts = stories(folder) if folder.is_dir() else []
    found = [part for text in texts for part in text.split("\n\n") if count_words(part)]
    draw = random.Random(7)  # noqa: S311 - filler, not secrets
    return found or [prose(draw, 130) for _ in range(300)]


def story_of(paragraphs: Sequence[str], words: int, each: int) -> Story:
    """A story of about so many words, in scenes of about `each` (0: one text without scenes).

    Where there are not enough paragraphs they are repeated, with other names.
    """
    if not paragraphs:
        raise UsageError("There are no paragraphs to make a story of.")
    taken: list[str] = []
    total, again = 0, 0
    while total < words:
        for part in paragraphs:
            changed = part if not again else part.replace("Mara", f"Mara{again}").replace("Elena", f"Elena{again}")
            taken.append(changed)
            total += count_words(changed)
            if total >= words:
                break
        again += 1
    return Story("", tuple(_scenes(taken, each)))


def _scenes(paragraphs: Sequence[str], each: int) -> Iterator[Scene]:
    if not each:
        yield Scene("story", "\n\n".join(paragraphs))
        return
    part: list[str] = []
    for one in paragraphs:
        part.append(one)
        if sum(map(count_words, part)) >= each:
            yield Scene("Scene", "\n\n".join(part))
            part = []
    if part:
        yield Scene("Scene", "\n\n".join(part))


def read(story: Story, preset: Preset, reading: str = "auto") -> Read:
    """What a check of `story` reads."""
    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, parallel=64, context=2_000_000))
    start = time.perf_counter()
    asyncio.run(_checked(story, model, preset, reading))
    took = time.perf_counter() - start
    sizes = [prompt_tokens(request) for request in model.asked]
    return Read(len(sizes), sum(sizes), max(sizes), took)


async def _checked(story: Story, model: ScriptedModel, preset: Preset, reading: str) -> None:
    values = {"reading": reading} if preset == "improved" else {}
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(EVALUATOR.prompt_folders(preset)), Cast.of(model)))
        await EVALUATOR.evaluate((Item("long", story),), run, EVALUATOR.config(preset, values))


def answer(request: Request) -> str:
    """As much as a role may say, with quotations that stand in what it was shown."""
    shown = request.messages[-1].content
    prompt = request.path.rpartition("/")[2]
    draw = random.Random(request.path)  # noqa: S311 - filler, not secrets
    if prompt == "read":
        return json.dumps(_reading(shown, draw))
    if prompt == "decide":
        numbers = re.findall(r"^(\d+)\. ", shown.rpartition(" ends\n")[2], re.MULTILINE)
        return json.dumps(
            {"decisions": [{"number": int(n), "decision": "both_true", "reason": "So."} for n in numbers]}
        )
    lines = [line for line in sentences(_passage(shown)) if count_words(line) > _SHORT]
    picked = [draw.choice(lines) for _ in range(28)] if lines else [""]
    made = {"verify": _verdicts, "propose": _proposals}
    return json.dumps(made[prompt](picked, shown, draw)) if prompt in made else json.dumps(_rest(prompt, picked))


def _reading(shown: str, draw: random.Random) -> dict[str, Any]:
    """Suspicions between paragraphs of a text, and notes on each of its paragraphs where notes are asked for."""
    paragraphs = re.findall(r"^\[(\d+)\] (.+)$", _passage(shown), re.MULTILINE)
    pairs = [sorted(draw.sample(paragraphs, 2), key=lambda one: int(one[0])) for _ in range(_expected(shown))]
    findings = [
        {"paragraph_x": int(a), "quote_x": _quote(x), "says_x": _quote(x), "paragraph_y": int(b), "quote_y": _quote(y),
         "says_y": _quote(y), "why": "Both cannot be true, as the one rules out the other.", "category": "state"}
        for (a, x), (b, y) in pairs
    ]  # fmt: skip
    notes = [
        {"paragraph": int(number), "about": " ".join(text.split()[:2]), "fact": " ".join(text.split()[2:12])}
        for number, text in paragraphs
        for _ in range(_NOTES)
    ]
    return {"findings": findings} | ({"notes": notes} if "Then note for the reader" in shown else {})


def _expected(shown: str) -> int:
    return max(1, round(_SUSPICIONS * count_words(_passage(shown)) / 1000))


_SHORT: Final = 4


def _passage(shown: str) -> str:
    """What stands between the two marks."""
    return shown.partition(" begins\n")[2].rpartition(" ends\n")[0]


def _quote(line: str) -> str:
    return " ".join(line.split()[:20])


def _verdicts(picked: Sequence[str], shown: str, draw: random.Random) -> dict[str, Any]:
    del shown
    return {
        "verdicts": [
            {"number": n, "quote_x": _quote(picked[n]), "quote_y": _quote(picked[n + 1]), "attribute": "state",
             "explanation_quote": None, "reason": "No.", "decision": draw.choice(("error", "explained"))}
            for n in range(1, 13)
        ]
    }  # fmt: skip


def _proposals(picked: Sequence[str], shown: str, draw: random.Random) -> dict[str, Any]:
    del picked
    scene = int(shown.split()[1].strip(":"))
    return {
        "findings": [
            {"x": draw.randint(1, max(1, scene - 1)), "y": scene, "fact": f"one {n}", "event": f"other {n}"}
            for n in range(6)
        ]
    }


def _rest(prompt: str, picked: Sequence[str]) -> dict[str, Any]:
    """Replies of the paper's passes: as many nodes and attributes as a scene of 2,000 words gives."""
    quotes = [_quote(line) for line in picked]
    if prompt == "events":
        return {"events": [{"name": q[:40], "description": q, "evidence": q} for q in quotes[:15]]}
    if prompt == "entities":
        return {
            "entities": [
                {"name": q.split()[0], "type": "Character", "description": q, "evidence": q, "events": [1]}
                for q in quotes[:19]
                if q
            ]
        }
    if prompt == "relations":
        return {"relations": [{"source": "n1", "relation": "performs", "target": "e1", "evidence": quotes[0]}]}
    if prompt == "node":
        return {"attributes": [{"node": f"n{n}", "predicate": "state", "value": q[:40]} for n, q in enumerate(quotes)]}
    return {"findings": []}
