"""The verbs over HTTP: each at its own address, with its arguments as body or parameters, and its result."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from fabula.server.api.depends import WorkspaceDep
from fabula.verbs.base import every

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.verbs.base import Verb
    from fabula.verbs.home import Project

router = APIRouter(prefix="/projects/{project}")


def _handler(verb: Verb) -> Callable[..., Any]:
    """What answers a request, with the signature that FastAPI reads; in a thread, since verbs read and write files."""

    def answered(*, workspace: Project, body: Any = None, **given: Any) -> Any:  # noqa: ANN401 - as the verb has them
        sent = {} if body is None else {name: getattr(body, name) for name in type(body).model_fields}
        return workspace.do(verb, {**given, **sent})

    sent = () if verb.body is None else (("body", verb.body, inspect.Parameter.empty),)
    given = ((one.name, one.annotation, one.default) for one in verb.signature.parameters.values())
    named = [one for one in given if verb.body is None or one[0] in verb.in_path]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in (("workspace", WorkspaceDep, inspect.Parameter.empty), *named, *sent)
    ]
    answered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what FastAPI reads
    answered.__name__, answered.__doc__ = verb.name, verb.description
    return answered


for _verb in every().values():
    router.add_api_route(
        _verb.path,
        _handler(_verb),
        methods=[_verb.method],
        name=_verb.name,
        response_model=_verb.result,
        summary=_verb.summary,
        description=_verb.description,
        tags=[_verb.tag],
    )
