"""Every case of fabula's own systems and evaluators: what the contract, property and fault tests share."""

from __future__ import annotations

from fabula.evaluators import CATALOGUE as EVALUATORS
from fabula.systems import CATALOGUE as SYSTEMS
from fabula.testing.cases import (
    Case,
    FailingModel,
    Measurement,
    cases_of,
    dry_run_case,
    dry_run_measure,
    measure_case,
    measurements_of,
    prompts_in,
    run_case,
)

__all__ = [
    "Case",
    "FailingModel",
    "Measurement",
    "cases",
    "dry_run_case",
    "dry_run_measure",
    "measure_case",
    "measurements",
    "prompts_in",
    "run_case",
]


def cases() -> list[Case]:
    """Every case of every system of fabula's own."""
    return [case for system in SYSTEMS.own().values() for case in cases_of(system)]


def measurements() -> list[Measurement]:
    """Every case of every evaluator of fabula's own."""
    return [case for evaluator in EVALUATORS.own().values() for case in measurements_of(evaluator)]
