"""The plan of a project as cards, for pages and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.app.plan_cards import CHAPTERS, LISTED, PLAN, PLOT, PlanCards, PlanPart, plan_cards
from fabula.app.saving import base_of

if TYPE_CHECKING:
    from fabula.app.workspace import Artefact, Workspace


def cards_of(workspace: Workspace) -> tuple[PlanCards, str]:
    """The plan of a project as cards, and the base of the text that they were made from."""
    artefacts = workspace.rows(marks=False)
    names, standing = {one.name for one in artefacts if one.folder == "plan"}, workspace.standing()
    texts = {name: standing[name] for name in (PLAN, CHAPTERS, LISTED, PLOT) if name in names & standing.keys()}
    parts = [PlanPart(one.name, one.words, one.states) for one in artefacts if is_part(one)]
    system = workspace.settings().system
    nothing = f"There is no plan yet. If {system} makes plans, a run begins with the plan."
    cards = plan_cards(texts, parts, nothing)
    if not texts and names and cards.form == "parts":
        cards = plan_cards(dict.fromkeys(names, ""), parts, nothing)
    return cards, base_of(cards.text) if cards.name else ""


def is_part(one: Artefact) -> bool:
    """Whether a text is a part of the story."""
    return one.folder == "story" and one.suffix == "md"
