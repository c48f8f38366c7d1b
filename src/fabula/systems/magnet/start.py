"""Where a story begins: personas, setting and first goal, by the author, from a plan, or made from the brief."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.craft.length import read_range
from fabula.craft.packing import words
from fabula.craft.planning import WHOLE, PlanOptions, begin_plan, checked_personas, given_plan
from fabula.story.personas import Persona, Personas, parse_personas
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief


async def personas_for(run: Run, brief: Brief, *, goal_hidden: bool = False) -> Personas:
    """The personas and the first goal, kept as `plan/personas.yaml`, which a person can write or edit.

    Made from the author's plan if there is one, else from the brief, which costs 3 calls and at most 1 for each
    character. With `goal_hidden` a goal that is a plan's conflict, which may tell secrets, is hidden from all
    characters.

    Raises:
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    plan = await given_plan(run)

    async def make(own: Run) -> str:
        own = own.tries(WHOLE)
        if plan is not None:
            made = Personas.of(plan)
        else:
            settled, cast = await begin_plan(own, replace(brief, text=brief.titled), PlanOptions())
            people = tuple(map(Persona.of, cast.characters))
            made = Personas(_first_goal(settled.conflict, brief, people), people, setting=settled.setting)
        return checked_personas(own, replace(made, goal_hidden_from=made.names) if goal_hidden else made)

    start = await run.keep("personas", make, folder="plan", suffix="yaml", read=parse_personas)
    return replace(start, goal=start.goal or (plan.conflict if plan else "") or brief.text)


def _first_goal(conflict: str, brief: Brief, people: Sequence[Persona]) -> str:
    """The conflict if it speaks of one of the people, else what the brief asks but its length."""
    if any(words(persona.name) & words(conflict) for persona in people):
        return conflict
    asked = [sentence for sentence in sentences(brief.text) if read_range(sentence) is None]
    return " ".join(asked) or conflict
