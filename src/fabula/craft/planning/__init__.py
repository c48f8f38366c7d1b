"""Planning: a plan from a brief, from a story, or the author's own.

Systems share it, and its prompts: a prompt that a system does not have is looked for in `fabula.craft.PROMPTS`.
"""

from __future__ import annotations

from fabula.craft.planning.from_brief import PlanOptions, begin_plan, given_codex, given_plan, make_plan, plan_for
from fabula.craft.planning.from_story import plan_from_story
from fabula.craft.planning.shared import ROLE, WHOLE, checked_personas
from fabula.craft.planning.synthesis import synthesised_plan

__all__ = [
    "ROLE",
    "WHOLE",
    "PlanOptions",
    "begin_plan",
    "checked_personas",
    "given_codex",
    "given_plan",
    "make_plan",
    "plan_for",
    "plan_from_story",
    "synthesised_plan",
]
