"""How many words are asked of a text, and how many more an author wants of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.engine.lines import frame_now
from fabula.story import count_words

if TYPE_CHECKING:
    from fabula.engine.run import Run

_MORE, _LEAST_MORE, _MOST_MORE = 3, 150, 1000


def record_length(run: Run, low: int, high: int) -> None:
    """Record how many words are asked of the text that is written here, also where it is asked for again."""
    place = run.at.partition("/again/")[0]
    run.context.lengths[place] = (low, high)
    if (frame := frame_now()) is not None:
        frame.lengths[place] = (low, high)


def words_to_follow(run: Run, text: str) -> int:
    """About how many words more the author wants after the text of the artefact that is made here.

    Where they named no number, a third of what there is, 150 at least and 1,000 at most.
    """
    decisions = run.context.journal.decisions.find(run.at.partition("/more/")[0])
    named = next((one.target for one in reversed(decisions) if one.kind == "continue"), None)
    return named or min(max(count_words(text) // _MORE, _LEAST_MORE), _MOST_MORE)
