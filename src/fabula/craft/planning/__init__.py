"""Planning: a plan from a brief, from a story, or the author's own.

Three systems share it, and its prompts: a prompt that a system does not have is looked for in `PROMPTS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fabula.craft.planning.assembling import ROLE
from fabula.craft.planning.from_brief import PlanOptions, given_plan, make_plan, plan_for, settle
from fabula.craft.planning.from_story import Reading, plan_from_story

__all__ = [
    "PROMPTS",
    "ROLE",
    "PlanOptions",
    "Reading",
    "given_plan",
    "make_plan",
    "plan_for",
    "plan_from_story",
    "settle",
]

PROMPTS: Final = Path(__file__).parent.parent / "prompts"
