"""Linearity (SNAP, section 5), counted: how often a dialogue is back in its story soon after a digression."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.craft.measuring import checked
from fabula.evaluators.linearity.asking import Judge
from fabula.evaluators.linearity.reading import check_marked, digressions_of
from fabula.evaluators.linearity.scoring import TELLERS, Judged, report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.linearity.asking import Teller
    from fabula.evaluators.linearity.reading import Digression
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass(frozen=True, slots=True)
class Config:
    """Settings. The paper has people rate linearity from 1 to 5 and counts nothing, so all of them are ours.

    Attributes:
        within: turns of the characters in which the dialogue has to be back; the answer to the digression is the first.
        judge: a judge is asked of each turn; else it is counted by shared words alone, which asks nobody.
        guard: story and conversation are marked off, and what they say to their judge is called a part of them.
        reach: sentences of the narrative, around where the dialogue was, that a turn is held against.
        checks: digressions after which two trivial tellers are judged too; 0 has none judged.
        max_tokens: bounds a reply of the judge.
        resamples: of the bootstrap.
    """

    within: int = 3
    judge: bool = True
    guard: bool = False
    reach: int = 30
    checks: int = 8
    max_tokens: int = 8
    resamples: int = 1000

    @classmethod
    def faithful(cls) -> Config:
        """The paper's question without a guard."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """With a guard against what the conversation says to its judge."""
        return replace(cls(), guard=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Shares of digressions after which dialogues are back in the story; by kind, by system, between systems.

    Raises:
        UsageError: a setting is wrong, a dialogue comes without its narrative, or no digression is marked anywhere.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    check(config)
    checked(items)
    found = [one for item in items for one in digressions_of(item, config.within, config.reach)]
    check_marked(items, found)
    heard = [one for one in found if one.turns]
    if not config.judge:
        return report_of(items, found, [], asdict(config))
    judge = Judge(run, config)
    step = max(len(heard) // config.checks, 1) if config.checks else len(heard) + 1
    tried = heard[::step][: config.checks]
    async with asyncio.TaskGroup() as group:
        asked: list[tuple[Digression, Teller]] = [(one, "") for one in heard]
        asked += [(one, teller) for teller in TELLERS for one in tried]
        tasks = [group.create_task(judge.ratings(one, teller)) for one, teller in asked]
    judged = [Judged(one, teller, task.result()) for (one, teller), task in zip(asked, tasks, strict=True)]
    return report_of(items, found, judged, asdict(config) | {"judged by": judge.who})


def check(config: Config) -> None:
    """Find now what the counting would stumble over.

    Raises:
        UsageError: a number is too small.
    """
    for name in ("within", "reach", "max_tokens", "resamples"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name} = {getattr(config, name)} is too few. Give 1 or more.")
    if config.checks < 0:
        raise UsageError(f"checks = {config.checks} is below 0. Give 0 or more.")
