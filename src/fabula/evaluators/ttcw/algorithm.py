"""Section 3 of the paper: every test put to every story, alone or beside its reference in both orders."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.evaluators.ttcw.asking import Asking, calls_of, results_of
from fabula.evaluators.ttcw.bank import read_bank
from fabula.evaluators.ttcw.scoring import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.asking import Place
    from fabula.evaluators.ttcw.bank import Bank
    from fabula.measure.items import Item
    from fabula.measure.report import Report

MethodName: TypeAlias = Literal["auto", "plain", "reference", "hybrid"]
Orders: TypeAlias = Literal["both", "candidate-first", "reference-first"]
Answer: TypeAlias = Literal["first", "last"]
ORDERS: Final[dict[Orders, tuple[Place, ...]]] = {
    "both": ("candidate-first", "reference-first"),
    "candidate-first": ("candidate-first",),
    "reference-first": ("reference-first",),
}


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        method: "plain" asks yes or no of the story alone (section 4.2), "reference" compares it with a reference
            (section 3.2), "hybrid" asks the originality tests plainly and the others by reference (section 5); "auto"
            is "reference" where every story has a reference, else "plain" (ours).
        analyse: the judge writes an analysis before the label (section 3.3).
        orders: which of the two stories stands first; "both" asks each test twice (section 3.2).
        samples: replies to each prompt; their mean counts (section 3.2 has one).
        temperature: of the judge; the paper names none.
        max_tokens: bounds each reply; the paper names no value.
        answer: where the plain method has its yes or no: the "first" word of the reply, as in the release of the tests,
            or its "last" line, after the analysis.
        conclude: where no verdict can be read in a reply, the judge is asked once more which one it amounts to (ours).
        guard: stories are marked off, and what they say to their critic is called a part of them (ours).
        look: the judge is told what to gather before judging (ours; the published tests have such lines, the
            release's prompt leaves them out).
        tests: a JSON file in the format of the published tests; empty takes our own wording.
        only: tests to be put, by name or dimension, parted by commas; empty puts all (ours).
        resamples: of the bootstrap (ours).
    """

    method: MethodName = "reference"
    analyse: bool = True
    orders: Orders = "both"
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 1024
    answer: Answer = "first"
    conclude: bool = False
    guard: bool = False
    look: bool = False
    tests: str = ""
    only: str = ""
    resamples: int = 1000

    @classmethod
    def faithful(cls) -> Config:
        """The paper: by reference, both orders, analysis first."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: works without a reference too, thinks before any answer, and reads more replies."""
        return replace(cls(), method="auto", answer="last", conclude=True, guard=True, look=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Tests passed by each story, of 14; a test is passed where the order-corrected mean is not below 0.

    Raises:
        UsageError: a setting or the tests' file is wrong, or a story has no reference where the method needs one.
        ModelError: the judge did not answer.
    """
    check(config)
    method = method_for(items, config.method)
    bank = read_bank(config.tests).only(config.only)
    calls = calls_of(items, bank.tests, method, ORDERS[config.orders])
    asking = Asking(run, config, bank.version)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asking.ratings(call)) for call in calls]
    results = results_of([(call, task.result()) for call, task in zip(calls, tasks, strict=True)])
    return report_of(items, bank, results, how(config, method, bank))


def check(config: Config) -> None:
    """Find now what the judging would stumble over.

    Raises:
        UsageError: a number is out of range, or several samples would all be the same.
    """
    for name in ("samples", "max_tokens", "resamples"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name} = {getattr(config, name)} is too few. Give 1 or more.")
    if config.temperature < 0:
        raise UsageError(f"temperature = {config.temperature} is below 0. Give 0 or more.")
    if config.samples > 1 and not config.temperature:
        raise UsageError(
            f"{config.samples} samples at temperature 0 would all be the same. Give --set temperature=1 with them."
        )


def method_for(items: Sequence[Item], method: MethodName) -> MethodName:
    """The method that is meant: "auto" is "reference" where every story has one, else "plain".

    Raises:
        UsageError: the method needs a reference that a story does not have.
    """
    bare = [item.id for item in items if item.reference is None]
    if method == "auto":
        return "plain" if bare else "reference"
    if method != "plain" and bare:
        others = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        raise UsageError(
            f"The {method} method compares a story with a reference, and {bare[0]}{others} has none. Give one with "
            "--reference FILE, or judge it alone with --method plain."
        )
    return method


def how(config: Config, method: MethodName, bank: Bank) -> dict[str, Any]:
    """What a reader must know to repeat it."""
    told = {name: value for name, value in asdict(config).items() if name not in {"tests", "resamples"}}
    return told | {"method": method, "tests": bank.version, "resamples": config.resamples}
