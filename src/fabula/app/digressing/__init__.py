"""A simulated player who leaves the story: the schedule, the conversations, and the resulting dialogues.

    schedule   the ways to leave a story, what a script says, and in which turn; the same for every system
    playing    the conversations, kept as conversations of projects; after a kill, they continue from the same turn

The evaluator `linearity` counts how soon the dialogues return to their story.
"""

from __future__ import annotations

from fabula.app.digressing.playing import (
    KINDS,
    DigressionSchedule,
    Simulation,
    Slot,
    digress_in,
    dry_run_digressions,
    kinds_of,
)

__all__ = [
    "KINDS",
    "DigressionSchedule",
    "Simulation",
    "Slot",
    "digress_in",
    "dry_run_digressions",
    "kinds_of",
]
