"""`plan`: the plan of a project, in both orders of time."""

from __future__ import annotations

from fabula.app.planning import PlanView, plan_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import verb


@verb("GET", "/plan", "story")
async def plan(project: Workspace) -> PlanView:
    """The plan, and the order in which its scenes happen; they stand in the order of telling.

    Raises:
        ProjectError: there is none yet.
        PlanError: it has problems; all are named.
    """
    return PlanView.of(plan_of(project.texts()))
