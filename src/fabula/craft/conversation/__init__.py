"""Conversations with the characters of a narrative, which survive everything: for terminal, server and experiment.

    lines   who talks, what they do and say, and the cell that they are in
    turns   one turn out of a model, shown while it comes
    talk    what a system must be able to do, and a conversation from turn to turn
    log     what is kept of a conversation, and what changes it without asking anybody
    kept    a conversation from move to move

The decisions stand in `docs/design/0009-conversations.md`.
"""

from __future__ import annotations

from fabula.craft.conversation.kept import Conversation, MoveKind, open_conversation
from fabula.craft.conversation.lines import Cell, Freedom, Parties, SpokenLine, SubPlan, Turn, Where, freedom_of
from fabula.craft.conversation.log import Log, conversations_in, log_file
from fabula.craft.conversation.talk import Talk
from fabula.craft.conversation.turns import TurnKnowledge

__all__ = [
    "Cell",
    "Conversation",
    "Freedom",
    "Log",
    "MoveKind",
    "Parties",
    "SpokenLine",
    "SubPlan",
    "Talk",
    "Turn",
    "TurnKnowledge",
    "Where",
    "conversations_in",
    "freedom_of",
    "log_file",
    "open_conversation",
]
