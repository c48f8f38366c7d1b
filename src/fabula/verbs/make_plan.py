"""`make_plan`: make a project's plan from its brief or its story."""

from __future__ import annotations

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.planning import MadePlan, dry_run_plan_in, plan_in, planning_system
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.craft.length import parse_range
from fabula.verbs.base import ModelName, MostDollars, MostTokens, verb
from fabula.verbs.plan import plan
from fabula.verbs.write import System, Words  # noqa: TC001 - doors read them


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
