"""Which sub-plan a conversation serves, judged from its words; no model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.memory import tf_idf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.talk import Pace, Step

_ENOUGH: Final = 0.1  # likeness to the next sub-plan below which nothing is said about it


def after(steps: Sequence[Step], step: int, stayed: int, said: str, pace: Pace) -> tuple[int, int, bool]:
    """Where the plan stands after a turn.

    It goes on to the next sub-plan when the words of the turn are nearer to that one than to this one, and when this
    one has had its turns. It never goes further than one, and never back.

    Args:
        steps: the plan.
        step: number of the sub-plan that the turn served.
        stayed: turns that this sub-plan had before.
        said: the turn's words.
        pace: least and most turns.

    Returns:
        The sub-plan of the next turn, the turns it has had, and whether the plan is done: its last sub-plan has had
        its turns.
    """
    stayed += 1
    stalled = bool(pace.most) and stayed >= pace.most
    if step >= len(steps):
        return step, stayed, stalled
    goes_on = stalled or (stayed >= pace.least and _nearer(said, steps[step - 1].text, steps[step].text))
    return (step + 1, 0, False) if goes_on else (step, stayed, False)


def _nearer(said: str, here: str, there: str) -> bool:
    """Whether `said` is about `there` rather than about `here`."""
    now, then = tf_idf(said, [here, there])
    return bool(then >= _ENOUGH and then > now)
