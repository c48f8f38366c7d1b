"""Every rule that goes for a system, an evaluator or a provider, tried on one.

The rules for providers are tried with a few short questions that are really asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from fabula.base.errors import UnknownNameError
from fabula.engine.folders import is_path
from fabula.evaluators import CATALOGUE as EVALUATORS
from fabula.evaluators import Evaluator
from fabula.models.base import Message, Model, Request, Sampling
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable
from fabula.systems import CATALOGUE as SYSTEMS
from fabula.systems import System
from fabula.testing.cases import cases_of, measurements_of
from fabula.testing.rules import (
    ASKING_RULES,
    EVALUATOR_PROMPTS,
    EVALUATOR_RULES,
    FOLDER_RULES,
    ODD_REPLIES,
    SETTINGS,
    SYSTEM_PROMPTS,
    SYSTEM_RULES,
    Rule,
    expect,
)

_QUESTION: Final = Request(
    (Message("system", "You answer in one sentence."), Message("user", "Say what a lighthouse is for.")),
    Sampling(max_tokens=60, seed=1),
    role="writer",
    path="story",
)


@asynccontextmanager
async def _opened(name: str) -> AsyncIterator[Model]:
    """The model, closed at the end."""
    model = open_model(name, ModelTable(tries=1), Environment(os.environ))
    try:
        yield model
    finally:
        await model.close()


async def says_who_it_is(name: str) -> None:
    """It has a name, an identity that is the same each time, and capabilities."""
    async with _opened(name) as first, _opened(name) as second:
        expect(first.name and first.identity, f"{name} has no `name` or no `identity`.")
        expect(first.identity == second.identity, f"{name} is {first.identity!r} once and {second.identity!r} then.")
        able = first.capabilities
        expect(getattr(able, "parallel", 0) > 0, f"{name} has no `Capabilities`, or takes no call.")


async def answers(name: str) -> None:
    """It answers with a text, whose tokens are no less than none."""
    async with _opened(name) as model:
        reply = await model.ask(_QUESTION)
    expect(str(reply.text or "").strip(), f"{name} answered with no text.")
    expect(reply.finish in {"stop", "length", "refusal"}, f"{name} ended with {reply.finish!r}, which is no `finish`.")
    expect(reply.usage.prompt >= 0 and reply.usage.reply >= 0, f"{name} counts fewer tokens than none.")


async def streams_its_text(name: str) -> None:
    """What it says piece by piece is what it has said."""
    heard: list[str] = []
    async with _opened(name) as model:
        reply = await model.ask(_QUESTION, heard.append)
    said = "".join(heard)
    expect(said == reply.text, f"{name} gave {said[:80]!r} piece by piece, and {reply.text[:80]!r} as its reply.")


async def answers_side_by_side(name: str) -> None:
    """Two questions at once are both answered."""
    async with _opened(name) as model, asyncio.TaskGroup() as group:
        both = [group.create_task(model.ask(_QUESTION)) for _ in range(2)]
    expect(all(one.result().text.strip() for one in both), f"{name} answered one of two questions with no text.")


async def closes_twice(name: str) -> None:
    """It may be closed twice."""
    async with _opened(name) as model:
        await model.close()


PROVIDER_RULES: Final = (
    Rule("says who it is", "`identity` is a part of what is recorded: let it change with the weights.", says_who_it_is),
    Rule("answers with a text", "Give a Reply; raise a ModelError where there is none.", answers),
    Rule("streams what it says", "Hand each piece to `on_text`, or the whole at the end.", streams_its_text),
    Rule("answers two questions at once", "Say `parallel=1` in its Capabilities if it cannot.", answers_side_by_side),
    Rule("may be closed twice", "Let `close` do nothing the second time.", closes_twice),
)


_SYSTEM_RULES: Final[tuple[Rule[Any], ...]] = SYSTEM_RULES


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What came of a rule.

    Attributes:
        rule: what must be so.
        broken: why it is not; empty where the rule holds.
        advice: where to look then.
    """

    rule: str
    broken: str = ""
    advice: str = ""


async def check(name: str) -> AsyncIterator[RuleOutcome]:
    """What comes of each rule for a system or an evaluator, by name or by the path of its folder, or for a model.

    A rule that one case breaks is not tried on more cases. Where there is no case or no function to be called, nothing
    is run.

    Raises:
        UnknownNameError: there is nothing of that name.
        PluginError: there is no `paper.toml` in the folder that can be read.
    """
    if ":" in name and not is_path(name):
        for rule in PROVIDER_RULES:
            yield await _tried(rule, [name])
        return
    method = method_of(name)
    runs = True
    for folder_rule in FOLDER_RULES:
        outcome = await _tried(folder_rule, [method])
        runs = runs and not (folder_rule.needed and outcome.broken)
        yield outcome
    for method_rule, subjects in _of_method(method) if runs else ():
        yield await _tried(method_rule, subjects)


def method_of(name: str) -> System | Evaluator:
    """The system or evaluator of that name, or in that folder: it is an evaluator whose algorithm evaluates.

    Raises:
        UnknownNameError: there is none of that name.
        PluginError: it is broken.
    """
    if is_path(name):
        system = SYSTEMS.find(name)
        return EVALUATORS.find(name) if hasattr(system.algorithm, "evaluate") else system
    try:
        return SYSTEMS.find(name)
    except UnknownNameError:
        pass
    try:
        return EVALUATORS.find(name)
    except UnknownNameError:
        raise UnknownNameError("system or evaluator", name, [*SYSTEMS.all(), *EVALUATORS.all()]) from None


def _of_method(method: System | Evaluator) -> Iterator[tuple[Rule[Any], list[Any]]]:
    """The rules for what a method does, each with what it is tried on."""
    if isinstance(method, System):
        cases = cases_of(method)
        yield from ((rule, cases) for rule in _SYSTEM_RULES)
        yield ODD_REPLIES, [method]
        yield SETTINGS, [method]
        yield SYSTEM_PROMPTS, [method]
        return
    measurements = measurements_of(method)
    for rule in (*EVALUATOR_RULES, *(ASKING_RULES if method.roles else ())):
        yield rule, measurements
    yield SETTINGS, [method]
    if method.roles:
        yield EVALUATOR_PROMPTS, [method]


async def _tried(rule: Rule[Any], subjects: list[Any]) -> RuleOutcome:
    for subject in subjects:
        if broken := await rule.broken_by(subject):
            return RuleOutcome(rule.name, broken, rule.advice)
    return RuleOutcome(rule.name)
