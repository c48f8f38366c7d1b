"""A server is held to its own OpenAPI document: requests drawn by schemathesis, the same ones every time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import FlakyFailure

from studio import TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

# Python 3.11.7 may say this of source that is right (python/cpython#106905), here of hypothesis's own, which it reads
# while a server is at work in another thread. The requests are the same ones when it is tried again.
_PARSER = "AST constructor recursion depth mismatch"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def answers_to_drawn(
    document: dict[str, Any],
    operation: tuple[str, str],
    address: str,
    cases: int,
    excluded: Sequence[Any],
    may: int = 0,
) -> Counter[int]:
    """How often each status was answered to requests of an operation, all of them as the document says.

    No request makes the server fail; with the status `may` it may answer, where what it needs is not there.
    """
    path, method = operation
    asked = schemathesis.openapi.from_dict(document)[path][method]
    answered: Counter[int] = Counter()

    @given(case=asked.as_strategy())
    @settings(
        max_examples=cases,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: schemathesis.Case[Any]) -> None:
        response = case.call(base_url=address, headers=HEADERS)
        answered[response.status_code] += 1
        case.validate_response(response, excluded_checks=list(excluded))
        assert response.status_code < 500 or response.status_code == may

    try:
        check()
    except FlakyFailure as failure:
        if not failure.exceptions or not all(str(one).startswith(_PARSER) for one in failure.exceptions):
            raise
        answered.clear()
        check()
    return answered
