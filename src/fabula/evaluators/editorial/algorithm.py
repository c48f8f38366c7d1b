"""MAGNET, section 3.4: an editor annotates the whole story, five of its scenes and five of its sentences."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.craft.levels import drawn, fractions, levels_in, passages_of
from fabula.evaluators.editorial.asking import Call, Editor
from fabula.evaluators.editorial.scoring import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        levels: which are read, parted by commas (section 3.4: all three).
        passages: how many scenes, and how many sentences (section 3.4: 5).
        cap: comments of one call that are looked at (the paper names none; its release has 100).
        temperature: of the editor (appendix A.1).
        max_tokens: bounds each reply; the paper names no value.
        unique: a comment of the same category on the same words counts once (ours).
        beside: a sentence is shown with its neighbours, which are not commented on (ours).
        guard: what a passage says to its editor is called a part of it (ours).
        seed: which scenes and sentences are drawn.
        resamples: of the bootstrap (ours).
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    cap: int = 100
    temperature: float = 0.1
    max_tokens: int = 4096
    unique: bool = False
    beside: bool = False
    guard: bool = False
    seed: int = 1
    resamples: int = 1000

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: repeated comments count once, fewer and shorter ones, sentences with their neighbours, a guard."""
        return replace(cls(), cap=40, max_tokens=2000, unique=True, beside=True, guard=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Comments on each story, by level and category, whose quotations stand in the text; fewer are better.

    Raises:
        UsageError: a setting is wrong, or a story has no words.
        ModelError: the editor did not answer.
        BudgetError: the cap is reached.
    """
    check(config)
    levels = levels_in(config.levels)
    there = {(item.id, level): passages_of(item.story, level) for item in items for level in levels}
    calls = [
        Call(item, passage)
        for item in items
        for level in levels
        for passage in drawn(there[item.id, level], fractions(level, config.passages, config.seed, item.prompt))
    ]
    editor = Editor(run, config)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(editor.read(call)) for call in calls]
    how = asdict(config) | {"levels": ", ".join(levels), "editor": editor.who}
    return report_of(items, levels, [task.result() for task in tasks], config, how)


def check(config: Config) -> None:
    """Find now what the reading would stumble over.

    Raises:
        UsageError: a number is out of range.
    """
    for name in ("passages", "cap", "max_tokens", "resamples"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name} = {getattr(config, name)} is too few. Give 1 or more.")
    if config.temperature < 0:
        raise UsageError(f"temperature = {config.temperature} is below 0. Give 0 or more.")
