"""Section 5.3 of SNAP: a judge reads a narrative and a dialogue made from it, and rates the dialogue from 1 to 5."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft.measuring import checked
from fabula.craft.raters import source_of
from fabula.evaluators.snap_ratings.asking import Call, Judge
from fabula.evaluators.snap_ratings.criteria import criteria_in
from fabula.evaluators.snap_ratings.scoring import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report

NO_CHANCES: Final = "The judge tells no probabilities: a number is its one answer, at temperature 0."
Scoring: TypeAlias = Literal["samples", "chances", "reasoned"]


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        criteria: what is rated, parted by commas; empty rates all four. The paper's automatic evaluation leaves
            linearity out, because two models that talk to each other do not digress (section 5.3).
        scoring: "samples" draws replies of one number and takes their mean (section 5.1); "chances" weighs the numbers
            by their probabilities, where the model tells these, as G-Eval does; "reasoned" has a reason written before
            the number (ours).
        samples: replies to each question (section 5.1: 20).
        temperature: of the judge (section 5.1: 1).
        max_tokens: bounds a reply that is a number (section 5.1: 1).
        weigh: beside a reason the number is asked for alone and weighed by probabilities, where the model tells these;
            a small judge writes the same number after any reason (ours).
        reason_tokens: bounds a reply with its reason (ours).
        guard: narrative and dialogue are marked off, and what they say to their judge is called a part of them (ours).
        long_from: a narrative of so many characters is a long one, and means are given for long and short ones too; 0
            gives none. The paper's have 1,239 and 2,710 on average (section 5.3).
        resamples: of the bootstrap (ours).
    """

    criteria: str = "continuity, information appropriateness, non-redundancy"
    scoring: Scoring = "samples"
    samples: int = 20
    temperature: float = 1.0
    max_tokens: int = 1
    weigh: bool = False
    reason_tokens: int = 400
    guard: bool = False
    long_from: int = 2000
    resamples: int = 1000

    @classmethod
    def faithful(cls) -> Config:
        """The paper: three criteria, the mean of twenty numbers."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: linearity too, one reply with its reason, a guard."""
        return replace(cls(), criteria="", scoring="reasoned", samples=1, temperature=0.0, weigh=True, guard=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Ratings from 1 (worst) to 5 of each dialogue, their means by system, and the differences between systems.

    Raises:
        UsageError: a setting is wrong, or a dialogue comes without the narrative that it was made from.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    check(config)
    checked(items)
    criteria = criteria_in(config.criteria)
    judge = Judge(run, config)
    calls = [
        Call(item, criterion, sample)
        for item in items
        for criterion in criteria
        for sample in range(1, judge.samples + 1)
    ]
    for item in items:
        source_of(item)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge.rating(call)) for call in calls]
    ratings = [task.result() for task in tasks]
    how = asdict(config) | {"criteria": ", ".join(criterion.name for criterion in criteria), "judge": judge.who}
    how |= {"numbers": judge.numbers}
    notes = (NO_CHANCES,) if config.scoring == "chances" and not judge.tells else ()
    return report_of(items, criteria, ratings, how, notes)


def check(config: Config) -> None:
    """Find now what the rating would stumble over.

    Raises:
        UsageError: a number is out of range, or several samples would all be the same.
    """
    for name in ("samples", "max_tokens", "reason_tokens", "resamples"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name} = {getattr(config, name)} is too few. Give 1 or more.")
    for name in ("temperature", "long_from"):
        if getattr(config, name) < 0:
            raise UsageError(f"{name} = {getattr(config, name)} is below 0. Give 0 or more.")
    if config.samples > 1 and not config.temperature and config.scoring != "chances":
        raise UsageError(
            f"{config.samples} samples at temperature 0 would all be the same. Give --set temperature=1 with them."
        )
