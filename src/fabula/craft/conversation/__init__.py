"""Talking with the characters of a narrative: sessions that survive everything, for terminal, server and experiment.

The decisions stand in `docs/design/0009-chat-sessions.md`.
"""

from __future__ import annotations

from fabula.craft.conversation.session import Session, open_session
from fabula.craft.conversation.store import SessionFiles
from fabula.craft.conversation.talk import (
    Answer,
    Chapter,
    Freedom,
    Line,
    Moment,
    Pace,
    Parties,
    Place,
    Step,
    Talk,
    Turn,
    Where,
)

__all__ = [
    "Answer",
    "Chapter",
    "Freedom",
    "Line",
    "Moment",
    "Pace",
    "Parties",
    "Place",
    "Session",
    "SessionFiles",
    "Step",
    "Talk",
    "Turn",
    "Where",
    "open_session",
]
