"""Where a story begins: personas, setting and first goal, by the author, from a plan, or made from the brief (ours)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.craft.length import read_range
from fabula.craft.packing import words
from fabula.craft.planning import WHOLE, PlanOptions, begin_plan, checked_personas, given_plan
from fabula.story import one_line
from fabula.story.personas import Persona, Personas, parse_personas
from fabula.story.sentences import sentences
from fabula.systems.magnet.progress import titled
from fabula.systems.magnet.shapes import FirstGoal, Start
from fabula.systems.magnet.state import LOCATION, key_of_persona, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.magnet.config import Config


async def personas_for(run: Run, brief: Brief, config: Config) -> Personas:
    """The personas and the first goal, kept as `plan/personas.yaml`, which a person can write or edit.

    Made from the author's plan if there is one, else from the brief, which costs 3 calls and at most 1 for each
    character; with `first_goal` 1 more.

    Raises:
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    plan = await given_plan(run)

    async def make(own: Run) -> str:
        own = own.tries(WHOLE)
        if plan is not None:
            return checked_personas(own, await _with_goal(own, brief, Personas.of(plan), config))
        settled, cast = await begin_plan(own, titled(brief), PlanOptions(characters=config.ours.characters))
        people = tuple(map(Persona.of, cast.characters))
        goal = _first_goal(settled.conflict, brief, people)
        made = Personas(goal, people, setting=settled.setting)
        return checked_personas(own, await _with_goal(own, brief, made, config, settled.conflict))

    start = await run.keep_as(parse_personas, "personas", make, folder="plan", suffix="yaml")
    return replace(start, goal=start.goal or (plan.conflict if plan else "") or brief.text)


async def _with_goal(run: Run, brief: Brief, start: Personas, config: Config, conflict: str = "") -> Personas:
    """With `first_goal`: the personas with an end state for their goal, and where the story begins; one call."""
    if not config.ours.first_goal or run.aids("planner"):
        return start
    made = await run.ask_for(
        FirstGoal,
        "planner",
        "first_goal",
        brief=titled(brief).text,
        setting=start.setting,
        conflict=conflict or start.goal,
        personas=start.people,
    )
    found = {name: one for one in made.people for name in named(start.people, [one.name])}
    return replace(
        start,
        goal=one_line(made.goal),
        opening=one_line(made.opening),
        people=tuple(_placed(p, found[p.name]) if p.name in found else p for p in start.people),
        goal_hidden_from=tuple(name for name, one in found.items() if not one.knows_goal),
        public_setting=start.public_setting or made.setting.strip() or one_line(made.opening),
        present=start.present or tuple(name for name, one in found.items() if one.there),
        world_hidden_from=start.world_hidden_from
        or tuple(
            (key_of_persona(p, LOCATION), unaware)
            for p in start.people
            if p.name in found and (unaware := named(start.people, found[p.name].place_unknown_to, p.name))
        ),
    )


def _placed(persona: Persona, start: Start) -> Persona:
    """A persona where the story begins; what it believes wrongly is told apart from what it knows."""
    placed = replace(persona, location=persona.location or start.place)
    apart = bool(start.believes.strip()) and not persona.believes
    return replace(placed, knows=start.knows.strip(), believes=start.believes.strip()) if apart else placed


def _first_goal(conflict: str, brief: Brief, people: Sequence[Persona]) -> str:
    """The conflict if it speaks of one of the people, else what the brief asks but its length."""
    if any(words(persona.name) & words(conflict) for persona in people):
        return conflict
    asked = [sentence for sentence in sentences(brief.text) if read_range(sentence) is None]
    return " ".join(asked) or conflict
