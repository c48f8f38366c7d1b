"""A simulated player who leaves the story: what is said when, the conversations, and the dialogues that come of them.

    schedule   how one can leave a story, what a script says then, and in which turn; the same for every system
    playing    the conversations, kept as conversations of projects; killed at any turn, they go on from there

The evaluator `linearity` counts how soon the dialogues are back in their story.
"""

from __future__ import annotations

from fabula.app.digressing.playing import Simulation, digress_in, dry_run_digressions
from fabula.app.digressing.schedule import KINDS, DigressionSchedule, Slot, kinds_of

__all__ = [
    "KINDS",
    "DigressionSchedule",
    "Simulation",
    "Slot",
    "digress_in",
    "dry_run_digressions",
    "kinds_of",
]
