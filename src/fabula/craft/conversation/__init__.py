"""Talking with the characters of a narrative: sessions that survive everything, for terminal, server and experiment.

    lines     who talks, what they do and say, and the cell that they are in
    turns     one turn out of a model, shown while it comes
    talk      what a system must be able to do, and a conversation from turn to turn
    session   a conversation of moves that is kept in a log

The decisions stand in `docs/design/0009-chat-sessions.md`.
"""

from __future__ import annotations

from fabula.craft.conversation.lines import Cell, Freedom, Line, Parties, Step, Turn, Where, freedom_of
from fabula.craft.conversation.session import Session, SessionFiles, open_session, sessions_in
from fabula.craft.conversation.talk import Talk
from fabula.craft.conversation.turns import Moment

__all__ = [
    "Cell",
    "Freedom",
    "Line",
    "Moment",
    "Parties",
    "Session",
    "SessionFiles",
    "Step",
    "Talk",
    "Turn",
    "Where",
    "freedom_of",
    "open_session",
    "sessions_in",
]
