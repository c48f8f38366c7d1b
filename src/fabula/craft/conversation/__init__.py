"""Conversations with the characters of a narrative, which survive everything: for terminal, server and experiment.

    lines   who talks, what they do and say, and the cell that they are in
    turns   one turn out of a model, shown while it comes
    talk    what a system must be able to do, and a conversation from turn to turn
    kept    a conversation of moves that is kept in a log

The decisions stand in `docs/design/0009-conversations.md`.
"""

from __future__ import annotations

from fabula.craft.conversation.kept import Conversation, ConversationFiles, conversations_in, open_conversation
from fabula.craft.conversation.lines import Cell, Freedom, Line, Parties, Step, Turn, Where, freedom_of
from fabula.craft.conversation.talk import Talk
from fabula.craft.conversation.turns import Moment

__all__ = [
    "Cell",
    "Conversation",
    "ConversationFiles",
    "Freedom",
    "Line",
    "Moment",
    "Parties",
    "Step",
    "Talk",
    "Turn",
    "Where",
    "conversations_in",
    "freedom_of",
    "open_conversation",
]
