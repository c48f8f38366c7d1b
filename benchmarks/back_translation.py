"""What `fabula data backtranslate` takes of the processor: a call and an example, at several numbers of stories.

The teacher is a fake that answers at once, so what is measured is fabula's own: prompts, journal, readers, checks, and
taking down the prompts of the examples. Beside it the same calls are made of the bare fake.
"""

from __future__ import annotations

import asyncio
import gc
import random
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest import mock

from benchmarks.table import Row, Table
from fabula.app.back_translating import BackTranslationTask, back_translate_in
from fabula.app.writing import Options
from fabula.base.errors import ModelError
from fabula.engine.events import CallFinished
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.project.settings import Settings
from fabula.story import Brief, Story

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.models.base import OnText, Reply, Request

TITLE: Final = "back-translation of many stories"
_MS: Final = 1000.0
_CALLS, _EXAMPLES = 5, 9  # of a story
_BARE, _ASKED, _EXAMPLE = "a call of the bare fake", "calls of a killed run and the one after it", "an example"
_WORDS: Final = 900
_VOCABULARY: Final = (
    *("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "harbour", "night"),
    *("door", "water", "hand", "light", "house", "stone"),
)
_LABELS: Final = ("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution")
_NOTES: Final = {
    "conflict": "Mara wants the lamp lit while a boat is out. Her father has given his word that it stays dark.",
    "character": "* Mara: says little and counts boats.\n* Her father: bad knees, proud of his word.",
    "setting": "A lighthouse on rocks off a small harbour, in one stormy night.",
    "plot": "* The light is to go dark.\n* A boat is missing.\n* Mara climbs.\n* The boat finds the beam.",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of stories, and how often each is measured."""

    stories: tuple[int, ...] = (250, 500, 1000)
    rounds: int = 3


def bench(sizes: Sizes | None = None) -> Table:
    """Processor time of a call and of an example: asked anew, replayed, and after a kill at half."""
    sizes = sizes or Sizes()
    rows = tuple(row for stories in sizes.stories for row in _rows(stories, sizes.rounds))
    note = (
        "Agents' Room, plan+write, improved preset, for a capable model; stories of 900 words, each 5 calls and 9 "
        "examples. CPU time of this process, without that of the bare fake."
    )
    return Table("back_translation", TITLE, rows, (note,))


def _rows(stories: int, rounds: int) -> Iterator[Row]:
    items, script = _stories(stories)
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="fabula-bench-") as folder:
            for name, value in _measured(items, script, Path(folder)).items():
                found.setdefault(name, []).append(value)
    calls, examples = f"{stories * _CALLS:,} calls", f"{stories * _EXAMPLES:,} examples"
    for name, values in found.items():
        if name == _ASKED:
            yield Row(f"{stories:,} stories: {name}", tuple(values), "calls", most=stories * _CALLS)
        else:
            of_example = name == _EXAMPLE
            each, most = (examples, None) if of_example else (calls, None if name == _BARE else 1.0)
            yield Row(f"{stories:,} stories: {name}", tuple(value * _MS for value in values), "ms", each, most)


def _measured(items: Sequence[Item], script: dict[str, str], folder: Path) -> dict[str, float]:
    """Seconds of a call and of an example, and how many calls a killed run and the one after it made together."""
    calls = len(items) * _CALLS
    fake, dying, resumed = _Fake(script), _Fake(script, calls // 2), _Fake(script)
    asked, examples = _timed(items, folder / "one", fake)
    bare = asyncio.run(_bare(fake.asked))
    replayed, _ = _timed(items, folder / "one", _Fake(script))
    with suppress(ModelError):
        _timed(items, folder / "two", dying)
    rest, _ = _timed(items, folder / "two", resumed)
    return {
        "a call": (asked - bare) / calls,
        _BARE: bare / calls,
        "a replayed call": replayed / calls,
        "a call of the run after a kill at half": (rest - bare / 2) / calls,
        _ASKED: float(len(dying.asked) + len(resumed.asked)),
        _EXAMPLE: examples / (len(items) * _EXAMPLES),
    }


def _timed(items: Sequence[Item], folder: Path, fake: _Fake) -> tuple[float, float]:
    """Processor seconds of all calls, and of all that comes after the last: the examples and the files."""
    task = BackTranslationTask(items, folder, Settings(), Capabilities(context=32_768), "fake", development=0.2)
    script = folder.parent / "unused.toml"
    script.write_text('[replies]\nall = "unused"\n', encoding="utf-8")
    ends: list[float] = []

    def heard(event: object) -> None:
        if isinstance(event, CallFinished):
            ends.append(time.process_time())

    gc.collect()
    began = time.process_time()
    with mock.patch("fabula.project.casting.open_model", return_value=fake):
        asyncio.run(back_translate_in(task, Settings(model=f"scripted:{script}"), Options(listeners=[heard])))
    return ends[-1] - began, time.process_time() - ends[-1]


async def _bare(requests: Sequence[Request]) -> float:
    """Processor seconds of the same calls of the fake alone."""
    fake = _Fake({"all": "unused"})
    began = time.process_time()
    for request in requests:
        await fake.ask(replace(request, role="all", path="all"))
    return time.process_time() - began


class _Fake(ScriptedModel):
    """Answers at once; dies at one call, as a killed process would."""

    def __init__(self, script: dict[str, str], dies: int = 0) -> None:
        super().__init__(script)
        self.dies = dies

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The scripted reply.

        Raises:
            ModelError: it dies here.
        """
        if self.dies and len(self.asked) == self.dies:
            raise ModelError("killed here", model=self.name)
        return await super().ask(request, on_text)


def _stories(count: int) -> tuple[list[Item], dict[str, str]]:
    """The stories, and what the teacher says of each."""
    rng = random.Random(1)  # noqa: S311 - reproducible stories
    items: list[Item] = []
    script: dict[str, str] = {}
    for number in range(count):
        for role, note in _NOTES.items():  # each story has notes of its own, or what reads them would know them
            lines = (f"{line} {_sentence(rng)}" for line in note.split("\n"))
            script[f"story/{number}/{role}"] = "\n".join(lines)
        paragraphs = [" ".join(_sentence(rng) for _ in range(5)) for _ in range(_WORDS // 50)]
        firsts = (paragraphs[part * len(paragraphs) // 5].partition(".")[0] for part in range(5))
        script[f"story/{number}/split"] = "\n".join(f"[{a}] {b}." for a, b in zip(_LABELS, firsts, strict=True))
        brief = Brief(f"Write a story of about {_WORDS} words about Mara and lamp {number}.")
        items.append(Item(str(number), Story.parse("\n\n".join(paragraphs)), brief=brief))
    return items, script


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(_VOCABULARY) for _ in range(rng.randint(7, 13))).capitalize() + "."
