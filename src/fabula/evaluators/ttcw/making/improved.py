"""Plots as in the paper, and candidates of the requested length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabula.craft.prose import Prose, write_prose
from fabula.evaluators.ttcw.making.algorithm import USUAL_WORDS, made_by

if TYPE_CHECKING:
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.making.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """A plot or a candidate for each item; a candidate that misses its words is continued or shortened.

    Raises:
        UsageError: the number of words is not valid.
        ReplyError: a role gives no usable text.
    """
    return await made_by(candidate_of_length, items, run, config)


async def candidate_of_length(plot: str, run: Run, config: Config, want: WordRange | None) -> str:
    """A story of the requested length for a plot, in one call, or more if it misses the length.

    Raises:
        ModelError: the writer did not answer.
        ReplyError: the writer gives no usable prose.
    """
    prose = Prose(last=True, want=want, labels=("Plot", "Story"), usual=USUAL_WORDS)
    return await write_prose(run, "writer", "candidate", prose, config.max_tokens, before=[plot], fields={"plot": plot})
