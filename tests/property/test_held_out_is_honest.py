"""`fabula learn` says "better" in at most one case of twenty where nothing was learned, simulated with fixed seeds.

Simulated are scores of held-out pairs, no training. The quick part runs at three sizes; `make simulate` all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.training.examples import PreferencePair
from fabula.training.held_out import Margins, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 0.05


@dataclass(frozen=True)
class World:
    """How an author chooses, and what the two models make of it; `like` is how alike the pairs of a scene are.

    Attributes:
        scene: pairs of a scene, on average.
        like: the share of scenes in which the author's whim is the same for all pairs.
        base: how often the base ranks as the author does.
        tuned: the same of the tuned model.
        shorter: how often the author takes the shorter text, and the tuned model ranks by it.
        same: how often the tuned model ranks a pair as its base does, whatever the author chose.
    """

    scene: float = 2.0
    like: float = 0.0
    base: float = 0.5
    tuned: float = 0.5
    shorter: float | None = None
    same: float = 0.0


NOTHING_LEARNED = {
    "whims": World(),
    "whims, tuned much as its base": World(same=0.8),
    "whims by scene": World(scene=4, like=0.7),
    "a good base, tuned much as it": World(base=0.8, tuned=0.8, same=0.85),
    "one pair a scene": World(scene=1),
    "the author edits, so the base is always wrong": World(base=0.02),
    "only shorter": World(shorter=0.85),
    "only shorter, always": World(shorter=1.0, scene=1),
}


def rows(world: World, count: int, rng: np.random.Generator) -> Iterator[Margins]:
    scene, left, whim = 0, 0, (0.0, 0.0)
    for number in range(count):
        if not left:
            scene, left = scene + 1, int(rng.geometric(1 / world.scene))
            whim = (rng.random(), rng.random()) if rng.random() < world.like else (-1.0, -1.0)
        left -= 1
        base, tuned = (draw if draw >= 0 else rng.random() for draw in whim)
        base_right, tuned_right = base < world.base, tuned < world.tuned
        shorter = rng.random() < (0.5 if world.shorter is None else world.shorter)
        if world.shorter is not None:
            tuned_right = shorter
        elif rng.random() < world.same:
            tuned_right = base_right
        texts = ("a " * 20, "a " * int(rng.integers(21, 60)))
        chosen, rejected = texts if shorter else texts[::-1]
        kind = "retake" if rng.random() < 0.5 else "edit"
        pair = PreferencePair(str(number), "writer", f"{scene}", (), chosen, rejected, kind, bool(rng.random() < 0.5))
        yield Margins(pair, str(scene), 2.0 * base_right - 1, 2.0 * tuned_right - 1)


def share_said_better(world: World, count: int, rounds: int) -> float:
    rng = np.random.default_rng(count)
    return sum(compared(list(rows(world, count, rng))).better for _ in range(rounds)) / rounds


def check(world: World, count: int, rounds: int) -> None:
    error = 3 * math.sqrt(MOST * (1 - MOST) / rounds) if rounds < 1000 else 0.0
    assert share_said_better(world, count, rounds) <= MOST + error


@pytest.mark.parametrize("count", [8, 24, 80])
@pytest.mark.parametrize("world", NOTHING_LEARNED.values(), ids=NOTHING_LEARNED)
def test_nothing_learned_is_hardly_ever_called_better(world: World, count: int) -> None:
    check(world, count, 60)


@pytest.mark.simulation
@pytest.mark.parametrize("count", [6, 8, 12, 24, 40, 80, 200])
@pytest.mark.parametrize("world", NOTHING_LEARNED.values(), ids=NOTHING_LEARNED)
def test_nothing_learned_is_never_often_called_better(world: World, count: int) -> None:
    check(world, count, 2000)


@pytest.mark.parametrize(("tuned", "count"), [(0.95, 60), (0.8, 160)])
def test_what_was_learned_is_called_better(tuned: float, count: int) -> None:
    assert share_said_better(World(tuned=tuned, base=0.4), count, 40) >= 0.8
