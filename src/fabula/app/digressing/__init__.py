"""A simulated player who leaves the story: what is said when, the conversations, and the dialogues that come of them.

    kinds      how one can leave a story, and what a script says then
    schedule   which turn of a conversation is a digression; the same for every system
    playing    the conversations, kept as sessions of projects; killed at any turn, they go on from there
    pages      what came of it as Markdown

The evaluator `linearity` counts how soon the dialogues are back in their story.
"""

from __future__ import annotations

from fabula.app.digressing.kinds import KINDS, kinds_of
from fabula.app.digressing.playing import Conversation, digress_in, dry_run_digressions, parties_of
from fabula.app.digressing.schedule import Schedule, Slot

__all__ = [
    "KINDS",
    "Conversation",
    "Schedule",
    "Slot",
    "digress_in",
    "dry_run_digressions",
    "kinds_of",
    "parties_of",
]
