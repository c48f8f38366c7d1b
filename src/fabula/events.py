"""What happens in a run: what `on_event` is called with."""

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
