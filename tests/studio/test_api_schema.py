"""`/api/v1` keeps to its own document, whatever is sent: requests drawn by schemathesis, the same ones every time.

python -m pytest tests/studio/test_api_schema.py --hypothesis-seed=7      # and SCHEMA_CASES=2000 for a long run
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    ensure_resource_availability,
    ignored_auth,
    missing_required_header,
    positive_data_acceptance,
    unsupported_method,
    use_after_free,
)

from drawn import HEADERS, answers_to_drawn
from fabula.server.runs.children import Runs
from fabula.server.studio.application import document
from studio import SAMPLE, studio_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from studio import There

EXAMPLES: Final = int(os.environ.get("SCHEMA_CASES", "6"))
DOCUMENT: Final = document()
OPERATIONS: Final = [
    (path, method.upper())
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if path != "/api/v1/events" and (path, method) != ("/api/v1/projects/{project}", "delete")  # ends, and takes away
]
# A drawn name is hardly ever one that there is; the drawn requests are to do something, too.
NAMED: Final = {
    "project": [SAMPLE, "nothing"],
    "name": ["agents-room", "surface", "nothing"],
    "format": ["epub", "md", "nothing"],
    "conversation": ["joanne-starling-wendy-clabburn", "nothing"],
    "artefact": ["exposition", "story/02-rising-action.md", "plan", "brief.md", "story.md", "nothing"],
    "finding": ["dcf5212a-ae60", "nothing"],
    "of": ["Wendy", "", "nobody"],
    "at": ["1", "", "nowhere"],
    "number": [1, 5, 10_000],
    "report": ["evaluation/atlas", "nothing"],
    "one": ["evaluation/atlas", "nothing"],
    "other": ["evaluation/atlas", "nothing"],
}
NOT_OF_USE: Final = [
    positive_data_acceptance,  # a body of the right form may well ask for what cannot be done
    *(ensure_resource_availability, use_after_free, ignored_auth, missing_required_header, unsupported_method),
]


ASKS: Final = {
    ("/api/v1/projects/{project}/people", "POST"),
    ("/api/v1/projects/{project}/chats/{conversation}/draft", "POST"),
}
"""Ask a model within the request, and the sample has none: 503, which has to stand in the document."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runs, "_begin", lambda *_: None)  # nothing is written or asked here: runs stay in the queue
        with studio_there(tmp_path_factory.mktemp("schema") / "shelf") as running:
            yield running


@pytest.fixture(scope="module")
def answered() -> Counter[int]:
    """How often each status was answered."""
    return Counter()


def with_names(data: dict[str, Any]) -> dict[str, Any]:
    """The document with names for parameters that are names, and bodies that use them."""
    data = json.loads(json.dumps(data))
    for methods in data["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in NAMED:
                    parameter["schema"] = {"enum": NAMED[parameter["name"]]}
    for schema in data["components"]["schemas"].values():
        for name, field in schema.get("properties", {}).items():
            if (
                name == "artefact"
                and field.get("type") == "string"
                and schema["title"] in {"PinBody", "RetakeBody", "ChooseBody"}
            ):
                schema["properties"][name] = {"enum": NAMED["artefact"]}
    return dict(data)


def test_the_document_that_is_served_is_the_one_of_the_reference(server: There) -> None:
    served = httpx.get(f"{server.address}/openapi.json", headers=HEADERS, trust_env=False, timeout=120).json()
    assert served["paths"] == DOCUMENT["paths"]
    assert set(served["components"]["securitySchemes"]) == {"HTTPBearer"}


def test_every_operation_says_what_it_does_and_what_it_answers() -> None:
    for path, method in OPERATIONS:
        operation = DOCUMENT["paths"][path][method.lower()]
        assert operation["summary"], (path, method)
        assert operation["tags"], (path, method)
        assert {"400", "401", "403", "404", "409", "410", "413", "421", "422", "500", "507"} <= set(
            operation["responses"]
        )
        good = [operation["responses"][status] for status in ("200", "201", "202") if status in operation["responses"]]
        assert good or "204" in operation["responses"], (path, method)
        for content in [content for response in good for content in response["content"].values()]:
            schema = content.get("schema", content.get("itemSchema"))
            assert schema, (path, method)
            assert schema != {"type": "object", "additionalProperties": True}, (path, method)


def test_every_body_has_an_example_that_the_server_takes(server: There) -> None:
    for path, method in OPERATIONS:
        body = DOCUMENT["paths"][path][method.lower()].get("requestBody")
        if body is None:
            continue
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        (example,) = DOCUMENT["components"]["schemas"][name]["examples"]
        where = path.format(
            project=SAMPLE,
            turn=1,
            number=1,
            **dict.fromkeys(("name", "artefact", "finding", "conversation", "run"), "nothing"),
        )
        answer = httpx.request(
            method, server.address + where, json=example, headers=HEADERS, trust_env=False, timeout=120
        )
        # Its fields are right; whether there is such a text, or anything to be decided, is another matter.
        assert answer.status_code in {200, 201, 202, 400, 404, 409}, (path, method, answer.text)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_what_is_answered_is_in_the_document(server: There, answered: Counter[int], path: str, method: str) -> None:
    asks = (path, method) in ASKS
    left_out, may = ([*NOT_OF_USE, not_a_server_error], 503) if asks else (NOT_OF_USE, 0)
    answered.update(answers_to_drawn(with_names(DOCUMENT), (path, method), server.address, EXAMPLES, left_out, may))


def test_some_of_what_was_drawn_was_done(
    answered: Counter[int], record_testsuite_property: Callable[[str, object], None]
) -> None:
    record_testsuite_property("answers", str(dict(answered)))  # `--junitxml=FILE` has them
    if not answered:
        pytest.skip("The requests above were drawn in another process.")
    assert answered[200] + answered[202] > sum(answered.values()) / 5, answered
