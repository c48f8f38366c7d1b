"""`plan`: the plan of a project, in both orders of time."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - doors read it
from dataclasses import dataclass
from typing import Any

from fabula.app.planning import order_of_time, plan_of
from fabula.app.saving import base_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.html import Html, figure
from fabula.story.plan import Plan  # noqa: TC001 - doors read it
from fabula.story.timeline import timeline_data, timeline_svg
from fabula.verbs.base import verb


@dataclass(frozen=True, slots=True)
class PlanView:
    """The plan of a project.

    Attributes:
        plan: its scenes and characters.
        order: names of the scenes, in the order in which they happen.
        order_from: "project", "plan" or "assumed".
        base: names its text; see the verb `edit`.
        changed: its file was changed, and that is not taken over yet.
        timeline: both orders of time as data.
    """

    plan: Plan
    order: tuple[str, ...]
    order_from: str
    base: str
    changed: bool
    timeline: Mapping[str, Any]

    def _repr_html_(self) -> Html:
        return figure(timeline_svg(self.plan, self.order))


@verb("GET", "/plan", "story")
async def plan(project: Workspace) -> PlanView:
    """The plan, and the order in which its scenes happen; they stand in the order of telling.

    Raises:
        ProjectError: there is none yet.
        PlanError: it has problems; all are named.
    """
    found = plan_of(project.texts())
    order, source, _ = order_of_time(found.plan, found.said)
    data = timeline_data(found.plan, order)
    return PlanView(found.plan, tuple(order), source, base_of(found.text), found.changed, data)
