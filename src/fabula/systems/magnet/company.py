"""Who plays: the author's personas, those of a plan, or some that are made from the brief."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.craft.length import read_range
from fabula.craft.packing import words
from fabula.craft.planning import PlanOptions, given_plan, settle
from fabula.engine.dry_run import STALE
from fabula.story.personas import Company, Persona, parse_company, write_company
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.magnet.algorithm import Config

PERSONAS: Final = "personas"


async def company_for(run: Run, brief: Brief, config: Config) -> Company:
    """The personas and the first goal, kept as `plan/personas.yaml`, which a person can write or edit.

    Made from the author's plan if there is one, else from the brief, which costs 3 calls and at most 1 for each
    character.

    Raises:
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    plan = await given_plan(run)

    async def make(own: Run) -> str:
        if plan is not None:
            return write_company(Company.of(plan))
        wish = PlanOptions(characters=config.characters)
        settled, people = await settle(own, brief, wish)
        personas = tuple(map(Persona.of, people.characters))
        return write_company(Company(_goal(settled.conflict, brief, personas), personas))

    text = await run.keep(PERSONAS, make, folder="plan", suffix="yaml")
    company = parse_company(text.replace(STALE, ""))
    goal = company.goal or (plan.conflict if plan else "") or brief.text
    return replace(company, goal=goal + STALE if STALE in text else goal)


def _goal(conflict: str, brief: Brief, personas: tuple[Persona, ...]) -> str:
    """The first goal: the conflict if it speaks of somebody who plays, else what the brief asks but its length."""
    if any(words(persona.name) & words(conflict) for persona in personas):
        return conflict
    asked = [sentence for sentence in sentences(brief.text) if read_range(sentence) is None]
    return " ".join(asked) or conflict
