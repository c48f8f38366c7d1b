"""`plan`, `make_plan`, `reorder`: the plan of a project, in the order of telling and the order of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.plan_cards import plan_cards
from fabula.app.planning import PLAN, MadePlan, PlanView, dry_run_plan_in, plan_in, plan_of, planning_system
from fabula.app.saving import Saved, save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.craft.length import parse_range
from fabula.verbs.base import LONGEST_NAME, ModelName, MostDollars, MostTokens, verb
from fabula.verbs.text import text
from fabula.verbs.write import System, Words  # noqa: TC001 - doors read them


@verb("GET", "/plan", "story")
async def plan(project: Workspace) -> PlanView:
    """Return the plan: its scenes in the order of telling, and the order in which they happen.

    Raises:
        ProjectError: there is no plan yet.
        PlanError: the plan has problems; the message lists all of them.
    """
    return PlanView.of(plan_of(project.texts()))


@verb("POST", "/plan", "runs", long=True)
async def make_plan(
    project: Workspace,
    model: ModelName = "",
    words: Words = "",
    system: System = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> MadePlan:
    """Make only the plan, from the brief or the story that the project began with; `write` continues from the plan.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    if words:
        parse_range(words)
    named = planning_system(project.project(), system or None)
    caps = (budget_tokens, budget_usd)
    at_work = await asking(project, model=model, words=words, system=named, caps=caps)
    check(at_work.settings, project.environ)
    asked = (at_work.project, at_work.settings, at_work.options)
    await at_work.begin(lambda: dry_run_plan_in(*asked))
    await plan_in(*asked)
    at_work.bill.remember(at_work.settings)
    return MadePlan(**at_work.bill.as_data(), found=await plan(project))


@verb("PUT", "/plan/order", "story")
async def reorder(
    project: Workspace,
    scenes: Annotated[
        Sequence[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]],
        Field(
            max_length=1000,
            description="The names of the plan's scenes, each exactly once, in the new order of telling.",
            examples=[["The letter", "The ferry"]],
        ),
    ],
    base: Annotated[
        str, Field(max_length=64, description="The `base` that was returned with the plan.", examples=["9f2c41d07b"])
    ],
) -> Saved:
    """Change the order in which the plan's scenes are told.

    This is an edit of the plan's file, which `undo` can undo.

    Raises:
        UsageError: the names are not the names of the plan's scenes.
    """
    cards = plan_cards({PLAN: (await text(project, PLAN)).text}, ())
    places = {card.title: card.number for card in cards.cards}
    if sorted(scenes) != sorted(places):
        raise UsageError(
            "The list does not contain each scene of the plan exactly once. Read the plan again, and reorder "
            "its scenes."
        )
    with project.changing() as texts:
        return await save(texts, PLAN, cards.ordered([places[name] for name in scenes]), base, project.options)
