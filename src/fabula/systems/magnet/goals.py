"""Algorithm 1, lines 19 to 30: when a goal ends, and the goal that follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError
from fabula.craft.packing import overlap, words
from fabula.models.base import Sampling
from fabula.systems.magnet.shapes import NextGoal

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.systems.magnet.algorithm import Config
    from fabula.systems.magnet.stepping import Play

Status: TypeAlias = Literal["complete", "stalled", "domain_shift", "ending"]
_ALIKE: Final = 0.6  # share of common words, from which on two goals are one
_LATER: Final = 5  # steps until a failed goal generator is asked again
_SHOWN: Final = 20  # prior goals that a prompt is shown, where prompts are bounded
_TOKENS: Final = 500


def due(t: int, k: int, config: Config, *, reached: bool) -> Status | None:
    """Why the goal is replaced after step `t`, or `None`; `k` is the stall count before it (section 3.1).

    A domain shift goes before a stall, and a stall before completion; a goal that is completed at its stall step was
    completed. `stall_rule` "text" replaces a goal in its 15th step, "algorithm" in its 16th, as line 22 has it.
    """
    if config.goal_shifts and t % config.domain_shift_steps == 0:
        return "domain_shift"
    steps = k + 1 if config.stall_rule == "text" else k
    if config.goal_shifts and steps >= config.stall_steps:
        return "complete" if reached else "stalled"
    return "complete" if reached else None


async def follow(play: Play, run: Run, status: Status, *, reached: bool) -> str:
    """Set the goal that follows, and give its transition paragraph; "" and the old goal where none could be had."""
    play.k = 0
    reason = ""
    for attempt in range(2):
        try:
            made = await _asked(play, run.scope("again") if attempt else run, status, reached=reached, reason=reason)
        except ReplyError as error:
            run.note(f"No new goal in step {play.t}: {error}")
            break
        reason = _objection(play, made, status)
        if not reason:
            play.begin_goal(" ".join(made.goal.split()), made.goal_domain, reached=reached)
            return made.transition_paragraph
    else:
        run.note(f"No new goal in step {play.t}: {reason}")
    play.records.counts["goal_failed"] += 1
    play.k = max(play.config.stall_steps - _LATER, 0)
    return ""


async def _asked(play: Play, run: Run, status: Status, *, reached: bool, reason: str) -> NextGoal:
    config = play.config
    prior = play.goals[:-1]
    return await run.ask_for(
        NextGoal,
        "goal-generator",
        "set_goal",
        sampling=Sampling(temperature=config.goals_temperature or None, max_tokens=_TOKENS),
        personas=play.company.personas,
        status=status,
        reached=reached,
        prior=prior[-_SHOWN:] if config.state_max else prior,
        domain=play.domain,
        world=play.shown(),
        story=play.recent(config.recent_goals),
        reason=reason,
        **play.fields(),
    )


def _objection(play: Play, made: NextGoal, status: Status) -> str:
    """What is wrong with a new goal; empty if nothing is."""
    if status == "ending":
        return ""
    for prior in play.goals:
        if overlap(words(made.goal), words(prior)) > _ALIKE:
            return f"it repeats an earlier goal ({prior})."
    if status == "domain_shift" and play.domain and made.goal_domain.casefold() == play.domain.casefold():
        return f"its field is still {play.domain}."
    return ""
