"""A plan made from a brief by planning agents, or the author's own.

Conflict and setting as in Agents' Room (sections 4.1 and B.2), then characters and scenes with the fields that
Character Simulation gives them (section 3.2.1). Between them the planner says how the story is told: what the brief
demands, in which person, tense and form, and which scene comes when; nothing is read off the brief by a rule. Then each
scene is planned in one reply, what happens and before whom. Each step is shown all that was planned before it. A small
model writes what happens in free text, and the rest later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.length import LEAST_SCENES, WordRange, asked_range
from fabula.craft.personas import characters_of, given_personas, setting_of
from fabula.craft.planning.replies import (
    PlannedSceneReply,
    SceneAsked,
    SceneReply,
    SceneTold,
    TellingReply,
    cast_type,
    scene_type,
    small_telling_type,
    telling_type,
)
from fabula.craft.planning.shared import ROLE, WHOLE, CastList, checked, free_name, note, outline, planned_events, typed
from fabula.engine.run import Run, side_by_side
from fabula.story.codex import Codex, parse_codex, with_codex
from fabula.story.plan import ARC, Element, Event, Plan, ScenePlan
from fabula.story.plan_file import parse_plan, write_plan

if TYPE_CHECKING:
    from fabula.story import Brief
    from fabula.story.personas import Personas


PLAN, FOLDER, SUFFIX = "plan", "plan", "yaml"
WHERE: Final = f"{FOLDER}/{PLAN}.{SUFFIX}"
_SMALL_SCENES, _SMALL_CAST = 12, 4  # at most, where a small model plans
_SHORT_OUTLINE: Final = 5  # events of a scene, where a small model plans
_EXTRA: Final[tuple[int, ...]] = (1, 1, 3, 0, 1, 3, 4)  # which element gets the sixth scene, the seventh and so on


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is to have.

    Attributes:
        scenes: how many; 0 lets the planner decide, or, where a small model plans, the length of the story.
        characters: how many to plan beside those whom the brief names; 0 lets the planner decide.
        words: a word range that stands for the brief's; empty reads it from the brief.
    """

    scenes: int = 6
    characters: int = 0
    words: str = ""

    def __post_init__(self) -> None:
        if self.scenes < 0 or self.characters < 0:
            raise UsageError(
                f"A plan of {self.scenes} scenes and {self.characters} characters cannot be made. Ask for 0 "
                "(the planner decides) or more of each."
            )

    @classmethod
    def of(cls, config: object) -> PlanOptions:
        """The settings of these names of a system's `Config` and its groups, where it has them."""
        places = [config, *(getattr(config, group, None) for group in ("paper", "ours"))]
        return cls(**{one.name: getattr(at, one.name) for one in fields(cls) for at in places if hasattr(at, one.name)})


@dataclass(frozen=True)
class PlanSoFar(Plan):
    """What a planning agent is shown: everything that was planned before it.

    Attributes:
        scenes: those that are planned whole.
        telling: where the planner said what each scene is about.
        outlines: element and events of each scene, for small models.
    """

    scenes: tuple[ScenePlan, ...] = ()
    telling: TellingReply | None = None
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

    Costs 4 calls and 1 for each scene, or 2 for each where a small model plans. The author's plan costs none, and with
    the author's personas no model is called for what they say. To the plan comes what the author's codex says, for
    those who may know it (`with_codex`); the artefact stays without it.

    Raises:
        PlanError: the author's plan, personas or codex have problems; all are named.
        ReplyError: an agent's reply could not be read, or the agents' plan cannot be written from.
    """

    async def make(own: Run) -> str:
        return write_plan(await make_plan(own, brief, options, await given_personas(run)))

    plan = await run.keep(PLAN, make, folder=FOLDER, suffix=SUFFIX, read=lambda text: parse_plan(text, where=WHERE))
    return with_codex(plan, await given_codex(run))


async def given_codex(run: Run) -> Codex:
    """The author's codex; empty without one.

    Raises:
        PlanError: the codex has problems.
    """
    text = await run.given("codex", folder=FOLDER, suffix=SUFFIX)
    return Codex() if text is None else parse_codex(text)


async def make_plan(run: Run, brief: Brief, options: PlanOptions, start: Personas | None = None) -> Plan:
    """A plan from the brief, made again; with the author's personas (`start`) of their people, goal and setting.

    Raises:
        ReplyError: an agent's reply could not be read, or the plan cannot be written from.
    """
    run = run.tries(WHOLE)
    so_far, cast = await begin_plan(run, brief, options, start)
    plan_scenes = _small_scenes if run.room(ROLE).aids else _scenes
    telling, scenes = await plan_scenes(run, so_far, cast, options, asked_range(brief, options.words))
    plan = Plan(
        scenes,
        tuple(cast.characters),
        so_far.conflict,
        so_far.setting,
        brief.title,
        brief.text,
        telling.person,
        telling.tense,
        telling.form,
        tuple(telling.demands),
        tuple(telling.payoffs),
    )
    return checked(run, plan)


async def begin_plan(
    run: Run, brief: Brief, options: PlanOptions, start: Personas | None = None
) -> tuple[PlanSoFar, CastList]:
    """Conflict, setting and cast from the brief: what a plan begins with, and all that systems without scenes need.

    What the author's personas (`start`) say stands as it is: their goal is the conflict, and nobody is added to them.

    Raises:
        ReplyError: an agent's reply could not be read.
    """
    so_far = PlanSoFar(brief=brief.text, title=brief.title)
    conflict, setting = (start.goal, setting_of(start)) if start else ("", "")
    so_far = replace(so_far, conflict=conflict or await note(run, "plan_conflict", plan=so_far))
    so_far = replace(so_far, setting=setting or await note(run, "plan_setting", plan=so_far))
    cast = CastList(list(characters_of(start))) if start else await _cast(run, so_far, options)
    return replace(so_far, characters=tuple(cast.characters)), cast


async def _cast(run: Run, so_far: PlanSoFar, options: PlanOptions) -> CastList:
    """The characters of the story."""
    small = run.room(ROLE).aids
    most = options.characters or (_SMALL_CAST if small else 0)
    kind = cast_type(most or _SMALL_CAST, full=not small)
    reply = await typed(run, kind, "plan_cast_small" if small else "plan_cast", plan=so_far, most=most)
    cast = CastList()
    cast.add(reply.characters, small=small)
    if small:
        cast.characters = cast.characters[:most]
    return cast


async def _scenes(
    run: Run, so_far: PlanSoFar, cast: CastList, options: PlanOptions, words: WordRange | None
) -> tuple[TellingReply, tuple[ScenePlan, ...]]:
    """How the story is told, and its scenes, one after the other, each shown those before it."""
    kind = telling_type(options.scenes)
    reply = await typed(run, kind, "plan_telling", plan=so_far, number=options.scenes, words=words)
    shares = words.shares([scene.importance for scene in reply.scenes]) if words else [None] * len(reply.scenes)
    told = [SceneAsked(**dict(scene), words=share) for scene, share in zip(reply.scenes, shares, strict=True)]
    telling = reply.model_copy(update={"scenes": told})
    scenes: list[ScenePlan] = []
    for number, scene in enumerate(told, 1):
        so_far = replace(so_far, telling=telling, characters=tuple(cast.characters), scenes=tuple(scenes))
        own = run.scope("scene", number)
        kind_ = scene_type(PlannedSceneReply, cast.names)
        planned = await typed(own, kind_, "plan_scene", plan=so_far, number=number)
        scenes.append(_scene(planned, scene, [one.name for one in scenes], cast))
    return telling, tuple(scenes)


def _scene(planned: PlannedSceneReply, told: SceneTold, names: Sequence[str], cast: CastList) -> ScenePlan:
    """A scene as it was planned; its name differs from `names`."""
    there = cast.present(planned.characters, planned.newcomers)
    return ScenePlan(
        name=free_name(planned.name or f"Scene {len(names) + 1}", names),
        outline=planned_events(planned.events, there, cast),
        element=told.element,
        place=planned.place,
        importance=told.importance,
        characters=there,
        time=told.time,
        date=planned.date or told.date,
    )


# where a small model plans --------------------------------------------------------------------------------------------


async def _small_scenes(
    run: Run, so_far: PlanSoFar, cast: CastList, options: PlanOptions, words: WordRange | None
) -> tuple[TellingReply, tuple[ScenePlan, ...]]:
    """How the story is told, and its scenes: what happens one after the other, the rest side by side."""
    number = options.scenes or min(words.usual_scenes if words else LEAST_SCENES, _SMALL_SCENES)
    telling = await _small_telling(run, so_far, number)
    elements = [scene.element for scene in telling.scenes]
    outlines = await _outlines(run, so_far, elements)
    so_far = replace(so_far, outlines=tuple(zip(elements, outlines, strict=True)))
    kind = scene_type(SceneReply, tuple(person.name for person in so_far.characters))
    details = await side_by_side(
        typed(run.scope("scene", place), kind, "plan_scene_small", plan=so_far, number=place)
        for place in range(1, number + 1)
    )
    return telling, _small_plan(so_far, details, [scene.time for scene in telling.scenes], cast)


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
                lead=so_far.characters[(number - 1) % len(so_far.characters)].name,
            )
        )
    return outlines


async def _small_telling(run: Run, so_far: PlanSoFar, number: int) -> TellingReply:
    """Person and tense, and an order of the scenes' numbers; what is none counts as told as it happens."""
    small = await typed(run, small_telling_type(number), "plan_telling_small", plan=so_far, number=number)
    straight = list(range(1, number + 1))
    order = small.order if sorted(small.order) == straight else straight
    times = [str(order.index(scene) + 1) for scene in straight]
    scenes = [
        SceneTold(time=time, element=element, what="") for time, element in zip(times, arc_of(number), strict=True)
    ]
    return TellingReply(scenes=scenes, person=small.person, tense=small.tense)


def _small_plan(
    so_far: PlanSoFar, details: Sequence[SceneReply], times: Sequence[str], cast: CastList
) -> tuple[ScenePlan, ...]:
    """The scenes of the plan; names differ, and a scene without one is named by its number."""
    scenes: list[ScenePlan] = []
    for (element, events), detail, time in zip(so_far.outlines, details, times, strict=True):
        scenes.append(
            ScenePlan(
                name=free_name(detail.name or f"Scene {len(scenes) + 1}", [scene.name for scene in scenes]),
                outline=tuple(map(Event, events)),
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
