"""Every rule that goes for a system, an evaluator or a provider, tried on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UnknownNameError
from fabula.engine.folders import is_path
from fabula.evaluators import CATALOGUE as EVALUATORS
from fabula.evaluators import Evaluator
from fabula.systems import CATALOGUE as SYSTEMS
from fabula.systems import System
from fabula.testing.cases import cases_of, measurements_of
from fabula.testing.providers import PROVIDER_RULES
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
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

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
