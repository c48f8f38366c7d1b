"""The events of a run that `on_event` receives."""

from fabula.engine.events import (
    AnswersAwaited,
    CallFinished,
    CallLost,
    CallRetried,
    CallStarted,
    Event,
    Kept,
    Listener,
    Noted,
    Removed,
    Repaired,
    RunFinished,
    RunStarted,
    TextArrived,
)

__all__ = [
    "AnswersAwaited",
    "CallFinished",
    "CallLost",
    "CallRetried",
    "CallStarted",
    "Event",
    "Kept",
    "Listener",
    "Noted",
    "Removed",
    "Repaired",
    "RunFinished",
    "RunStarted",
    "TextArrived",
]
