"""The published JSON schemas: one for each command; the tests' runner holds every document to its own."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import generate
import pytest

from commandline import check_document, command_of
from fabula.cli.documents import DOCUMENTS, schema_of
from fabula.cli.lazy import COMMANDS, LazyGroup, load
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commandline import Cli

SCHEMAS = ROOT / "docs" / "reference" / "schemas"
made_now = cache(generate.schemas)


def commands() -> Iterator[str]:
    """Every command that takes `--json`."""
    for name in COMMANDS:
        command = load(name)
        if isinstance(command, LazyGroup):
            continue
        inner = getattr(command, "commands", {})
        if any("--json" in one.opts for one in command.params):
            yield name
        yield from (f"{name} {one}" for one in inner)


def test_every_command_has_a_schema_and_no_schema_is_left_over() -> None:
    assert sorted({*commands()} - {"lsp", "mcp"}) == sorted(DOCUMENTS)  # these talk to their client on stdout
    assert {path.name for path in SCHEMAS.glob("*.json")} == set(made_now())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_published_and_printed(name: str, cli: Cli) -> None:
    published = (SCHEMAS / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8")
    assert published == made_now()[f"{name.replace(' ', '-')}.json"], "run `make docs`"
    ran = cli(*name.split(), "--json-schema")
    assert (ran.code, json.loads(ran.out)) == (0, json.loads(published))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_valid_and_describes_failures_too(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which is not declared, is not here")
    schema = schema_of(name)
    checker = jsonschema.Draft202012Validator
    checker.check_schema(schema)
    checker(schema).validate({"error": {"kind": "UsageError", "message": "It is so.", "exit_code": 2}})
    checker(schema).validate({"paused": {"artefact": "plot", "message": "It waits."}})
    assert list(checker(schema).iter_errors({"nothing": "of this"}))


def test_another_reader_finds_documents_valid(cli: Cli, project: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which is not declared, is not here")
    for command in (
        ("status", "lamp"),
        ("show", "lamp"),
        ("write", "lamp", "--dry-run"),
        ("doctor",),
        ("status", "empty"),
    ):
        ran = cli(*command, "--json")
        jsonschema.Draft202012Validator(schema_of(command[0])).validate(ran.json)


def test_the_runner_notices_a_document_that_is_not_as_published() -> None:
    with pytest.raises(AssertionError, match="is not as the schema of 'doctor'"):
        check_document(["doctor", "--json"], '{"version": "1", "healthy": "yes", "checks": [], "keys": {}}')
    with pytest.raises(AssertionError, match="extra"):
        check_document(["text", "pin", "plot", "--json"], '{"project": "x", "pinned": [], "more": 1}')
    assert command_of(["lab", "snap", "x"]) == "lab snap"
    assert command_of(["evaluate", "pairwise", "a", "b"]) == "evaluate"
    assert command_of(["data", "list"]) == "data list"
    assert command_of(["models", "--json"]) == "models"
