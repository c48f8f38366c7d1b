"""MAGNET, section 3.4: a judge sees the stories of all systems at once and scores each in every category, 0 to 100."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.craft.levels import fractions, levels_in, passages_of, side_by_side
from fabula.evaluators.rubric.asking import MOST, Group, Judge, groups_of
from fabula.evaluators.rubric.scoring import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        levels: which are scored, parted by commas (section 3.4: all three).
        passages: how many scenes, and how many sentences, of each story (section 3.4: 5).
        orders: in how many orders each set of texts is shown, at most: all there are where that is enough, else seeded
            ones in which every text stands in every place equally often (section 3.4: one random order).
        temperature: of the judge (appendix A.1).
        max_tokens: bounds each reply; the paper names no value.
        guard: what a text says to its judge is called a part of it (ours).
        seed: which scenes and sentences are drawn, and which orders.
        resamples: of the bootstrap (ours).
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    orders: int = 1
    temperature: float = 0.1
    max_tokens: int = 2048
    guard: bool = False
    seed: int = 1
    resamples: int = 1000

    @classmethod
    def faithful(cls) -> Config:
        """The paper: one random order."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: every order of up to three texts, and a guard."""
        return replace(cls(), orders=6, guard=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The mean score of each system, by level and category, and how it depends on the place in which a text is shown.

    Raises:
        UsageError: a setting is wrong, a prompt has too many stories, or a story has no words.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    check(items, config)
    groups: list[Group] = []
    levels = levels_in(config.levels)
    for prompt in dict.fromkeys(item.prompt for item in items):
        mine = [item for item in items if item.prompt == prompt]
        for level in levels:
            at = fractions(level, 1 if level == "story" else config.passages, config.seed, prompt)
            sets = side_by_side([passages_of(item.story, level) for item in mine], at)
            groups += groups_of(mine, sets)
    judge = Judge(run, config)
    calls = [call for group in groups for call in judge.calls(group)]
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(judge.scores(call)) for call in calls]
    how = asdict(config) | {"levels": ", ".join(levels), "judge": judge.who}
    return report_of(items, levels, [task.result() for task in asked], config, how)


def check(items: Sequence[Item], config: Config) -> None:
    """Find now what the judging would stumble over.

    Raises:
        UsageError: a number is out of range, or one prompt has more stories than labels.
    """
    for name in ("passages", "orders", "max_tokens", "resamples"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name} = {getattr(config, name)} is too few. Give 1 or more.")
    if config.temperature < 0:
        raise UsageError(f"temperature = {config.temperature} is below 0. Give 0 or more.")
    for prompt in {item.prompt for item in items}:
        count = sum(item.prompt == prompt for item in items)
        if count > MOST:
            named = f"The prompt {prompt!r} has" if prompt else "There are"
            raise UsageError(
                f"{named} {count} stories, and a judge can be shown {MOST} at once. Give fewer, or compare them in "
                "pairs with `fabula rank`."
            )
