"""The position of each unit of a plan in the telling and in story time, and the units told out of order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.story.chronology import inversions

if TYPE_CHECKING:
    from fabula.story.plan import Plan, Unit


Kind: TypeAlias = Literal["in order", "flashback", "ahead"]
KINDS: Final[Mapping[Kind, str]] = {
    "in order": "told as it happens",
    "flashback": "flashback (analepsis)",
    "ahead": "told ahead (prolepsis)",
}


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """The positions of a unit in the two orders.

    Attributes:
        scene: the number of the unit's scene in the telling, counted from 1.
        number: the same number as text; if the scene has several units, followed by the number of the unit in the order
            of telling.
        told: the position among all units in the order of telling, counted from 1.
        happens: the position among all units in story time, counted from 1.
        kind: whether the unit is told in order, later (flashback) or earlier (ahead).
        name: the scene's name; if the scene has several units, all except the main unit are named after their first
            event.
    """

    unit: Unit
    scene: int
    number: str
    told: int
    happens: int
    kind: Kind
    name: str

    @property
    def time(self) -> str:
        """The story time as the author wrote it; empty if unknown."""
        return next((event.time for event in self.unit.events if event.time), "") or self.unit.scene.time


@dataclass(frozen=True, slots=True)
class PresenceRow:
    """A character's presence: the `goals` in each of the character's scenes, by scene number (counted from 1)."""

    name: str
    group: bool
    goals: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A plan in both orders of time.

    Attributes:
        title: the plan's title, which may be empty.
        scenes: the names of the scenes in the order of telling.
        lines: the units, in the order of telling.
        rows: the characters, in the plan's order.
    """

    title: str
    scenes: tuple[str, ...]
    lines: tuple[TimelineLine, ...]
    rows: tuple[PresenceRow, ...]

    @classmethod
    def of(cls, plan: Plan, order: Sequence[str]) -> Timeline:
        """The timeline of `plan`, whose scenes happen in `order`.

        A unit's place in the telling is the place of its first event. The longest sequence of units told in the order
        of events is the story's first narrative; if several are equally long, it is the one told first. Any other unit
        interrupts the first narrative in one of two ways: it happens before a part that has already been told (a
        flashback), or after a part that is yet to be told (ahead).

        Raises:
            UsageError: `order` is not a possible story-time order of the plan (see `Plan.accepts`).
        """
        ranks = {scene.name: rank for rank, scene in enumerate(plan.scenes)}
        happening = list(enumerate(plan.units(order), 1))
        telling = sorted(happening, key=lambda pair: (ranks[pair[1].scene.name], pair[1].first))
        kinds = _kinds([happens for happens, _ in telling])
        scenes = [ranks[unit.scene.name] + 1 for _, unit in telling]
        names = _names([unit for _, unit in telling])
        places = zip(telling, scenes, _numbers(scenes), kinds, names, strict=True)
        lines = (
            TimelineLine(unit, scene, number, told, happens, kind, name)
            for told, ((happens, unit), scene, number, kind, name) in enumerate(places, 1)
        )
        return cls(plan.title, plan.names, tuple(lines), _rows(plan))

    @property
    def pairs(self) -> int:
        """The number of pairs of units."""
        return len(self.lines) * (len(self.lines) - 1) // 2

    @property
    def crossings(self) -> int:
        """The number of pairs of units in which the one told first happens later, so that their lines cross."""
        return inversions([line.happens for line in self.lines])

    def count(self, kind: Kind) -> int:
        """The number of units of a kind."""
        return sum(1 for line in self.lines if line.kind == kind)

    def summary(self) -> str:
        """The numbers of scenes, units, units told out of order and crossing pairs, in one line."""
        units = "" if len(self.lines) == len(self.scenes) else f" in {len(self.lines):,} units"
        parts = [_many(len(self.scenes), "scene") + units]
        if flashbacks := self.count("flashback"):
            parts.append(_many(flashbacks, "flashback"))
        if ahead := self.count("ahead"):
            parts.append(f"{ahead:,} told ahead")
        share = f"{self.crossings:,} of {_many(self.pairs, 'pair')} told out of order"
        return ", ".join(parts) + (f"; {share}" if self.crossings else "; all told as it happens")


def timeline_data(plan: Plan, order: Sequence[str]) -> dict[str, Any]:
    """The timeline as plain JSON data, with `units` in the order of telling, `present` by character, and the counts.

    Raises:
        UsageError: see `Timeline.of`.
    """
    timeline = Timeline.of(plan, order)
    return {
        "title": timeline.title,
        "scenes": list(timeline.scenes),
        "order": list(order),
        "units": [
            {
                "scene": line.unit.scene.name,
                "number": line.number,
                "part": line.unit.part,
                "told": line.told,
                "happens": line.happens,
                "time": line.time,
                "kind": line.kind,
                "name": line.name,
                "events": [event.text for event in line.unit.events],
            }
            for line in timeline.lines
        ],
        "present": [
            {
                "name": row.name,
                "group": row.group,
                "scenes": [{"scene": number, "goal": goal} for number, goal in row.goals.items()],
            }
            for row in timeline.rows
        ],
        "flashbacks": timeline.count("flashback"),
        "ahead": timeline.count("ahead"),
        "crossings": timeline.crossings,
        "pairs": timeline.pairs,
    }


def _numbers(scenes: Sequence[int]) -> list[str]:
    """The scenes as texts; where one comes more than once, "3.1" and "3.2"."""
    counts = dict.fromkeys(scenes, 0)
    places = []
    for scene in scenes:
        counts[scene] += 1
        places.append(counts[scene])
    return [str(s) if counts[s] == 1 else f"{s}.{place}" for s, place in zip(scenes, places, strict=True)]


def _names(units: Sequence[Unit]) -> list[str]:
    """What each unit, in the order of telling, is called; the main one of a scene is that at the scene's own time."""
    mains: dict[str, Unit] = {}
    for unit in units:
        if any(event.time in ("", unit.scene.time) for event in unit.events):
            mains[unit.scene.name] = unit
    for unit in units:
        mains.setdefault(unit.scene.name, unit)
    return [u.scene.name if mains[u.scene.name] is u else u.events[0].text for u in units]


def _kinds(happens: Sequence[int]) -> list[Kind]:
    """The kind of each unit, given their places in story time in the order of telling.

    All that is on the longest rising sequence is in order. Of the rest, what is smaller than the last one on it so far
    is a flashback.
    """
    lengths = _rising(happens)
    left, last = max(lengths, default=0), 0
    kinds: list[Kind] = []
    for place, length in zip(happens, lengths, strict=True):
        if length == left and place > last:
            left, last = left - 1, place
            kinds.append("in order")
        else:
            kinds.append("flashback" if place < last else "ahead")
    return kinds


def _rising(numbers: Sequence[int]) -> list[int]:
    """For each number the length of the longest rising sequence that starts with it."""
    tops: list[int] = []  # for each length, less the sign, the greatest number that starts a sequence of it
    lengths = []
    for number in reversed(numbers):
        at = bisect_left(tops, -number)
        tops[at : at + 1] = [-number]
        lengths.append(at + 1)
    return lengths[::-1]


def _rows(plan: Plan) -> tuple[PresenceRow, ...]:
    """The plan's characters; behind them those whom only a scene names."""
    goals: dict[str, dict[int, str]] = {character.name: {} for character in plan.characters}
    for number, scene in enumerate(plan.scenes, 1):
        for presence in scene.characters:
            goals.setdefault(presence.name, {})[number] = presence.goal
    groups = {character.name for character in plan.characters if character.group}
    return tuple(PresenceRow(name, name in groups, where) for name, where in goals.items())


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
