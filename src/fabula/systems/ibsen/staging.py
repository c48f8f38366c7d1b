"""The script to be played: the author's own, or one made from a plan or a brief. Objectives are parted for length."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ReplyError
from fabula.craft.length import parse_range, read_range
from fabula.craft.planning import PlanOptions, plan_for
from fabula.engine.dry_run import STALE
from fabula.models.base import Sampling
from fabula.story import one_line
from fabula.story.personas import Persona
from fabula.systems.ibsen.script import ActorSheet, PlayerSheet, Script, SubAct
from fabula.systems.ibsen.script_file import parse_script, write_script
from fabula.systems.ibsen.shapes import steps_shape

if TYPE_CHECKING:
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Character, Plan, ScenePlan
    from fabula.systems.ibsen.algorithm import Config

STAGE, FOLDER, SUFFIX = "stage", "plan", "yaml"
_STAGES: Final = 6  # stages of an objective that one call names
_MOST_STAGES: Final = 60
_STAGE_TOKENS: Final = 60


async def script_for(run: Run, brief: Brief, config: Config) -> Script:
    """The author's `plan/stage.yaml`, or one made from the author's plan, or from a plan made from the brief.

    What is made is kept, and a person can edit it. Making it from a plan costs nothing.

    Raises:
        PlanError: the author's script or plan has problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    text = await run.given(STAGE, folder=FOLDER, suffix=SUFFIX)
    if text is None:
        plan = await plan_for(run, brief, PlanOptions(scenes=config.scenes, characters=config.characters))

        async def make(own: Run) -> str:
            del own
            return write_script(script_of(plan, scene_goals=config.scene_goals))

        text = await run.keep(STAGE, make, folder=FOLDER, suffix=SUFFIX)
    script = parse_script(text.replace(STALE, ""))
    asked = [name for part in config.players.split(",") if (name := one_line(part))]
    new = tuple(PlayerSheet(name) for name in dict.fromkeys(asked) if name not in script.names)
    script = replace(script, players=(*script.players, *new))
    return script.marked(STALE) if STALE in text else script


def script_of(plan: Plan, *, scene_goals: bool) -> Script:
    """The script of a plan: each scene is an act of one sub-act; its events are objectives, or one all together."""
    actors = tuple(map(_actor, plan.characters))
    following = [scene.name for scene in plan.scenes[1:]] + [""]
    acts = tuple(
        _act(scene, after, plan, scene_goals=scene_goals) for scene, after in zip(plan.scenes, following, strict=True)
    )
    background = " ".join(filter(None, (one_line(plan.setting), one_line(plan.conflict))))
    return Script(acts, actors or (ActorSheet("Somebody"),), (), one_line(plan.title), background)


def _actor(character: Character) -> ActorSheet:
    persona = Persona.of(character)
    parts = (persona.role and f"{persona.role}.", persona.description, *(f"Wants: {goal}" for goal in persona.goals))
    return ActorSheet(persona.name, " ".join(filter(None, parts)))


def _act(scene: ScenePlan, after: str, plan: Plan, *, scene_goals: bool) -> SubAct:
    events = tuple(one_line(event.text) for event in scene.outline)
    everybody = tuple(one_line(character.name) for character in plan.characters) or ("Somebody",)
    return SubAct(
        title=one_line(scene.name),
        place=one_line(scene.place),
        background=one_line(scene.place),
        actors=tuple(map(one_line, scene.present)) or everybody,
        goals=(" ".join(events),) if scene_goals else events,
        next_act=one_line(after),
    )


def wanted(brief: Brief, config: Config) -> WordRange | None:
    """The words of the story, where it is prose and somebody says how many."""
    if not config.prose:
        return None
    return parse_range(config.words) if config.words else read_range(brief.text)


def stages(script: Script, brief: Brief, config: Config) -> int:
    """Into how many stages each objective is parted, so that the play gives enough for the words wanted."""
    want = wanted(brief, config)
    goals = sum(len(act.goals) for act in script.acts)
    if not config.expand_goals or want is None or not goals:
        return 1
    return min(max(ceil(want.target / (goals * config.goal_words)), 1), _MOST_STAGES)


async def parted(act: SubAct, background: str, number: int, run: Run) -> tuple[str, ...]:
    """The sub-act's objectives, each in `number` stages, of which the last is the objective itself.

    Costs 1 call for 6 stages of an objective. What cannot be had leaves the objective with fewer.
    """
    goals: list[str] = []
    for place, goal in enumerate(act.goals, 1):
        steps: list[str] = []
        while len(steps) < number - 1:
            asked = min(_STAGES, number - 1 - len(steps))
            try:
                found = await run.scope("goal", place, "stages", len(steps) + 1).ask_for(
                    steps_shape(asked),
                    "director",
                    "part_goal",
                    sampling=Sampling(max_tokens=_STAGE_TOKENS * (asked + 1)),
                    background=background,
                    act=act,
                    before=tuple(goals[-1:]),
                    steps=tuple(steps),
                    goal=goal,
                    number=asked,
                )
            except ReplyError as error:
                run.note(f"Objective {place} has {len(steps) + 1} stages instead of {number}: {error}")
                break
            steps += [one_line(step) for step in found.steps[:asked]]
        goals += [*steps, goal]
    return tuple(goals)
