"""`plan`: the plan of a project, in the order of telling and the order of events."""

from __future__ import annotations

from fabula.app.planning import PlanView, plan_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import verb


@verb("GET", "/plan", "story")
async def plan(project: Workspace) -> PlanView:
    """Return the plan: its scenes in the order of telling, and the order in which they happen.

    Raises:
        ProjectError: there is no plan yet.
        PlanError: the plan has problems; the message lists all of them.
    """
    return PlanView.of(plan_of(project.texts()))
