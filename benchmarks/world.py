"""How fast a book's world is recorded and asked: 100,000 facts, far above the 10,000 of an honest extraction."""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from benchmarks.table import Row, Table
from fabula.story.world import Fact, Moment, WorldState

if TYPE_CHECKING:
    from collections.abc import Callable

TITLE: Final = "recording and asking the world of a long book"
_VALUES, _LINKED = 30, 0.2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Facts spread over scenes, entities and slots; `rounds` worlds of them, and the scenes asked about in each.

    `values`: how many values one slot has, where all its conflicts are asked for.
    """

    facts: int = 100_000
    scenes: int = 300
    entities: int = 2000
    slots: int = 40
    rounds: int = 3
    asked: int = 10
    values: tuple[int, int] = (4_000, 100_000)


def bench(sizes: Sizes | None = None) -> Table:
    """Each round records a world anew, scene by scene, on disk."""
    sizes = sizes or Sizes()
    found: dict[str, list[float]] = {}
    for seed in range(sizes.rounds):
        for what, value in measured(sizes, random.Random(seed)).items():  # noqa: S311 - facts, not secrets
            found.setdefault(what, []).append(value)
    bounds = {"load": 6.0, "conflicts of a scene": 70.0, "snapshot at a scene": 60.0, "conflicts of 4,000 values": 1.0}
    rows = []
    for what, values in found.items():
        unit = "s" if what in ("load", "open again") or "values" in what else "MB" if what == "file" else "ms"
        each = (
            "one slot"
            if "values" in what
            else f"{sizes.facts:,} facts"
            if unit != "ms"
            else f"{sizes.asked} scenes, median"
        )
        rows.append(Row(what, tuple(values), unit, each, most=bounds.get(what)))
    notes = (
        "Targets are absolute times, meant for two quiet cores as they are common today; judge them on such a machine.",
        "Loading is one transaction a scene, each synced as SQLite's WAL mode with synchronous = NORMAL does.",
        f"{sizes.facts // sizes.scenes} facts a scene, all over {sizes.entities:,} entities: worse than a story's.",
    )
    return Table("world", TITLE, tuple(rows), notes)


def measured(sizes: Sizes, rng: random.Random) -> dict[str, float]:
    """Seconds to load and to open, median milliseconds of each question, megabytes of the file."""
    numbers, each = range(1, sizes.scenes + 1), range(sizes.facts // sizes.scenes)
    scenes = [[fact(sizes, rng, Moment(n, i)) for i in each] for n in numbers]
    asked = rng.sample(numbers[1:], min(sizes.asked, sizes.scenes - 1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.db"
        begun = time.perf_counter()
        with WorldState(file) as world:
            for facts in scenes:
                world.add(facts)
            found = {"load": time.perf_counter() - begun}
            name = scenes[0][0].subject
            found |= {
                "conflicts of a scene": took(asked, world.conflicts),
                "snapshot at a scene": took(asked, lambda n: world.snapshot(Moment.end(n))),
                "difference of a scene": took(asked, lambda n: world.diff(Moment.end(n - 1), Moment.end(n))),
                "facts of one entity": took(asked, lambda n: world.snapshot(Moment.end(n), subject=name)),
                "neighbours two links away": took(asked, lambda n: world.neighbours(name, 2, Moment.end(n))),
                "what a character knows": took(asked, lambda n: world.known_to(name, Moment.end(n))),
            }
        begun = time.perf_counter()
        with WorldState(file):
            found["open again"] = time.perf_counter() - begun
        found["file"] = file.stat().st_size / 1e6
    for number in sizes.values:
        with WorldState() as world:
            world.add(Fact("Mara", "coat", f"value {n}", Moment(n)) for n in range(number))
            begun = time.perf_counter()
            world.conflicts()
            found[f"conflicts of {number:,} values"] = time.perf_counter() - begun
    return found


def fact(sizes: Sizes, rng: random.Random, told: Moment) -> Fact:
    """An assertion about anybody."""
    about = (f"Entity {rng.randrange(sizes.entities)}",) if rng.random() < _LINKED else ()
    quote = f"in line {rng.randrange(10**6)} it says so, in so many words"
    slot, value = f"slot {rng.randrange(sizes.slots)}", f"value {rng.randrange(_VALUES)}"
    return Fact(f"Entity {rng.randrange(sizes.entities)}", slot, value, told, about=about, quote=quote)


def took(scenes: list[int], ask: Callable[[int], T]) -> float:
    """The median of the milliseconds that a question about a scene takes."""
    times = []
    for scene in scenes:
        begun = time.perf_counter()
        ask(scene)
        times.append(time.perf_counter() - begun)
    return sorted(times)[len(times) // 2] * 1000
