"""A finished plan read once against its brief by the planner, and what that changes in it (ours)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabula.base.errors import NoRoomError, ReplyError
from fabula.craft.planning.replies import CheckReply
from fabula.craft.planning.shared import CastList, free_name, planned_events, typed
from fabula.story.plan import Plan, ScenePlan
from fabula.story.plan_check import check_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fabula.craft.length import WordRange
    from fabula.craft.planning.replies import PersonChange, SceneChange
    from fabula.engine.run import Run
    from fabula.story.plan import Event

_SHEET = ("age", "setup", "goal", "secret", "knows", "truth")
_SCENE = ("name", "time", "date", "place", "element", "importance")


async def against_brief(run: Run, plan: Plan, words: Sequence[WordRange | None], *, fixed: bool) -> Plan:
    """`plan` with what the planner corrects in it after reading it against the brief; each difference is a note.

    Args:
        run: where the call is made.
        plan: a plan that knows its brief.
        words: of each scene, as they were planned.
        fixed: the number of scenes is the author's, so none is added or left out.

    A reply that cannot be read leaves the plan as it is, with a note: it could be written from before.
    """
    try:
        checking = run.optional("the plan was not read against the brief")
        reply = await typed(checking, CheckReply, "plan_check", plan=plan, words=words, fixed=fixed)
    except NoRoomError:
        return plan
    except ReplyError as error:
        run.note(f"The plan was not read against the brief: {error}", "shortfall")
        return plan
    return run.context.unless_made_up(lambda: _corrected(run, plan, reply, fixed=fixed), plan)


def _corrected(run: Run, plan: Plan, reply: CheckReply, *, fixed: bool) -> Plan:
    """The plan as the reply corrects it; as it was where it could not be written from then."""
    for difference in filter(None, reply.differences):
        run.note(f"The plan and the brief: {difference}")
    if not any(reply.differences):
        run.note("The plan was read against the brief; nothing differs.")
        return plan
    corrected = changed(plan, reply, fixed=fixed)
    if problems := check_plan(corrected):
        run.note(f"The plan stays as it was, as what corrects it cannot be written from: {problems[0]}")
        return plan
    return corrected


def changed(plan: Plan, reply: CheckReply, *, fixed: bool) -> Plan:
    """`plan` with the fields that `reply` fills.

    A scene of a number that the plan does not have is new, and `order` may leave scenes out, unless the number of
    scenes is `fixed`.
    """
    cast = CastList([_sheet(person, reply.characters, plan) for person in plan.characters])
    scenes = dict(enumerate(plan.scenes, 1))
    for change in reply.scenes:
        if change.number in scenes or not fixed:
            others = [scene.name for number, scene in scenes.items() if number != change.number]
            old = scenes.get(change.number, ScenePlan(free_name(change.name or f"Scene {change.number}", others), ()))
            scenes[change.number] = _scene(old, change, others, cast)
    order = [number for number in dict.fromkeys(reply.order) if number in scenes]
    if not order or (fixed and len(order) < len(scenes)):
        order = sorted(scenes)
    head = {name: text for name in ("person", "tense", "form") if (text := getattr(reply, name))}
    told = tuple(scenes[number] for number in order)
    payoffs = tuple(filter(None, reply.payoffs)) or plan.payoffs
    return replace(plan, scenes=told, characters=tuple(cast.characters), payoffs=payoffs, **head)


def _sheet(person: Any, changes: Sequence[PersonChange], plan: Plan) -> Any:  # noqa: ANN401 - a character
    names = CastList(list(plan.characters))
    for change in changes:
        at = names.find(change.name)
        if at is not None and names.names[at] == person.name:
            person = replace(person, **{name: text for name in _SHEET if (text := getattr(change, name))})
    return person


def _scene(scene: ScenePlan, change: SceneChange, others: Sequence[str], cast: CastList) -> ScenePlan:
    """A scene with what changes in it."""
    fields = {name: value for name in _SCENE if (value := getattr(change, name))}
    if "name" in fields:
        fields["name"] = free_name(fields["name"], others)
    there = cast.present(change.characters) if change.characters else scene.characters
    here = {one.name for one in there}
    kept = (_among(event, here) for event in scene.outline)
    outline = planned_events(change.events, there, cast) if change.events else tuple(kept)
    return replace(scene, characters=there, outline=outline, **fields)


def _among(event: Event, here: Collection[str]) -> Event:
    """An event without those who are not in its scene."""
    present, there = (tuple(name for name in names if name in here) for names in (event.present, event.there))
    return replace(event, present=present, there=there)
