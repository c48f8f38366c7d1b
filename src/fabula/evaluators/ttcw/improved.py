"""The tests as fabula would ask them: also without a reference, and with reasoning before each answer.

Prompts say what to gather before judging, and that a story's words to its critic are part of the story. Calls,
outcomes and scores are those of the paper (`algorithm.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.craft.raters import NO_ANSWER
from fabula.engine.methods import values_of
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.ttcw.algorithm import ROLE, TestCall, answered, calls_of, check, read, scored
from fabula.evaluators.ttcw.bank import read_bank
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from fabula.evaluators.ttcw.config import Config, Paper
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report


_SHORT_REPLY: Final = 1024  # tokens of a small judge's reply


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The number of tests, of 14, that each story passes: by reference if every story has one, else plainly.

    Raises:
        UsageError: a setting or the tests' file is wrong, or a story lacks the reference that the method needs.
        ModelError: the judge did not answer.
    """
    check(items, config)
    paper = config.paper
    if paper.method == "auto":
        paper = replace(paper, method="reference" if all(item.reference for item in items) else "plain")
    bank = read_bank(paper.tests).only(paper.only)
    calls = calls_of(items, bank.tests, paper.method)
    answers = await side_by_side(ask(call, run, paper, bank.version) for call in calls)
    how = values_of(config) | {"method": paper.method}
    return scored(items, bank, dict(zip(calls, answers, strict=True)), how)


async def ask(call: TestCall, run: Run, paper: Paper, rubric: str) -> Rating:
    """The answer at the end of the reply to one call, or the reason why it cannot be read.

    No line of a story can be mistaken for its closing line.

    Raises:
        ModelError: the judge did not answer.
    """
    at = call.at(run)
    limit = paper.max_tokens or run.room(ROLE).reply_tokens(short=_SHORT_REPLY)
    fields = {name: text.replace("===", "= = =") for name, text in call.fields.items()}
    try:
        reply = await at.reply(
            ROLE,
            call.prompt,
            sampling=Sampling(temperature=paper.temperature, max_tokens=limit),
            analyse=paper.analyse,
            look=call.test.look,
            **fields,
        )
    except NO_ANSWER as error:
        return answered(call, at, rubric, why_not=str(error))
    return read(call, reply, at, rubric, "end")
