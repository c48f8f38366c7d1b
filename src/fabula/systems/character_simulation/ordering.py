"""Both sortings of section 3.2.2: scenes into the order of time (P_c), and each scene's outline (o_c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.base.errors import PlanError, ReplyError
from fabula.engine.dry_run import STALE
from fabula.systems.character_simulation.shapes import order_shape, outline_shape

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.plan import Plan, Unit
    from fabula.systems.character_simulation.algorithm import Config

_TOKENS_A_NAME = 24
_TOKENS_AN_EVENT = 90


async def story_order(plan: Plan, run: Run, config: Config) -> tuple[str, ...]:
    """Names of all scenes in the order in which they happen (P_c); one call, none where story times settle it.

    Raises:
        PlanError: the author's own order does not fit the plan.
        ReplyError: no order could be read (only without `lenient_order`).
    """
    known = plan.chronology()
    if known is not None:
        return known

    async def make(own: Run) -> str:
        return "\n".join(f"- {name}" for name in await _sorted(plan, own, config))

    text = await run.keep("order", make, folder="plan")
    names = set(plan.names)
    # Names are no prose: in a dry run an order that is asked anew is taken to come out as it was.
    lines = (line.strip() for line in text.replace(STALE, "").splitlines())
    order = tuple(line if line in names else _bare(line) for line in lines if line)
    problem = plan.accepts(order)
    if problem:
        raise PlanError(
            (f"plan/order.md: {problem} `fabula edit order --revert` goes back to the order made for you.",)
        )
    return order


def _bare(line: str) -> str:
    """A line of a list without its bullet or number."""
    head, _, rest = line.partition(" ")
    return rest.strip() if head in {"-", "*"} or (head[:-1].isdigit() and head[-1:] in {".", ")"}) else line


async def _sorted(plan: Plan, run: Run, config: Config) -> tuple[str, ...]:
    names = [scene.name for scene in plan.scenes]
    try:
        found = await run.ask_for(
            order_shape(names, plan.accepts),
            "sorter",
            "sort_scenes",
            sampling=config.sampling(_TOKENS_A_NAME * len(names) + _TOKENS_AN_EVENT),
            scenes=plan.scenes,
            instruction_first=config.instruction_first,
        )
    except ReplyError as error:
        if not config.lenient_order:
            raise
        run.note(f"No order of time could be read; the order of telling stands in. {error}")
        return plan.assumed_chronology()
    return tuple(found.scenes)


async def chronological_outline(unit: Unit, run: Run, config: Config) -> tuple[str, ...]:
    """The unit's events in the order of time, told in the present tense (o_c); one call, no event added.

    Raises:
        ReplyError: no outline could be read (only without `lenient_order`).
    """
    events = [event.text for event in unit.events]
    if not unit.scene.present:
        return tuple(events)  # nobody is there to play it
    try:
        found = await run.ask_for(
            outline_shape(len(events), numbered=config.numbered),
            "sorter",
            "chronological_outline",
            sampling=config.sampling(_TOKENS_AN_EVENT * (len(events) + 1)) if config.numbered else config.sampling(),
            scene=unit.scene,
            events=unit.events,
            numbered=config.numbered,
            instruction_first=config.instruction_first,
        )
    except ReplyError as error:
        if not config.lenient_order:
            raise
        run.note(f"No outline in the order of time could be read; the scene's own stands in. {error}")
        return tuple(events)
    if not config.numbered:
        return tuple(found.points)
    return _each_once(events, [(point.event, point.text) for point in found.points])


def _each_once(events: list[str], points: list[tuple[int, str]]) -> tuple[str, ...]:
    """The points, each event's first one; one without a point comes in its own words, before the events after it."""
    order = list(dict.fromkeys(number for number, _ in points))
    texts = dict(reversed(points))  # reversed, so that an event's first point is kept
    for number in range(1, len(events) + 1):
        if number not in texts:
            after = next((at for at, other in enumerate(order) if other > number), len(order))
            order.insert(after, number)
            texts[number] = events[number - 1]
    return tuple(texts[number] for number in order)
