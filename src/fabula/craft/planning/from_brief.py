"""A plan made from a brief by planning agents, or the author's own.

Conflict and setting as in Agents' Room (sections 4.1 and B.2), then characters and scenes with the fields that
Character Simulation gives them (section 3.2.1). Each step is shown all that was planned before it. What happens is
asked scene by scene in free text; names, places, people and the order of time then side by side, as typed replies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.planning.replies import cast_type, count_type, order_type, scene_type
from fabula.craft.planning.shared import CastList, checked, free_name, note, outline, typed
from fabula.engine.methods import settings_of
from fabula.engine.run import side_by_side
from fabula.story.people import same_person
from fabula.story.plan import ARC, Character, Event, Plan, ScenePlan
from fabula.story.plan_file import parse_plan, write_plan
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.planning.replies import SceneReply
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Element

PLAN, FOLDER, SUFFIX = "plan", "plan", "yaml"
WHERE: Final = f"{FOLDER}/{PLAN}.{SUFFIX}"
FEWEST, MOST = 3, 12  # scenes, where the planner decides
_SHORT_OUTLINE: Final = 5  # events of a scene, where a small model plans
_SHORT_PORTRAIT: Final = 2  # sentences about a character, where a small model plans
_EXTRA: Final[tuple[int, ...]] = (1, 1, 3, 0, 1, 3, 4)  # which element gets the sixth scene, the seventh and so on


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is to have.

    Attributes:
        scenes: how many; 0 lets the planner decide, between 3 and 12.
        characters: how many the planner names at most; scenes may bring in more.
    """

    scenes: int = 6
    characters: int = 4

    def __post_init__(self) -> None:
        if self.scenes < 0 or self.characters < 1:
            raise UsageError(
                f"A plan of {self.scenes} scenes and {self.characters} characters cannot be made. Ask for 0 scenes "
                "(the planner decides) or more, and for 1 character or more."
            )

    @classmethod
    def of(cls, config: object) -> PlanOptions:
        """The settings `scenes` and `characters` of a system's `Config`, where it has them."""
        found = {setting.name: setting.value for setting in settings_of(config)}
        return cls(**{name: found[name] for name in ("scenes", "characters") if name in found})


@dataclass(frozen=True)
class PlanSoFar:
    """What a planning agent is shown: everything that was planned before it."""

    brief: str
    conflict: str = ""
    setting: str = ""
    characters: tuple[Character, ...] = ()
    outlines: tuple[tuple[Element, Sequence[str]], ...] = ()


async def given_plan(run: Run) -> Plan | None:
    """The plan that the author wrote or changed; `None` if there is none.

    Raises:
        PlanError: it has problems; all are named.
    """
    text = await run.given(PLAN, folder=FOLDER, suffix=SUFFIX)
    return None if text is None else parse_plan(text, where=WHERE)


async def plan_for(run: Run, brief: Brief, options: PlanOptions) -> Plan:
    """The author's plan, or one made from the brief; kept as the artefact `plan`, which a person can edit.

    Costs 3 calls and 2 for each scene; 1 more where the planner decides how many scenes, 1 where the brief wants them
    told in another order than they happen, and 1 for each character that the cast's reply does not describe. The
    author's plan costs none.

    Raises:
        PlanError: the author's plan has problems; all are named.
        ReplyError: an agent's reply could not be read, or the agents' plan cannot be written from.
    """

    async def make(own: Run) -> str:
        return write_plan(await make_plan(own, brief, options))

    return await run.keep_as(lambda text: parse_plan(text, where=WHERE), PLAN, make, folder=FOLDER, suffix=SUFFIX)


async def make_plan(run: Run, brief: Brief, options: PlanOptions) -> Plan:
    """A plan from the brief, made anew.

    Raises:
        ReplyError: an agent's reply could not be read, or the plan cannot be written from.
    """
    so_far, cast = await begin_plan(run, brief, options)
    number = options.scenes
    if not number:
        reply = await typed(run, count_type(FEWEST, MOST), "plan_count", plan=so_far, low=FEWEST, high=MOST)
        number = min(max(reply.scenes, FEWEST), MOST)
    elements = arc_of(number)
    outlines = await _outlines(run, so_far, elements)
    so_far = replace(so_far, outlines=tuple(zip(elements, outlines, strict=True)))
    times = await _times(run, so_far)
    kind = scene_type([person.name for person in so_far.characters])
    details = await side_by_side(
        typed(run.scope("scene", place), kind, "plan_scene", plan=so_far, number=place)
        for place in range(1, number + 1)
    )
    scenes = _scenes(so_far, details, times, cast)
    return checked(Plan(scenes, tuple(cast.characters), so_far.conflict, so_far.setting, brief.title, brief.text))


async def begin_plan(run: Run, brief: Brief, options: PlanOptions) -> tuple[PlanSoFar, CastList]:
    """Conflict, setting and cast from the brief: what a plan begins with, and all that systems without scenes need.

    Raises:
        ReplyError: an agent's reply could not be read.
    """
    so_far = PlanSoFar(brief.text)
    so_far = replace(so_far, conflict=await note(run, "plan_conflict", plan=so_far))
    so_far = replace(so_far, setting=await note(run, "plan_setting", plan=so_far))
    cast = await _cast(run, so_far, options)
    return replace(so_far, characters=tuple(cast.characters)), cast


async def _cast(run: Run, so_far: PlanSoFar, options: PlanOptions) -> CastList:
    """The characters of the story: all whom the brief names come first, whether the reply lists them or not.

    Whoever stays without a description is described in a call of their own.
    """
    most, named = options.characters, names_in(so_far.brief)
    reply = await typed(run, cast_type(most), "plan_cast", plan=so_far, most=most, named=named)
    cast = CastList()
    cast.add(reply.characters)
    missing = [Character(name) for name in named if cast.find(name) is None]
    known = [person for person in cast.characters if any(same_person(person.name, name) for name in named)]
    others = [person for person in cast.characters if person not in known]
    cast.characters = [*known, *missing, *others][: max(most, len(named))]
    bare = [place for place, person in enumerate(cast.characters) if not person.setup]
    setups = await side_by_side(
        note(
            run.scope("character", place + 1),
            "plan_person",
            short=_SHORT_PORTRAIT,
            plan=so_far,
            name=cast.names[place],
        )
        for place in bare
    )
    for place, setup in zip(bare, setups, strict=True):
        cast.characters[place] = replace(cast.characters[place], setup=setup)
    return cast


async def _outlines(run: Run, so_far: PlanSoFar, elements: Sequence[Element]) -> list[list[str]]:
    """What happens in each scene, one scene after the other, each shown those before it."""
    outlines: list[list[str]] = []
    for number, element in enumerate(elements, 1):
        outlines.append(
            await outline(
                run.scope("scene", number),
                "plan_outline",
                [event for events in outlines for event in events],
                short=_SHORT_OUTLINE,
                plan=replace(so_far, outlines=tuple(zip(elements, outlines, strict=False))),
                number=number,
                scenes=len(elements),
                element=element,
                straight=not wants_other_order(so_far.brief),
                lead=so_far.characters[(number - 1) % len(so_far.characters)].name,
            )
        )
    return outlines


async def _times(run: Run, so_far: PlanSoFar) -> list[str]:
    """Each scene's place in the order in which things happen, from 1; asked for only where the brief wants another one.

    The order of telling stands where the reply does not name every scene once: that is not worth a second call.
    """
    number = len(so_far.outlines)
    straight = list(range(1, number + 1))
    if number == 1 or not wants_other_order(so_far.brief):
        return [str(scene) for scene in straight]
    reply = await typed(run, order_type(number), "plan_order", plan=so_far, number=number)
    order = reply.order if sorted(reply.order) == straight else straight
    return [str(order.index(scene) + 1) for scene in straight]


def _scenes(
    so_far: PlanSoFar, details: Sequence[SceneReply], times: Sequence[str], cast: CastList
) -> tuple[ScenePlan, ...]:
    """The scenes of the plan; names differ, and a scene without one is named by its number."""
    scenes: list[ScenePlan] = []
    for (element, events), detail, time in zip(so_far.outlines, details, times, strict=True):
        scenes.append(
            ScenePlan(
                name=free_name(detail.name or f"Scene {len(scenes) + 1}", [scene.name for scene in scenes]),
                outline=tuple(Event(event) for event in events),
                element=element,
                place=detail.place,
                importance=detail.importance,
                characters=cast.present(detail.characters, detail.newcomers),
                time=time,
            )
        )
    return tuple(scenes)


def arc_of(number: int) -> tuple[Element, ...]:
    """The element of the arc that each of `number` scenes develops: the five in order, rising action most often."""
    if number < len(ARC):
        few = {1: (2,), 2: (0, 2), 3: (0, 2, 4), 4: (0, 1, 2, 4)}
        return tuple(ARC[place] for place in few[max(number, 1)])
    counts = [1] * len(ARC)
    for extra in range(number - len(ARC)):
        counts[_EXTRA[extra % len(_EXTRA)]] += 1
    return tuple(element for element, count in zip(ARC, counts, strict=True) for _ in range(count))


# what a brief says by itself ------------------------------------------------------------------------------------------

_NAME: Final = re.compile(r"(?<![\w'\u2019-])[A-Z][\w\u00c0-\u024f-]+(?: [A-Z][\w\u00c0-\u024f-]+)*")
_CALENDAR: Final = frozenset(
    (
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "christmas", "easter"),
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december"),
    )
)
_PLACED: Final = re.compile(
    r"\b(?:in|at|to|from|near|into|(?:town|city|village|island|river|port|valley|land|house) of) \Z"
)
_OTHER_ORDER: Final = re.compile(
    r"\b(?:flash-?backs?|flash-?forwards?|non-?linear|out of order|(?:told|tell it|run|runs) backwards?|"
    r"in reverse order|looks? back|(?:years?|months?|days?|hours?) earlier)\b",
    re.IGNORECASE,
)


def names_in(brief: str) -> tuple[str, ...]:
    """Names of people in `brief`, in the order in which they come: words with a capital within a sentence.

    Days and months are none, nor is what only ever stands as a place does: "in Varsa", "to Varsa", "the town of Varsa".
    """
    found: dict[str, bool] = {}
    for sentence in sentences(brief):
        for match in _NAME.finditer(sentence):
            name = match.group() if match.start() else match.group().partition(" ")[2]
            if name:
                placed = bool(_PLACED.search(sentence[: match.start()]))
                found[name] = found.get(name, False) or not placed
    people = [name for name, person in found.items() if person and name.casefold() not in _CALENDAR]
    return tuple(name for name in people if not any(set(name.split()) < set(other.split()) for other in people))


def wants_other_order(brief: str) -> bool:
    """Whether the author asks for scenes that are told in another order than they happen."""
    return bool(_OTHER_ORDER.search(brief))
