"""The server keeps to its own schema, whatever is sent: requests drawn by schemathesis, the same ones every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
from schemathesis.specs.openapi.checks import positive_data_acceptance

from drawn import HEADERS, answers_to_drawn
from fabula.server.gate import Bounds
from serving import MODEL, There, there

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = 25
PATHS = [("/v1/chat/completions", "POST"), ("/v1/models", "GET"), ("/v1/models/{model}", "GET")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with there(tmp_path_factory.mktemp("schema"), bounds=Bounds(rate=0)) as running:
        yield running


@pytest.fixture(scope="module")
def document(server: There) -> dict[str, Any]:
    """The schema that the server tells."""
    root = server.address.removesuffix("/v1")
    data = dict(httpx.get(f"{root}/openapi.json", headers=HEADERS, trust_env=False, timeout=120).json())
    # Those of projects are held to their schema in tests/studio.
    data["paths"] = {path: methods for path, methods in data["paths"].items() if not path.startswith("/api/")}
    # Drawn names are never those of characters; so that the drawn conversations are held too, there are two names.
    data["components"]["schemas"]["ChatRequest"]["properties"]["model"] = {"enum": [MODEL, "fabula/lamp/Nobody"]}
    return data


def test_every_address_is_in_the_schema(document: dict[str, Any]) -> None:
    assert [(path, method.upper()) for path, methods in document["paths"].items() for method in methods] == PATHS


@pytest.mark.parametrize(("path", "method"), PATHS)
def test_what_is_answered_is_in_the_schema(server: There, document: dict[str, Any], path: str, method: str) -> None:
    root = server.address.removesuffix("/v1")
    answers_to_drawn(
        document, (path, method), root, EXAMPLES, [positive_data_acceptance]
    )  # an empty message is refused
    assert method == "GET" or server.engine.asked, "some of the conversations were held"
    assert not server.problems
