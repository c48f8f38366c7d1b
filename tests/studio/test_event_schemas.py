"""Events in the OpenAPI document: every one that a server sends fits the model of its type."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any, get_args

import pytest
from jsonschema import Draft202012Validator

from fabula.engine.event_log import EventLog, type_of
from fabula.engine.events import (
    AnswersAwaited,
    CallFinished,
    CallLost,
    CallRetried,
    CallStarted,
    Event,
    Kept,
    Noted,
    Removed,
    Repaired,
    RunFinished,
    RunStarted,
    TextArrived,
)
from fabula.models.base import Usage
from fabula.server.api.shared_schemas import NAME
from fabula.server.studio.application import document
from studio import SAMPLE, studio_here
from tree import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

PLACE = ("scene/1", "writer", "embedded:smollm2")
EVENTS: tuple[Event, ...] = (
    RunStarted("snap", ("writer",)),
    CallStarted(*PLACE),
    TextArrived("scene/1", "Mara"),
    CallFinished(*PLACE, usage=Usage(prompt=3), replayed=False),
    CallLost(*PLACE, usage=Usage()),
    CallRetried("a", 1, 2.5, "busy"),
    AnswersAwaited("here", ("one.md",)),
    Repaired("scene/1", 1, "no JSON"),
    Kept("story", "story", "Mara lit it.", "made"),
    Noted("", "A remark."),
    Removed("scene/1", "chatter", "Sure!"),
    RunFinished("snap"),
)


def fits(event: dict[str, Any]) -> bool:
    schemas = document()["components"]["schemas"]
    name = schemas[NAME]["discriminator"]["mapping"][event["type"]].rpartition("/")[2]
    whole = {"components": {"schemas": schemas}, "$ref": f"#/components/schemas/{name}"}
    found = list(Draft202012Validator(whole).iter_errors(event))
    known = set(schemas[name]["properties"])
    return not found and set(event) <= known


def test_every_event_of_a_run_fits_its_model_as_it_is_logged(tmp_path: Path) -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    log = EventLog(tmp_path / "events.jsonl", {})
    log.open()
    for event in EVENTS:
        log.hear(event)
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["type"] for line in lines} == {type_of(kind) for kind in get_args(Event)}
    about = {"n": 1, "project": "lamp", "run": "a"}
    assert [line for line in lines if not fits(line | about)] == []
    assert not fits(lines[0] | about | {"n": "one"})
    assert not fits(lines[0] | about | {"unheard": 1})


async def test_what_a_server_sends_of_its_own_fits(tmp_path: Path) -> None:
    async with studio_here(tmp_path / "shelf") as client:
        feed = client.state.runs.feed  # type: ignore[attr-defined] # what the studio knows
        feed.tell("run_queued", str(tmp_path / "shelf" / SAMPLE), "a", kind="write")
        feed.tell("artefact_changed", str(tmp_path / "shelf" / SAMPLE), file="story.md")
        feed.tell("run_ended", "", "a", state="finished", message="", waits_for="")
        sent = (await client.get("/api/v1/events", params={"after": 0, "follow": "false"})).text
    events = [json.loads(line.removeprefix("data: ")) for line in sent.splitlines() if line.startswith("data: ")]
    assert {"run_queued", "artefact_changed", "run_ended"} <= {event["type"] for event in events}
    assert [event for event in events if not fits(event)] == []


def told(tree: ast.AST) -> set[str]:
    """The types of events that code tells of, as texts in `tell(...)` and in `{"type": ...}`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    first = [call.args[0] for call in calls if call.func.attr in {"tell", "_line"} and call.args]  # type: ignore[attr-defined] # as sought
    return {one.value for one in first if isinstance(one, ast.Constant) and isinstance(one.value, str)}


@pytest.mark.parametrize("file", ["cli/main.py", "engine/event_log.py", "server/state.py", "server/runs/children.py"])
def test_every_type_that_is_told_of_has_a_model(file: str) -> None:
    types = told(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
    assert types
    assert types <= set(document()["components"]["schemas"][NAME]["discriminator"]["mapping"])
