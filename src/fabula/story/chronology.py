"""The order of scenes in story time, derived from their story times and `after`.

In this module, scenes are numbers in the order of telling. There are two kinds of facts: the story times of some
scenes, and, for each scene, the scenes that happen before it. If two scenes have equal times, neither is earlier.
"""

from __future__ import annotations

import heapq
from bisect import bisect, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from decimal import Decimal


StoryTime: TypeAlias = "tuple[Decimal, ...]"


@dataclass(frozen=True, slots=True)
class Facts:
    """The known facts about the order of `len(times)` scenes.

    Attributes:
        times: the story time of each scene, or `None` if it is not known.
        earlier: for each scene, the scenes that happen before it.
    """

    times: tuple[StoryTime | None, ...]
    earlier: tuple[tuple[int, ...], ...]

    def settled(self) -> tuple[int, ...] | None:
        """All scenes in story-time order if the order of every pair is known; otherwise `None`.

        The order of a pair follows from the times of both scenes or from a chain of facts. Scenes with equal times keep
        the order of telling, unless `earlier` specifies otherwise. If facts contradict each other, the result is
        `None`.
        """
        order = self._sorted()
        if order is None:
            return None
        later, size = self._later(), len(self.times)
        reach = [0] * len(later)  # bit sets: a plan of 2,000 scenes has two million pairs
        for node in reversed(order):
            for follower in later[node]:
                reach[node] |= 1 << follower | reach[follower]
        equal: dict[StoryTime, int] = {}
        for scene, time in enumerate(self.times):
            if time is not None:
                equal[time] = equal.get(time, 0) | 1 << scene
        rest = (1 << size) - 1
        scenes = tuple(node for node in order if node < size)
        for scene in scenes:
            rest &= ~(1 << scene)
            time = self.times[scene]
            if rest & ~reach[scene] & ~(0 if time is None else equal[time]):
                return None
        return scenes

    def assumed(self) -> tuple[int, ...]:
        """All scenes in an order that agrees with all facts.

        If several scenes could be next, the one that is told first is chosen. If facts contradict each other, the
        remaining scenes follow in the order of telling.
        """
        waiting = dict.fromkeys(range(len(self.times)))
        order = []
        while waiting:
            first = min((time for scene in waiting if (time := self.times[scene]) is not None), default=None)
            ready = (
                scene
                for scene in waiting
                if self.times[scene] in (None, first) and not any(before in waiting for before in self.earlier[scene])
            )
            chosen = next(ready, next(iter(waiting)))
            del waiting[chosen]
            order.append(chosen)
        return tuple(order)

    def broken_by(self, order: Sequence[int]) -> tuple[int, int] | None:
        """A pair of scenes (earlier, later) that `order`, a permutation, reverses; `None` if there is no such pair."""
        place = {scene: position for position, scene in enumerate(order)}
        for scene in order:
            for before in self.earlier[scene]:
                if place[before] > place[scene]:
                    return before, scene
        timed = [(time, scene) for scene in order if (time := self.times[scene]) is not None]
        for (time, scene), (next_time, next_scene) in pairwise(timed):
            if next_time < time:
                return next_scene, scene
        return None

    def contradictions(self) -> Iterator[tuple[int, int]]:
        """The pairs (scene, before) in which `scene` should happen after `before` but has an earlier time."""
        for scene, befores in enumerate(self.earlier):
            for before in befores:
                time, other = self.times[scene], self.times[before]
                if time is not None and other is not None and time < other:
                    yield scene, before

    def circles(self) -> Iterator[tuple[int, ...]]:
        """Circles of scenes in which each scene is earlier than the next, and the last is earlier than the first.

        Every circle contains at least one fact from `earlier`; pairs from `contradictions` are ignored. If there are
        circles, at least one is returned. Each circle starts with the scene that is told first.
        """
        dropped = set(self.contradictions())
        kept = [tuple(b for b in befores if (s, b) not in dropped) for s, befores in enumerate(self.earlier)]
        facts = Facts(self.times, tuple(kept))
        for circle in _circles(facts._later()):
            scenes = facts._shortened([node for node in circle if node < len(self.times)])
            start = scenes.index(min(scenes))
            yield (*scenes[start:], *scenes[:start])

    def _shortened(self, circle: list[int]) -> list[int]:
        """The circle without scenes that time alone ties to both neighbours: their neighbours' times say it too."""
        by_time = [
            before not in self.earlier[scene] for before, scene in zip([circle[-1], *circle[:-1]], circle, strict=True)
        ]
        return [s for i, s in enumerate(circle) if not (by_time[i] and by_time[(i + 1) % len(circle)])]

    def _later(self) -> list[list[int]]:
        """What follows each node. After the scenes come nodes that stand between one time and the next.

        Without these, 1,000 scenes of one time before 1,000 of another would be a million edges.
        """
        size = len(self.times)
        groups: dict[StoryTime, list[int]] = {}
        for scene, time in enumerate(self.times):
            if time is not None:
                groups.setdefault(time, []).append(scene)
        later: list[list[int]] = [[] for _ in range(size + max(0, len(groups) - 1))]
        for scene, befores in enumerate(self.earlier):
            for before in befores:
                later[before].append(scene)
        for number, (time, following) in enumerate(pairwise(sorted(groups))):
            for scene in groups[time]:
                later[scene].append(size + number)
            later[size + number] += groups[following]
        return later

    def _sorted(self) -> list[int] | None:
        """All nodes of `_later`, followers last; of several that could be next the one told first. `None`: circles."""
        later, size = self._later(), len(self.times)
        waits = [0] * len(later)
        for followers in later:
            for follower in followers:
                waits[follower] += 1
        # A node between two times is none to wait for: it comes before all scenes.
        ready = [(node < size, node) for node, count in enumerate(waits) if not count]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            _, node = heapq.heappop(ready)
            order.append(node)
            for follower in later[node]:
                waits[follower] -= 1
                if not waits[follower]:
                    heapq.heappush(ready, (follower < size, follower))
        return order if len(order) == len(later) else None


def _circles(later: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """A circle for every edge that leads back in a depth-first walk; without recursion, as chains may be long."""
    done: set[int] = set()
    for start in range(len(later)):
        trail: dict[int, Iterator[int]] = {}
        node: int | None = None if start in done else start
        while node is not None or trail:
            if node is not None:
                trail[node] = iter(later[node])
            last = next(reversed(trail))
            node = next(trail[last], None)
            if node is None:
                del trail[last]
                done.add(last)
            elif node in trail:
                steps = list(trail)
                yield steps[steps.index(node) :]
                node = None
            elif node in done:
                node = None


def inversions(ranks: Sequence[int]) -> int:
    """The number of pairs in which the larger number comes first."""
    seen: list[int] = []
    count = 0
    for rank in ranks:
        count += len(seen) - bisect(seen, rank)
        insort(seen, rank)
    return count
