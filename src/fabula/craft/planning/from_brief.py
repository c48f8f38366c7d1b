"""A plan made from a brief by planning agents, or the author's own.

Conflict and setting as in Agents' Room (sections 4.1 and B.2), then characters and scenes with the fields that
Character Simulation gives them (section 3.2.1). Each step is told all that is settled before it. What happens is asked
scene by scene in free text; names, places, people and the order of time then side by side, as forms.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.planning.assembling import (
    NOTE_SENTENCES,
    ROLE,
    People,
    arc_of,
    checked,
    note,
    outline,
    unique,
)
from fabula.craft.planning.naming import names_in, wants_other_order
from fabula.craft.planning.shapes import cast_shape, count_shape, order_shape, scene_shape
from fabula.engine.dry_run import STALE
from fabula.engine.staleness import side_by_side
from fabula.models.base import Sampling
from fabula.story.people import same_person
from fabula.story.plan import Character, Event, Plan, ScenePlan
from fabula.story.plan_file import parse_plan, write_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.planning.shapes import SceneReply
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Element

PLAN, FOLDER, SUFFIX = "plan", "plan", "yaml"
WHERE: Final = f"{FOLDER}/{PLAN}.{SUFFIX}"
FEWEST, MOST = 3, 12  # scenes, where the planner decides
MOST_EVENTS: Final = 5
_PERSON_SENTENCES: Final = 2


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is to have.

    Attributes:
        scenes: how many; 0 lets the planner decide, between 3 and 12.
        characters: how many the planner names at most; scenes may bring in more.
        max_tokens: bounds each reply.
    """

    scenes: int = 6
    characters: int = 4
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.scenes < 0 or self.characters < 1 or self.max_tokens < 1:
            raise UsageError(
                f"A plan of {self.scenes} scenes and {self.characters} characters, in replies of {self.max_tokens} "
                "tokens, cannot be made. Ask for 0 scenes (the planner decides) or more, and for 1 character or more."
            )

    @classmethod
    def of(cls, config: object) -> PlanOptions:
        """The wish in a system's `Config`: its fields `scenes`, `characters` and `plan_tokens`, where it has them."""
        known = {field.name: field.name for field in fields(cls)} | {"max_tokens": "plan_tokens"}
        found = {name: getattr(config, there, None) for name, there in known.items()}
        return cls(**{name: value for name, value in found.items() if isinstance(value, int)})


@dataclass(frozen=True)
class Settled:
    """What a planning agent is told: everything that was settled before it."""

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
    return None if text is None else _read(text)


async def plan_for(run: Run, brief: Brief, wish: PlanOptions) -> Plan:
    """The author's plan, or one made from the brief; kept as the artefact `plan`, which a person can edit.

    Costs 3 calls and 2 for each scene; 1 more where the planner decides how many scenes, 1 where the brief wants them
    told in another order than they happen, and 1 for each character that the cast's reply does not describe. The
    author's plan costs none.

    Raises:
        PlanError: the author's plan has problems; all are named.
        ReplyError: an agent's reply could not be read, or the agents' plan cannot be written from.
    """

    async def make(own: Run) -> str:
        return write_plan(await make_plan(own, brief, wish))

    return _read(await run.keep(PLAN, make, folder=FOLDER, suffix=SUFFIX))


def _read(text: str) -> Plan:
    """The plan in a text; the stale mark of a dry run is taken off the text and set where prompts will show it."""
    plan = parse_plan(text.replace(STALE, ""), where=WHERE)
    return _stale(plan) if STALE in text else plan


def _stale(plan: Plan) -> Plan:
    scenes = tuple(
        replace(scene, outline=tuple(replace(event, text=event.text + STALE) for event in scene.outline))
        for scene in plan.scenes
    )
    characters = tuple(replace(person, setup=person.setup + STALE) for person in plan.characters)
    return replace(plan, conflict=plan.conflict + STALE, scenes=scenes, characters=characters)


async def make_plan(run: Run, brief: Brief, wish: PlanOptions) -> Plan:
    """A plan from the brief, made anew.

    Raises:
        ReplyError: an agent's reply could not be read, or the plan cannot be written from.
    """
    asked = Sampling(max_tokens=wish.max_tokens)
    settled, people = await settle(run, brief, wish)
    number = wish.scenes
    if not number:
        count = count_shape(FEWEST, MOST)
        reply = await run.ask_for(count, ROLE, "plan_count", sampling=asked, settled=settled, low=FEWEST, high=MOST)
        number = min(max(reply.scenes, FEWEST), MOST)
    elements = arc_of(number)
    outlines = await _outlines(run, settled, elements)
    settled = replace(settled, outlines=tuple(zip(elements, outlines, strict=True)))
    times = await _times(run, settled, asked)
    details = await side_by_side(
        _detail(run.scope("scene", place), settled, place, asked) for place in range(1, number + 1)
    )
    scenes = _scenes(settled, details, times, people)
    return checked(Plan(scenes, tuple(people.characters), settled.conflict, settled.setting, brief.title, brief.text))


async def settle(run: Run, brief: Brief, wish: PlanOptions) -> tuple[Settled, People]:
    """Conflict, setting and people from the brief: what a plan begins with, and all that systems without scenes need.

    Raises:
        ReplyError: an agent's reply could not be read.
    """
    settled = Settled(brief.text)
    settled = replace(settled, conflict=await note(run, "plan_conflict", NOTE_SENTENCES, settled=settled))
    settled = replace(settled, setting=await note(run, "plan_setting", NOTE_SENTENCES, settled=settled))
    people = await _cast(run, settled, wish)
    return replace(settled, characters=tuple(people.characters)), people


async def _cast(run: Run, settled: Settled, wish: PlanOptions) -> People:
    """The people of the story: everybody whom the brief names comes first, whether the reply lists them or not.

    Whoever stays without a description is described in a call of their own.
    """
    named = names_in(settled.brief)
    reply = await run.ask_for(
        cast_shape(wish.characters),
        ROLE,
        "plan_cast",
        sampling=Sampling(max_tokens=wish.max_tokens),
        settled=settled,
        most=wish.characters,
        named=named,
    )
    people = People()
    people.check_cast(reply.characters)
    missing = [Character(name) for name in named if not people.knows(name)]
    known = [person for person in people.characters if any(same_person(person.name, name) for name in named)]
    others = [person for person in people.characters if person not in known]
    people.characters = [*known, *missing, *others][: max(wish.characters, len(named))]
    bare = [place for place, person in enumerate(people.characters) if not person.setup]
    setups = await side_by_side(
        note(
            run.scope("character", place + 1),
            "plan_person",
            _PERSON_SENTENCES,
            settled=settled,
            name=people.names[place],
        )
        for place in bare
    )
    for place, setup in zip(bare, setups, strict=True):
        people.characters[place] = replace(people.characters[place], setup=setup)
    return people


async def _outlines(run: Run, settled: Settled, elements: Sequence[Element]) -> list[list[str]]:
    """What happens in each scene, one scene after the other, each told those before it."""
    told: list[list[str]] = []
    for number, element in enumerate(elements, 1):
        before = replace(settled, outlines=tuple(zip(elements, told, strict=False)))
        events = await outline(
            run.scope("scene", number),
            "plan_outline",
            [event for events in told for event in events],
            MOST_EVENTS,
            settled=before,
            number=number,
            scenes=len(elements),
            element=element,
            straight=not wants_other_order(settled.brief),
            lead=settled.characters[(number - 1) % len(settled.characters)].name,
        )
        told.append(events)
    return told


async def _detail(run: Run, settled: Settled, number: int, asked: Sampling) -> SceneReply:
    """Name, place, people and importance of scene `number`."""
    shape = scene_shape([person.name for person in settled.characters])
    return await run.ask_for(shape, ROLE, "plan_scene", sampling=asked, settled=settled, number=number)


async def _times(run: Run, settled: Settled, asked: Sampling) -> list[str]:
    """Each scene's place in the order in which things happen, from 1; asked for only where the brief wants another one.

    The order of telling stands where the reply does not name every scene once: that is not worth a second call.
    """
    number = len(settled.outlines)
    straight = list(range(1, number + 1))
    if number == 1 or not wants_other_order(settled.brief):
        return [str(scene) for scene in straight]
    reply = await run.ask_for(order_shape(number), ROLE, "plan_order", sampling=asked, settled=settled, number=number)
    order = reply.order if sorted(reply.order) == straight else straight
    return [str(order.index(scene) + 1) for scene in straight]


def _scenes(
    settled: Settled, details: Sequence[SceneReply], times: Sequence[str], people: People
) -> tuple[ScenePlan, ...]:
    """The scenes of the plan; names differ, and a scene without one is named by its number."""
    scenes: list[ScenePlan] = []
    for (element, events), detail, time in zip(settled.outlines, details, times, strict=True):
        scenes.append(
            ScenePlan(
                name=unique(detail.name or f"Scene {len(scenes) + 1}", [scene.name for scene in scenes]),
                outline=tuple(Event(event) for event in events),
                element=element,
                place=detail.place,
                importance=detail.importance,
                characters=people.present(detail.characters, detail.newcomers),
                time=time,
            )
        )
    return tuple(scenes)
