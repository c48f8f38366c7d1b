"""Models of the OpenAPI document that no route names: events of `fabula.events` and of the server, and faults."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, Literal, get_args, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import models_json_schema

from fabula.engine.event_log import type_of
from fabula.engine.events import Event, Kept
from fabula.engine.replies.rules import RuleName
from fabula.models.base import Usage
from fabula.server.faults import FaultBody

NAME: Final = "ServerEvent"
_REF: Final = "#/components/schemas/{model}"
# Events of commands, runs and projects, apart from those of writing, with their fields.
_OWN: Final[dict[str, dict[str, Any]]] = {
    "command_started": {"pid": int, "arguments": list[str]},
    "command_ended": {"exit_code": int, "kind": (str, ""), "message": (str, ""), "artefact": (str, "")},
    "texts_left_out": {"largest": int},
    "run_queued": {"kind": str},
    "run_begun": {"kind": str},
    "run_ended": {"state": str, "message": str, "waits_for": str},
    "project_changed": {},
    "artefact_changed": {"file": str},
    "numbers_anew": {},
    "events_gone": {},
    "unreadable": {},
}


class _Happened(BaseModel):
    """The fields of all events."""

    n: int = Field(description="The number of the event; 0 if it is repeated.")
    project: str
    run: str = Field(description="The run in which the event happened; empty for none.")
    at: float | None = Field(None, description="Seconds since 1970.")


def with_shared(data: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document with the body of a fault, in which each event is one of the existing models."""
    made = {type_of(kind): _model(type_of(kind), _fields(kind), kind.__doc__ or "") for kind in get_args(Event)}
    made |= {name: _model(name, own, "") for name, own in _OWN.items()}
    models: list[type[BaseModel]] = [FaultBody, *made.values()]
    _, found = models_json_schema([(one, "serialization") for one in models], ref_template=_REF)
    refs = {name: _REF.format(model=one.__name__) for name, one in made.items()}
    union = {
        "description": "An event. Ignore types that are not listed here.",
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "type", "mapping": refs},
    }
    schemas = data["components"]["schemas"]
    schemas |= found["$defs"] | schemas | {NAME: union}
    schemas["RunEvents"]["properties"]["events"]["items"] = {"$ref": _REF.format(model=NAME)}
    return data


def _model(type_: str, own: dict[str, Any], about: str) -> type[BaseModel]:
    """The model of an event type, named after the type: `text_arrived` becomes `TextArrivedEvent`."""
    called = "".join(part.capitalize() for part in type_.split("_")) + "Event"
    given = {name: said if isinstance(said, tuple) else (said, ...) for name, said in own.items()}
    about = about.partition("\n\n")[0]
    return create_model(called, __base__=_Happened, __doc__=about, type=(Literal[type_], ...), **given)  # type: ignore[call-overload, no-any-return] # names that only the event knows


def _fields(kind: type) -> dict[str, Any]:
    """The fields of an event as they are sent; for a kept text, the number of words replaces the text."""
    hints = get_type_hints(kind, localns={"RuleName": RuleName, "Usage": Usage})
    found = {field.name: hints[field.name] for field in fields(kind)}
    if kind is Kept:
        del found["text"]
        found["words"] = int
    return found
