"""What clients are told of failures: one shape, nothing of the machine in it, and how the conversation stands."""

from __future__ import annotations

import pytest

from fabula.base.errors import (
    BudgetError,
    ConfigError,
    ContextLengthError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
    RefusalError,
    ReplyError,
)
from fabula.server.faults import SURPRISE, problem_of

WHERE = "http://127.0.0.1:8080/v1 (10.0.0.7) /srv/models/secret.gguf SECRET_KEY"


@pytest.mark.parametrize(
    "error",
    [
        OverloadedError(WHERE),
        ModelUnavailableError(WHERE),
        ModelTimeoutError(WHERE),
        ContextLengthError(WHERE),
        RefusalError(WHERE),
        ModelError(WHERE),
        ReplyError(WHERE, reply="x"),
        BudgetError(WHERE),
        ConfigError(WHERE),
    ],
)
def test_no_address_or_path_of_the_machine_is_told(error: Exception) -> None:
    for problem in (problem_of(error), problem_of(ExceptionGroup("side by side", [error]))):
        assert not set(WHERE.split()) & set(problem.message.split())
        assert "secret" not in problem.message.casefold()
        assert "The conversation is unchanged." in problem.message


def test_errors_side_by_side_are_told_as_the_first_of_ours() -> None:
    inner = ExceptionGroup("inner", [OverloadedError("busy", retry_after=7), OverloadedError("busy")])
    problem = problem_of(BaseExceptionGroup("outer", [ExceptionGroup("other", [ValueError("x")]), inner]))
    assert (problem.status, problem.code, problem.headers["retry-after"]) == (503, "overloaded", "7")
    assert problem_of(ExceptionGroup("strange", [ValueError("x")])) is SURPRISE
