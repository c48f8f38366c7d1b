"""The verbs over HTTP: each has its own address, takes its arguments as a body or parameters, and returns its result.

A result that is read comes with an `etag`: a client that sends it back as `if-none-match` gets only a changed result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fabula.app.bills import Estimate
from fabula.server.api.depends import ProjectName, ShelfDep, StateDep, WorkspaceDep
from fabula.server.runs.record import RunRecord
from fabula.verbs.base import File, Verb, adapter, every

if TYPE_CHECKING:
    from fabula.server.state import StudioState
    from fabula.verbs.doors import Door
    from fabula.verbs.home import Home, Project


_FILE: Final = "application/octet-stream"
"""The media type of all files. Generated clients know it, and it does not depend on the format of the file."""

router = APIRouter()

ABOUT = "fabula-file"
"""The header with a description of a file in JSON."""
_NONE = inspect.Parameter.empty


def _handler(verb: Verb) -> Callable[..., Response]:
    """The handler that executes a verb; it runs in a thread, since verbs read and write files."""

    def answered(*, opened: Door, shelf: Home, request: Request, body: Any = None, **given: Any) -> Response:  # noqa: ANN401 - as the verb has them
        made = opened.do(verb, _asked(verb, shelf, body, given))
        if isinstance(made, File):
            about = {"content-disposition": f'attachment; filename="{made.name}"', ABOUT: json.dumps(made.about())}
            return Response(made.content, media_type=_FILE, headers=about)
        content = adapter(verb.result).dump_json(made)
        tag = f'"{sha256(content).hexdigest()[:32]}"' if verb.method == "GET" else ""
        headers = {"etag": tag} if tag else {}
        if tag and tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="application/json", headers=headers)

    door = WorkspaceDep if verb.of_project else ShelfDep
    return _with_signature(answered, verb, {"opened": door, "shelf": ShelfDep, "request": Request})


def _beginner(verb: Verb) -> Callable[..., Any]:
    """The handler that makes a run of a long-running verb."""

    async def begun(*, project: str, state: StudioState, body: Any = None, **given: Any) -> RunRecord:  # noqa: ANN401 - as the verb has them
        return await state.start(project, verb.name, given | _fields(body))

    return _with_signature(begun, verb, {"project": ProjectName, "state": StateDep})


def _foreteller(verb: Verb) -> Callable[..., Estimate]:
    """The handler that estimates a long-running verb."""

    def foretold(*, opened: Project, shelf: Home, body: Any = None, **given: Any) -> Estimate:  # noqa: ANN401 - as the verb has them
        return opened.estimated(verb, _asked(verb, shelf, body, given))

    return _with_signature(foretold, verb, {"opened": WorkspaceDep, "shelf": ShelfDep})


def _asked(verb: Verb, shelf: Home, body: Any, given: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a body of a verb's
    return verb.from_outside(verb.bound((), given | _fields(body)), shelf.folder)


def _fields(body: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    return {} if body is None else {name: getattr(body, name) for name in type(body).model_fields}


def _with_signature(handler: Callable[..., Any], verb: Verb, by_us: dict[str, Any]) -> Callable[..., Any]:
    """A handler with the signature that FastAPI reads: our own parameters (`by_us`) and the verb's arguments."""
    named = verb.signature.parameters.values()
    parameters: list[tuple[str, Any, Any]] = [(name, kind, _NONE) for name, kind in by_us.items()]
    if verb.body is not None:
        needed = any(one.is_required() for one in verb.body.model_fields.values())
        parameters += [(one.name, one.annotation, _NONE) for one in named if one.name in verb.in_path]
        parameters.append(("body", verb.body, _NONE if needed else None))
    else:
        parameters += [(one.name, one.annotation, _NONE if one.name in verb.in_path else one.default) for one in named]
    handler.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # what FastAPI reads
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, kind, default in parameters
        ]
    )
    handler.__name__, handler.__doc__ = verb.name, verb.description
    return handler


for _verb in (one for one in every().values() if not one.at_once):  # `chats` answers those
    if _verb.long:
        router.add_api_route(
            _verb.address,
            _beginner(_verb),
            methods=[_verb.method],
            name=_verb.name,
            status_code=202,
            response_model=RunRecord,
            response_description=f"The run; its result is `{_verb.result.__name__}`.",
            summary=_verb.summary,
            description=_verb.description,
            tags=[_verb.tag],
        )
        router.add_api_route(
            f"{_verb.address}/estimate",
            _foreteller(_verb),
            methods=["POST"],
            name=f"{_verb.name}_estimate",
            response_model=Estimate,
            summary=f"Estimate: {_verb.summary[:1].lower()}{_verb.summary[1:]}",
            description="The calls, tokens and cost. fabula does not call a model or write files.",
            tags=[_verb.tag],
        )
        continue
    _file = issubclass(_verb.result, File)
    _said: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The file, as an attachment.",
            "content": {_FILE: {"schema": {"type": "string", "format": "binary"}}},
        }
    }
    router.add_api_route(
        _verb.address,
        _handler(_verb),
        methods=[_verb.method],
        name=_verb.name,
        response_model=None if _file else _verb.result,
        response_class=Response if _file else router.default_response_class,
        responses=_said if _file else None,
        summary=_verb.summary,
        description=_verb.description,
        tags=[_verb.tag],
    )
