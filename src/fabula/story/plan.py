"""The plan of a story: conflict, setting, characters and scenes, in both orders of time.

The *syuzhet* is the order in which scenes are told (P_p of Character Simulation, section 3.2.1); the *fabula* is the
order in which they happen (P_c, section 3.2.2). The paper assumes that scenes do not overlap in time. In fabula, every
event may have its own story time, so a flashback inside a scene also has a place in the fabula.

Other modules check plans (`plan_check`) and read and write plan files (`plan_file`).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate, groupby
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from fabula.base.errors import UnknownNameError, UsageError
from fabula.story import one_line, slug
from fabula.story.chronology import Facts, StoryTime, inversions
from fabula.story.sentences import as_sentence

Element: TypeAlias = Literal["exposition", "rising action", "climax", "falling action", "resolution"]
ARC: Final[tuple[Element, ...]] = get_args(Element)
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_TEENS: Final = (11, 12, 13)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?")
_DATE: Final = re.compile(
    r"(-?[0-9]{1,9})-(0?[1-9]|1[0-2])"  # year, month
    r"(?:-(0?[1-9]|[12][0-9]|3[01])"
    r"(?:[T ]([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?)?)?"
)
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def story_time(text: str) -> StoryTime | None:
    """The parts of a story time, which are compared one by one; `None` if `text` is not a story time.

    A number has one part ("3", "-10", "2.5", "1921"). A date has a part for each of year, month, day, hour, minute and
    second that it specifies ("1921-05", "1921-05-03", "1921-05-03 14:30", also with a T). Therefore 1921 comes before
    1921-05. A time of day alone ("19:10") belongs to a day without a date and has three parts: day 0,
    the hour and the minute.
    """
    text = one_line(text).replace("\u2212", "-")  # the minus sign of typeset text
    if _NUMBER.fullmatch(text):
        return (Decimal(text),)
    if date := _DATE.fullmatch(text):
        return tuple(Decimal(part) for part in date.groups() if part is not None)
    if clock := _CLOCK.fullmatch(text):
        return (Decimal(0), *map(Decimal, clock.groups()))
    return None


@dataclass(frozen=True, slots=True)
class Character:
    """A character, or a group of minor characters (`group`), with the fields from section 3.2.1.

    Attributes:
        role: the role in the narrative, for example "protagonist"; only for roles that know everything, not for the
            character's own player.
        setup: who they are when the story begins.
        personality: what they are like, as noticed by anyone who meets them.
        speech: how they speak.
        goal: what they want over the whole story.
        secret: what they hide from others when the story begins; for their own player and for roles that know
            everything.
        knows: what they know and believe about the others when the story begins, from their point of view; for the same
            roles.
        truth: what they are wrong about, and the truth; only for roles that know everything, not for the character's
            own player.
    """

    name: str
    role: str = ""
    gender: str = ""
    age: str = ""
    setup: str = ""
    personality: str = ""
    speech: str = ""
    goal: str = ""
    secret: str = ""
    knows: str = ""
    truth: str = ""
    group: bool = False

    def at(self, presence: Presence) -> Character:
        """The character at the time of a scene.

        If the scene has its own personality or way of speaking for the character, it replaces the sheet's.
        """
        personality, speech = presence.personality or self.personality, presence.speech or self.speech
        seen = replace(self, personality=personality, speech=speech)
        if not (presence.age or presence.then or presence.secret):
            return seen
        setup, secret = presence.then, presence.secret
        return replace(seen, age=presence.age, setup=setup, goal="", secret=secret, knows="", truth="")

    @property
    def own(self) -> Character:
        """The sheet as the character may know it, without the character's role in the story and mistaken beliefs."""
        return replace(self, role="", truth="")

    def introduction(self, here: str = "") -> str:
        """All fields on one line, for prompts of roles that know everything; `here` is a scene goal."""
        who = ", ".join(filter(None, ("a group" * self.group, self.role, self.gender, self.age)))
        about = (
            self.setup,
            self.personality and f"Personality: {self.personality}",
            self.speech and f"Way of speaking: {self.speech}",
            self.goal and f"Wants: {self.goal}",
            self.secret and f"Hides: {self.secret}",
            self.knows and f"Knows: {self.knows}",
            self.truth and f"In truth: {self.truth}",
            here and f"Wants here: {here}",
        )
        return self._introduced(who, about)

    def seen(self, *, known: bool = False) -> str:
        """The traits that everyone notices in the character, on one line; with `known`, also who the character is."""
        who = ", ".join(filter(None, ("a group" * self.group, self.gender, self.age)))
        return self._introduced(
            who,
            (
                self.personality and f"Personality: {self.personality}",
                self.speech and f"Way of speaking: {self.speech}",
                self.setup and f"Who they are: {self.setup}" if known else "",
            ),
        )

    def _introduced(self, who: str, about: Iterable[str]) -> str:
        text = " ".join(map(as_sentence, filter(None, about)))
        return " ".join(filter(None, (self.name, f"({who})" if who else "", f"- {text}" if text else "")))


@dataclass(frozen=True, slots=True)
class Event:
    """A point in a scene's outline.

    Attributes:
        time: the story time of the event, if it differs from the scene's.
        present: the characters of the scene who witness the event; if empty, all of them.
        there: the other characters who are there and can be seen and spoken to, but neither see nor hear the event.
        notices: what the characters in `there` notice instead, as a short clause.
        place: the place of the event, if the scene has several places.
    """

    text: str
    time: str = ""
    present: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    notices: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Presence:
    """A character in a scene, with the character's goal there.

    Attributes:
        age: the character's age at the time of the scene, if it differs from the sheet's.
        then: who the character is at that time, as known to anyone who meets them, if this differs from the sheet.
        secret: what only the character knows at that time; for their own player and for roles that know everything.
        personality: what the character is like at that time, if this differs from the sheet.
        speech: how the character speaks at that time, if this differs from the sheet.
    """

    name: str
    goal: str = ""
    age: str = ""
    then: str = ""
    secret: str = ""
    personality: str = ""
    speech: str = ""


@dataclass(frozen=True, slots=True)
class ScenePlan:
    """A scene, the smallest unit of a plan.

    Attributes:
        outline: the events in the order in which they are told (o_p).
        element: the part of the narrative arc.
        place: a specific and detailed place, named in its first clause.
        importance: the importance from 1 (least) to 10.
        characters: the characters who are present; only they witness the events.
        time: the story time: a number, or a date and time of day such as 1921-05-03 14:30; empty if unknown.
        after: the names of scenes that happen earlier.
        date: the date in the words of the story, such as "the night of 3 November 1962, in the storm".
    """

    name: str
    outline: tuple[Event, ...]
    element: Element = "rising action"
    place: str = ""
    importance: int = 5
    characters: tuple[Presence, ...] = ()
    time: str = ""
    after: tuple[str, ...] = ()
    date: str = ""

    @property
    def present(self) -> tuple[str, ...]:
        """The names of the characters who are present."""
        return tuple(presence.name for presence in self.characters)

    @property
    def when(self) -> str:
        """The time of the scene for prompts: its date in words, or a story time that is a date; otherwise empty."""
        return self.date or (one_line(self.time) if _DATE.fullmatch(one_line(self.time)) else "")

    def witnesses(self, event: Event) -> tuple[str, ...]:
        """The names of the characters who see and hear an event of this scene."""
        return tuple(name for name in self.present if not event.present or name in event.present)

    def absent(self, event: Event) -> tuple[str, ...]:
        """The names of the characters in this scene who neither see nor hear an event of it."""
        return tuple(name for name in self.present if event.present and name not in event.present)

    def unaware(self, event: Event) -> tuple[str, ...]:
        """The names of the characters who are there when an event happens but neither see nor hear it."""
        return tuple(name for name in self.absent(event) if name in event.there)

    def missed(self, event: Event) -> str:
        """Who misses an event of this scene and how, for roles that know everything; empty if everyone witnesses it."""
        there = ", ".join(self.unaware(event))
        away = ", ".join(name for name in self.absent(event) if name not in event.there)
        said = (
            there and f"There, but neither seeing nor hearing it: {there}",
            there and event.notices and f"What they notice instead: {event.notices.rstrip('.')}",
            away and f"Not there, or out of hearing: {away}",
        )
        return ". ".join(filter(None, said))


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive events of a scene that happen at one time before the same people, and that are played as one.

    A scene is a single unit if it has no flashbacks and nobody comes or goes.

    Attributes:
        part: the number of the unit within its scene, counted from 1 in chronological order.
        first: the index of the unit's first event in the scene's outline.
    """

    scene: ScenePlan
    events: tuple[Event, ...]
    part: int = 1
    first: int = 0

    @property
    def characters(self) -> tuple[Presence, ...]:
        """The characters who are present, with their goals in the scene."""
        here = self.events[0].present
        return tuple(one for one in self.scene.characters if not here or one.name in here)

    @property
    def present(self) -> tuple[str, ...]:
        """The names of the characters who are present."""
        return tuple(presence.name for presence in self.characters)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan, with `scenes` in the order in which they are told.

    Attributes:
        brief: the author's brief, if the plan contains it.
        person: the grammatical person and the narrator of the story, such as "first person, told by Mara".
        tense: the tense of the story, such as "present tense".
        form: other features of the form, such as letters, a refrain, or who tells what.
        demands: verifiable demands of the brief, such as order, dates, lengths of parts, or who must never learn what.
        payoffs: what is set up in which scene, and where it pays off.
    """

    scenes: tuple[ScenePlan, ...]
    characters: tuple[Character, ...] = ()
    conflict: str = ""
    setting: str = ""
    title: str = ""
    brief: str = ""
    person: str = ""
    tense: str = ""
    form: str = ""
    demands: tuple[str, ...] = ()
    payoffs: tuple[str, ...] = ()

    @property
    def manner(self) -> str:
        """The person and tense of the story, for prompts; empty if the plan specifies neither."""
        return "; ".join(one_line(part) for part in (self.person, self.tense) if part.strip())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scenes, in the order of telling."""
        return tuple(scene.name for scene in self.scenes)

    def scene(self, name: str) -> ScenePlan:
        """The scene with this name, or with a name that has the same file name.

        Raises:
            UnknownNameError: there is no such scene; the message names the nearest one.
        """
        return _named(name, self.scenes, "scene")

    def character(self, name: str) -> Character:
        """The character with this name; names are matched as in `scene`.

        Raises:
            UnknownNameError: there is no such character; the message names the nearest one.
        """
        return _named(name, self.characters, "character")

    def people(self, scene: ScenePlan) -> tuple[tuple[Character, str], ...]:
        """The characters in a scene as they are at that time, with their goals in the scene."""
        sheets = {character.name: character for character in self.characters}
        return tuple((sheets.get(one.name, Character(one.name)).at(one), one.goal) for one in scene.characters)

    def position(self, name: str) -> str:
        """A scene's position in both orders: "scene 2 of 4 in the order of telling; it happens third in time".

        If the story is told in the order of events, the result is only "scene 2 of 4".
        """
        told, order = self._ranks()[self.scene(name).name], self.assumed_chronology()
        where = f"scene {told + 1} of {len(self.scenes)}"
        if not self.anachronies(order):
            return where
        return f"{where} in the order of telling; it happens {ordinal(order.index(self.names[told]) + 1)} in time"

    def as_brief(self) -> str:
        """The author's brief, or, if the plan does not have one, a brief made from conflict, setting and cast."""
        if self.brief:
            return self.brief
        about = f'Write a story called "{self.title}".' if self.title else "Write a story."
        cast = "\n".join(f"- {character.introduction()}" for character in self.characters)
        kept = "\n".join(f"- {demand}" for demand in self.demands)
        parts = (
            self.conflict and f"It is about this: {self.conflict}",
            self.setting and f"It is set here: {self.setting}",
            self.manner and f"It is told in this way: {self.manner}",
            self.form and f"Its form is this: {self.form}",
            kept and f"It keeps to this:\n{kept}",
        )
        return "\n\n".join(filter(None, (about, *parts, cast and f"Its characters are:\n{cast}")))

    def chronology(self) -> tuple[str, ...] | None:
        """The names of all scenes in story-time order if the times and `after` determine it; otherwise `None`.

        The order is determined if, for every two scenes, both have a time or a chain of `after` and times leads from
        one to the other. Scenes with equal times keep the order of telling, unless `after` specifies otherwise. The
        order is not determined if facts contradict each other (see `plan_check`).
        """
        order = self.facts().settled()
        return None if order is None else tuple(self.scenes[i].name for i in order)

    def assumed_chronology(self) -> tuple[str, ...]:
        """The names of all scenes in a story-time order that agrees with all known times and all `after`.

        If several scenes could be next, the one that is told first is chosen. If nothing is known about times, this is
        the order of telling.
        """
        return tuple(self.scenes[i].name for i in self.facts().assumed())

    def accepts(self, order: Sequence[str]) -> str:
        """An empty text if `order` contains every scene once and agrees with all known times and all `after`.

        Otherwise, a sentence that explains the problem to the author of the order. Scenes with equal times may be in
        any order.
        """
        counts, ranks = Counter(order), self._ranks()
        if unknown := [name for name in counts if name not in ranks]:
            return f"The order names {_listed(unknown)}, which the plan does not have; name only scenes of the plan."
        if twice := [name for name, count in counts.items() if count > 1]:
            return f"The order names {_listed(twice)} more than once; name every scene exactly once."
        if missing := [name for name in ranks if name not in counts]:
            return f"The order leaves out {_listed(missing)}; name every scene exactly once."
        broken = self.facts().broken_by([ranks[name] for name in order])
        if broken is None:
            return ""
        first, then = (self.scenes[i] for i in broken)
        why = "the plan says so" if first.name in then.after else f"their times are {first.time} and {then.time}"
        return f"{first.name!r} happens before {then.name!r} ({why}), but the order has it after; move it before."

    def units(self, order: Sequence[str]) -> tuple[Unit, ...]:
        """All events in chronological order, in units that are played as one; every event is in exactly one unit.

        `order` contains the names of all scenes in story-time order. The events of a scene with the same time form one
        unit, in the order of telling. If people come or go between these events, each stretch with the same people is a
        unit, and the units keep the order of telling. Events without their own time or with the scene's time form the
        scene's main unit, which has the position of the scene in `order`. Any other unit comes as shortly before its
        scene's main unit as the known times allow: not before a unit with an earlier time, and not after a unit with a
        later time. Units with equal times keep the order of telling. A flashback to a time between two other scenes is
        therefore played between them, and a look ahead is played after its scene. If scenes have no times, the
        flashbacks in a scene come directly before its main unit, with the earliest first.

        Raises:
            UsageError: `accepts(order)` returns a problem, which becomes the message.
        """
        if wrong := self.accepts(order):
            raise UsageError(wrong)
        ranks = self._ranks()
        return _numbered(_placed(self.scenes, [ranks[name] for name in order]))

    def anachronies(self, order: Sequence[str]) -> int:
        """The number of pairs of scenes in which the one told first happens later; `order` is the story-time order.

        The result is 0 for a story told in the order of events, and n (n - 1) / 2 for n scenes told backwards.
        """
        ranks = self._ranks()
        return inversions([ranks[name] for name in order])

    def facts(self) -> Facts:
        """The known facts about the order of the scenes; unreadable or unknown entries are left out."""
        ranks = self._ranks()
        earlier = (tuple(dict.fromkeys(ranks[n] for n in scene.after if n in ranks)) for scene in self.scenes)
        return Facts(tuple(story_time(scene.time) for scene in self.scenes), tuple(earlier))

    def _ranks(self) -> dict[str, int]:
        """Each scene's place in the telling, from 0; of two of one name that of the first."""
        ranks: dict[str, int] = {}
        for rank, scene in enumerate(self.scenes):
            ranks.setdefault(scene.name, rank)
        return ranks


def ordinal(number: int) -> str:
    """An ordinal number, written as a word up to ten: "first", "tenth", "11th", "22nd"."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_Named = TypeVar("_Named", ScenePlan, Character)


def _named(name: str, known: Iterable[_Named], kind: str) -> _Named:
    """The one called `name`, else the one whose file would be called so."""
    found = {one.name: one for one in known}
    slugs = {slug(one.name): one for one in known}
    one = found.get(name) or slugs.get(slug(name))
    if one is None:
        raise UnknownNameError(kind, name, found)
    return one


def _listed(names: Sequence[str]) -> str:
    """Names in quotes, separated by commas; at most ten of them."""
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"  # noqa: PLR2004 - as the docstring says


_Timed: TypeAlias = "tuple[StoryTime, int]"
"""A time, and the place in the telling that settles equal ones."""


def _placed(scenes: Sequence[ScenePlan], order: Sequence[int]) -> list[Unit]:
    """The units of all scenes in chronological order, parts not yet counted; `order` as places in `scenes`."""
    places = {rank: position for position, rank in enumerate(order)}
    own: list[tuple[_Timed, Unit]] = []
    placed: list[tuple[tuple[int, int], Unit]] = []  # before a main unit (0) or the unit itself (1)
    for rank, scene in enumerate(scenes):
        main = story_time(scene.time)
        for time, unit in _stretches(scene):
            if time is None or time == main:
                placed.append(((places[rank], 1), unit))
            else:
                own.append(((time, rank), unit))
    own.sort(key=lambda pair: pair[0])
    slots = _slots([(story_time(scenes[rank].time), rank) for rank in order], [key for key, _ in own])
    placed += [((slot, 0), unit) for slot, (_, unit) in zip(slots, own, strict=True)]
    return [unit for _, unit in sorted(placed, key=lambda pair: pair[0])]


def _stretches(scene: ScenePlan) -> Iterator[tuple[StoryTime | None, Unit]]:
    """The scene's events in units of one time and of the same people, with that time; `None` is one not known."""
    main = story_time(scene.time)
    groups: dict[StoryTime | None, list[tuple[int, Event]]] = {}
    for place, event in enumerate(scene.outline):
        groups.setdefault(story_time(event.time) or main, []).append((place, event))
    for time, events in groups.items():
        for _, some in groupby(events, key=lambda pair: frozenset(pair[1].present) or frozenset(scene.present)):
            stretch = list(some)
            yield time, Unit(scene, tuple(event for _, event in stretch), first=stretch[0][0])


def _slots(mains: Sequence[tuple[StoryTime | None, int]], own: Sequence[_Timed]) -> list[int]:
    """Before which of `mains` each of `own`, sorted, stands; `len(mains)` is behind the last."""
    place = {rank: position for position, (_, rank) in enumerate(mains)}
    timed = sorted(((time, rank), position) for position, (time, rank) in enumerate(mains) if time is not None)
    keys, positions = [key for key, _ in timed], [position for _, position in timed]
    lows = [0, *accumulate((position + 1 for position in positions), max)]
    highs = [*reversed([*accumulate(reversed(positions), min)]), len(mains)]
    slots: list[int] = []
    following = len(mains)
    # From the latest on: where nothing is known, a unit goes before its scene and not after it.
    for key in reversed(own):
        at = bisect(keys, key)
        following = max(lows[at], min(place[key[1]], highs[at], following))
        slots.append(following)
    return slots[::-1]


def _numbered(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """The units with the parts of each scene counted from 1."""
    parts: Counter[str] = Counter()
    counted = []
    for unit in units:
        parts[unit.scene.name] += 1
        counted.append(replace(unit, part=parts[unit.scene.name]))
    return tuple(counted)
