"""What every evaluator must do, over every evaluator of fabula's own and every case of its script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.evaluators import CATALOGUE
from fabula.testing.rules import (
    ASKING_RULES,
    EVALUATOR_PROMPTS,
    EVALUATOR_RULES,
    FOLDER_RULES,
    Rule,
    goes_on_measuring_after_a_kill,
    reads_its_settings,
)
from harness import Measurement, measurements

if TYPE_CHECKING:
    from fabula.evaluators import Evaluator

CASES = measurements()
EVALUATORS = CATALOGUE.own()
PAIRS = [(rule, case) for case in CASES for rule in (*EVALUATOR_RULES, *(ASKING_RULES if case.evaluator.roles else ()))]
ASKING = {name: evaluator for name, evaluator in EVALUATORS.items() if evaluator.roles}


@pytest.mark.parametrize(("rule", "case"), PAIRS, ids=lambda one: getattr(one, "id", "") or one.name.replace(" ", "-"))
async def test_every_case_keeps_the_rule(rule: Rule[Measurement], case: Measurement) -> None:
    assert not await rule.broken_by(case)


@pytest.mark.simulation
@pytest.mark.parametrize("case", [case for case in CASES if case.evaluator.roles], ids=lambda case: case.id)
async def test_every_case_goes_on_wherever_it_is_killed(case: Measurement) -> None:
    await goes_on_measuring_after_a_kill(case, everywhere=True)


@pytest.mark.parametrize("evaluator", EVALUATORS.values(), ids=EVALUATORS)
@pytest.mark.parametrize("rule", FOLDER_RULES, ids=lambda rule: rule.name.replace(" ", "-"))
async def test_every_folder_keeps_the_rule(rule: Rule[Any], evaluator: Evaluator) -> None:
    assert not await rule.broken_by(evaluator)


@pytest.mark.parametrize("evaluator", EVALUATORS.values(), ids=EVALUATORS)
async def test_every_setting_is_read(evaluator: Evaluator) -> None:
    await reads_its_settings(evaluator)


@pytest.mark.parametrize("evaluator", ASKING.values(), ids=ASKING)
async def test_every_prompt_is_used(evaluator: Evaluator) -> None:
    assert not await EVALUATOR_PROMPTS.broken_by(evaluator)
