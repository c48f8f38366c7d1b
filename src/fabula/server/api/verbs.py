"""The verbs over HTTP: each at its own address, with its arguments as body or parameters, and its result.

What is read comes with an `etag`: who sends that back as `if-none-match` gets it again only where it has changed.
"""

from __future__ import annotations

import inspect
import json
from hashlib import sha256
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fabula.server.api.chats import ANSWERED
from fabula.server.api.depends import ShelfDep, WorkspaceDep
from fabula.verbs.base import File, adapter, every

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.verbs.base import Verb
    from fabula.verbs.doors import Door

router = APIRouter()

ABOUT = "fabula-file"
"""The header that says in JSON what is to be said of a file."""
_NONE = inspect.Parameter.empty


def _handler(verb: Verb) -> Callable[..., Response]:
    """What answers a request, with the signature that FastAPI reads; in a thread, since verbs read and write files."""

    def answered(*, opened: Door, request: Request, body: Any = None, **given: Any) -> Response:  # noqa: ANN401 - as the verb has them
        sent = {} if body is None else {name: getattr(body, name) for name in type(body).model_fields}
        made = opened.do(verb, verb.bound((), {**given, **sent}))
        if isinstance(made, File):
            about = {"content-disposition": f'attachment; filename="{made.name}"', ABOUT: json.dumps(made.about())}
            return Response(made.content, media_type=guess_type(made.name)[0], headers=about)
        content = adapter(verb.result).dump_json(made)
        tag = f'"{sha256(content).hexdigest()[:32]}"' if verb.method == "GET" else ""
        headers = {"etag": tag} if tag else {}
        if tag and tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="application/json", headers=headers)

    named = verb.signature.parameters.values()
    parameters: list[tuple[str, Any, Any]] = [
        ("opened", WorkspaceDep if verb.of_project else ShelfDep, _NONE),
        ("request", Request, _NONE),
    ]
    if verb.body is not None:
        needed = any(one.is_required() for one in verb.body.model_fields.values())
        parameters += [(one.name, one.annotation, _NONE) for one in named if one.name in verb.in_path]
        parameters.append(("body", verb.body, _NONE if needed else None))
    else:
        parameters += [(one.name, one.annotation, _NONE if one.name in verb.in_path else one.default) for one in named]
    answered.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # what FastAPI reads
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, kind, default in parameters
        ]
    )
    answered.__name__, answered.__doc__ = verb.name, verb.description
    return answered


for _verb in (one for one in every().values() if one.name not in ANSWERED):
    _file = issubclass(_verb.result, File)
    _said: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The file, as an attachment.",
            "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
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
