"""Checks that find all problems of a plan at once, whether a person wrote it in a file or a model in its replies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Final, TypeAlias

from fabula.story import one_line, slug
from fabula.story.plan import ARC, Character, Plan, ScenePlan, story_time
from fabula.story.sheets import MAX_PROBLEMS, Place, name_place, nearest

MAX_SCENES: Final = 2_000
MAX_NAME: Final = 200
MAX_DATE: Final = 200
MAX_LISTED: Final = 100  # demands, and payoffs
IMPORTANCE: Final = range(1, 11)
_SHOWN: Final = 60
_LISTED: Final = 10
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

Found: TypeAlias = tuple[Place, str]
"""A place and what is wrong there."""


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """A problem in a plan; as text, "scene 'The wreck' > outline: It holds no event. Write ...".

    Attributes:
        path: the place of the problem, for programs.
        where: the place of the problem, for people.
        what: a description of the problem and its remedy.
    """

    path: Place
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def check_plan(plan: Plan) -> tuple[PlanProblem, ...]:
    """The problems of `plan`, at most `MAX_PROBLEMS`; there are none if the plan can be used to write a story.

    The checks are for: no scene or more than 2,000; missing, overlong or duplicate names (compared as file names);
    empty outlines; empty demands or payoffs, or more than 100 of them; unknown characters, elements or scenes; people
    at an event who are not in its scene; an importance outside 1 to 10; invalid times; overlong dates; a time that
    contradicts `after`; circles in story time.
    """
    return tuple(PlanProblem(path, where(plan, path), what) for path, what in islice(_found(plan), MAX_PROBLEMS))


def where(plan: Plan, place: Place) -> str:
    """A place in words: ("scenes", 3, "outline", 0) becomes "scene 'The wreck' > outline 1"."""
    return name_place(place, lambda kind, n: _name_of(plan, kind, n), "plan")


def _name_of(plan: Plan, kind: str, n: int) -> str:
    """The name of a scene or character; demands and payoffs have none."""
    names = [one.name for one in plan.characters] if kind == "characters" else plan.names if kind == "scenes" else ()
    return names[n] if n < len(names) else ""


def _found(plan: Plan) -> Iterator[Found]:
    if not plan.scenes:
        yield ("scenes",), "The plan has no scenes. Write at least one scene with a name and an outline."
    if len(plan.scenes) > MAX_SCENES:
        yield (
            ("scenes",),
            (f"The plan has {len(plan.scenes):,} scenes, but the maximum is {MAX_SCENES:,}. Leave some out."),
        )
        return
    yield from chain(_listed("demands", plan.demands), _listed("payoffs", plan.payoffs))
    yield from _names("characters", plan.characters)
    yield from _names("scenes", plan.scenes)
    cast = dict.fromkeys(character.name for character in plan.characters if character.name)
    scenes = dict.fromkeys(name for name in plan.names if name)
    for index, scene in enumerate(plan.scenes):
        at = ("scenes", index)
        for path, what in chain(_arc(scene), _outline(scene), _present(scene, cast), _after(scene, scenes)):
            yield (*at, *path), what
    yield from _order(plan)


def _listed(kind: str, texts: tuple[str, ...]) -> Iterator[Found]:
    """Problems of the plan's demands or payoffs."""
    if len(texts) > MAX_LISTED:
        yield (kind,), f"The plan has {len(texts):,} {kind}, but the maximum is {MAX_LISTED}. Leave some out."
        return
    for index, text in enumerate(texts):
        if not text.strip():
            yield (kind, index), "This entry is empty. Write a sentence, or remove it."


def _names(kind: str, named: Iterable[ScenePlan | Character]) -> Iterator[Found]:
    """Problems of the names of all scenes or characters."""
    first: dict[str, int] = {}
    for index, one in enumerate(named):
        path = (kind, index, "name")
        if not one_line(one.name):
            yield path, f"This {kind[:-1]} has no name. Add one."
            continue
        if what := _name(one.name):
            yield path, what
        same = first.setdefault(slug(one.name), index)
        if same != index:
            what = f"It has the same name as {kind[:-1]} {same + 1}: file names would be the same ({slug(one.name)!r})."
            yield path, f"{what} Give one of them another name."


def _name(name: str) -> str:
    """What is wrong with a name; empty if nothing is."""
    if len(name) > MAX_NAME:
        return f"The name has {len(name)} characters, but the maximum is {MAX_NAME}. Use a shorter name."
    if len(name.splitlines()) > 1:
        return "The name has line breaks. Write it on one line."
    if name != one_line(name):
        return "The name contains unnecessary spaces. Remove them."
    if "-->" in name:
        return "The name contains '-->', which marks scenes in manuscripts. Remove it."
    return "The name contains a control character. Remove it." if _CONTROLS.search(name) else ""


def _arc(scene: ScenePlan) -> Iterator[Found]:
    """Problems of a scene's element, importance, time and date."""
    if scene.element not in ARC:
        yield ("element",), f"{scene.element!r} is not a part of the arc. {nearest(scene.element, ARC)}"
    if scene.importance not in IMPORTANCE:
        yield ("importance",), f"{scene.importance} is not between 1 and 10. Write a number from 1 (lowest) to 10."
    if scene.time and story_time(scene.time) is None:
        yield ("time",), _no_time(scene.time)
    if len(scene.date) > MAX_DATE:
        what = f"The date has {len(scene.date)} characters, but the maximum is {MAX_DATE}."
        yield ("date",), f"{what} Say in a few words when the scene happens."


def _no_time(text: str) -> str:
    shown = one_line(text)[:_SHOWN]
    return (
        f"{shown!r} is not a story time. Write a number (3, -10, 2.5) or a date (1921-05-03, 1921-05-03 14:30), "
        "or leave it out."
    )


def _outline(scene: ScenePlan) -> Iterator[Found]:
    """Problems of a scene's events."""
    if not scene.outline:
        yield ("outline",), "It contains no events. Describe what happens, with one entry for each event."
    for index, event in enumerate(scene.outline):
        if not event.text.strip():
            yield ("outline", index), "This event is empty. Describe what happens, or remove the event."
        if event.time and story_time(event.time) is None:
            yield ("outline", index, "time"), _no_time(event.time)
        for key, names in (("characters", event.present), ("there", event.there)):
            for number, name in enumerate(names):
                if name not in scene.present:
                    what = f"{name!r} is not in this scene. {nearest(name, scene.present)}"
                    yield ("outline", index, key, number), what


def _present(scene: ScenePlan, cast: Collection[str]) -> Iterator[Found]:
    """Problems of who is in a scene."""
    seen: set[str] = set()
    for index, name in enumerate(scene.present):
        path = ("characters", index)
        if name in seen:
            yield path, f"{name!r} appears twice. Remove one."
        elif name not in cast:
            found = nearest(name, cast)
            advice = "" if found.endswith("?") else f" Correct the name, or add {name} under `characters`."
            yield path, f"{name!r} is none of the plan's characters. {found}{advice}"
        seen.add(name)


def _after(scene: ScenePlan, scenes: Collection[str]) -> Iterator[Found]:
    """Problems of the names of earlier scenes."""
    for index, name in enumerate(scene.after):
        if name not in scenes:
            yield ("after", index), f"{name!r} is none of the plan's scenes. {nearest(name, scenes)}"


def _order(plan: Plan) -> Iterator[Found]:
    """What contradicts itself in the times and `after` of all scenes."""
    facts = plan.facts()
    for index, before in facts.contradictions():
        scene, other = plan.scenes[index], plan.scenes[before]
        path = ("scenes", index, "after", scene.after.index(other.name))
        what = (
            f"The scene cannot happen after {other.name!r}: its time is {scene.time}, that of the other {other.time}."
        )
        yield path, f"{what} Change a time, or remove the name."
    for circle in facts.circles():
        # Time alone makes no circle: some scene of it is said to happen after the one before it.
        steps = list(pairwise((*circle, circle[0])))
        index, before = next((b, a) for a, b in steps if a in facts.earlier[b])
        path = ("scenes", index, "after", plan.scenes[index].after.index(plan.names[before]))
        if len(circle) == 1:
            yield path, "The scene cannot happen after itself. Remove the name."
            continue
        steps_shown = [  # each with how it is known
            f"{plan.names[a]!r} before {plan.names[b]!r} ({'after' if a in facts.earlier[b] else 'time'})"
            for a, b in steps
        ]
        rest = len(steps_shown) - _LISTED
        more = [*steps_shown[:_LISTED], f"and {rest} more steps"] if rest > 0 else steps_shown
        yield path, f"Story time forms a loop: {', '.join(more)}. Remove one of these."
