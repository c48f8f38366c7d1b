"""A client that is made from `openapi.json`: its models are valid Python, and read what a server really answers."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import pytest

from fabula.server.studio.application import document
from fabula.verbs.base import every
from studio import SAMPLE, studio_here
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

OPENAPI = ROOT / "docs/reference/openapi.json"
FEWEST = 15
"""Addresses that are read in the test, at least."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    file = tmp_path_factory.mktemp("client") / "fabula_models.py"
    command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", "--input", str(OPENAPI)]
    command += ["--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--use-annotated"]
    subprocess.run([*command, "--output", str(file), "--formatters", "builtin"], check=True, capture_output=True)
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[file.stem] = module  # where its own annotations are looked up
    spec.loader.exec_module(module)
    return module


def refs_in(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref":
                yield value
            else:
                yield from refs_in(value)
    elif isinstance(part, list):
        for one in part:
            yield from refs_in(one)


def test_every_reference_leads_somewhere() -> None:
    whole = document()
    names = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in whole["components"][kind]}
    assert set(refs_in(whole)) <= names


def readable() -> Iterator[tuple[str, str]]:
    """Addresses that need no more than a project, with the model of what they answer."""
    for path, methods in document()["paths"].items():
        named: dict[str, Any] = methods.get("get", {"responses": {}})
        needed = {one["name"] for one in named.get("parameters", ()) if one.get("required")}
        answer = named["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if needed <= {"project"} and "$ref" in answer:
            yield path.format(project=SAMPLE), answer["$ref"].rpartition("/")[2]


async def test_its_models_read_what_the_server_answers(made: ModuleType, tmp_path: Path) -> None:
    asked = dict(readable())
    assert len(asked) >= FEWEST
    async with studio_here(tmp_path / "shelf") as client:
        for path, model in asked.items():
            answer = await client.get(path)
            assert answer.status_code == 200, (path, answer.text)
            getattr(made, model).model_validate(answer.json())
        refused = await client.get("/api/v1/projects/nowhere/artefacts")
    assert made.FaultBody.model_validate(refused.json()).error.message


def test_its_events_are_told_apart_by_their_type(made: ModuleType) -> None:
    event = {"type": "text_arrived", "n": 1, "project": "lamp", "run": "a", "path": "story", "text": "Mara"}
    read = made.ServerEvent.model_validate(event).root
    assert type(read).__name__ == "TextArrivedEvent"
    assert read.text == "Mara"


def test_a_result_is_taken_for_no_other_by_who_tries_one_class_after_the_other() -> None:
    whole = document()
    operation = whole["paths"]["/api/v1/projects/{project}/runs/{run}/result"]["get"]
    union = operation["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]
    tried = [whole["components"]["schemas"][one["$ref"].rpartition("/")[2]] for one in union]
    for number, result in enumerate(tried):
        for other in tried[:number]:
            assert not set(other.get("required", ())) <= set(result["properties"]), (other["title"], result["title"])


def test_a_file_is_of_a_type_that_generators_know_and_operations_are_called_as_the_verbs() -> None:
    export = document()["paths"]["/api/v1/projects/{project}/exports/{format}"]["get"]
    assert set(export["responses"]["200"]["content"]) == {"application/octet-stream"}
    named = {one["operationId"] for methods in document()["paths"].values() for one in methods.values()}
    assert set(every()) <= named
