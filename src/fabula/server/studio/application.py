"""The application of the studio: pages, the files that they load, and `/api/v1`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import Match

from fabula.base.errors import FabulaError
from fabula.base.version import __version__
from fabula.server.api import PREFIX, routers
from fabula.server.api.shared_schemas import with_shared
from fabula.server.browser import Browser
from fabula.server.faults import UNEXPECTED, ErrorBody, problem_for_author
from fabula.server.gate import SILENT, Bounds
from fabula.server.repeating import HEADER, Once
from fabula.server.state import StudioState
from fabula.server.studio import assets, pages, rendering
from fabula.server.studio.pages import panels
from fabula.server.studio.rendering import PAGES, page, templates
from fabula.verbs.base import names
from fabula.verbs.home import Home

if TYPE_CHECKING:
    from fastapi.routing import APIRoute

    from fabula.server.browser import Keys, Names

_LOG: Final = logging.getLogger("fabula.server")
BOUNDS: Final = Bounds(body=20_000_000, shorter="a shorter text")
"""Of the studio's requests: a long story fits into one."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# Who holds it is found out by what guards the application; here it is told to programs that read the document.
_TOKEN: Final = HTTPBearer(auto_error=False, description="The token of the server; browsers send its cookie instead.")
_ONCE: Final = {
    "name": HEADER,
    "in": "header",
    "description": "Of your choice: a request that is sent again with the same one is done once, and answered alike.",
    "schema": {"type": "string", "maxLength": 200},
}
_FAULT_CONTENT: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/FaultBody"}}}
# FastAPI would make a validator of a `model` for each address and each of its faults, 900 in all, at each start.
_FAULTS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": description, "content": _FAULT_CONTENT}
    for status, description in {
        400: "This cannot be done as asked.",
        401: "No valid token.",
        403: "Sent by a page of another site.",
        404: "There is no such thing.",
        409: "The project is in use, or has changed meanwhile.",
        410: "The project is not there any more.",
        413: "The body is too large.",
        415: "The body is not said to be JSON.",
        421: "Another server's name.",
        422: "A field is missing or of another type.",
        500: "An error that was not expected, or a journal that cannot be read.",
        502: "The model's answer could not be used.",
        503: "The model cannot be reached, or is busy.",
        507: "The disk is full; what stood there before is not lost.",
    }.items()
}


def application(state: StudioState, keys: Keys, names: Names, cookie: str, bounds: Bounds = BOUNDS) -> Browser:
    """The whole application, with what guards it."""
    return Browser(pages_and_api(state), keys, names, cookie, problem_page, bounds, problem_line)


def pages_and_api(state: StudioState) -> FastAPI:
    """The application without its guard."""
    app = _new_app("fabula studio")
    found = pages.routers()
    app.state.pages = [(name, title) for name, title in PAGES if name in found]
    app.state.pages += [(f"panels/{name}", panels.title_of(name)) for name in panels.brought()]
    for router in found.values():  # as they are: FastAPI would put each route that is included together once more
        app.router.routes += router.routes

    app.add_middleware(rendering.Begun, feed=state.runs.feed)

    @app.get(assets.PREFIX + "{path:path}", include_in_schema=False)
    async def static(request: Request, path: str) -> Response:
        kept = assets.studio_assets().find(path)
        if kept is None:
            raise HTTPException(404)
        asset, keeping = kept
        headers = {"cache-control": keeping, "etag": f'"{asset.tag}"'}
        if asset.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.kind, headers=headers)

    mount_api(app, state)  # last: its routes are put together when one is looked for that is none of those above
    return app


def _new_app(title: str) -> FastAPI:
    """An application where each error has one shape."""
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=SILENT,
        generate_unique_id_function=_operation,
    )
    _handle(app)
    whole = app.openapi
    app.openapi = lambda: _with_shared_faults(with_shared(whole()))  # type: ignore[method-assign] # FastAPI's own way of changing it
    return app


def _operation(route: APIRoute) -> str:
    """What clients that are made from the document call an operation: the verb's name, or `runs_stop`."""
    return route.name if route.name in names() else f"{route.endpoint.__module__.rpartition('.')[2]}_{route.name}"


def _with_shared_faults(data: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document in which what every address may answer stands once; done twice, it is as done once."""
    shared = data.setdefault("components", {}).setdefault("responses", {})
    for status, told in _FAULTS.items():
        shared[f"Fault{status}"] = dict(told)
    for methods in data["paths"].values():
        if "post" in methods and _ONCE not in (said := methods["post"].setdefault("parameters", [])):
            said.append(_ONCE)
    for operation in (one for methods in data["paths"].values() for one in methods.values()):
        for status, response in operation["responses"].items():
            if response == shared.get(f"Fault{status}"):
                operation["responses"][status] = {"$ref": f"#/components/responses/Fault{status}"}
    return data


def document() -> dict[str, Any]:
    """The OpenAPI document of `/api/v1`, whatever is served."""
    app = _new_app("fabula")
    mount_api(app, StudioState(Home(())))
    return app.openapi()


def mount_api(app: FastAPI, state: StudioState) -> None:
    """Give an application `/api/v1`."""
    app.state.studio = state
    app.add_middleware(Once)
    app.exception_handler(FabulaError)(_failed)
    for router in routers():
        app.include_router(router, prefix=PREFIX, responses=_FAULTS, dependencies=[Depends(_TOKEN)])


def problem_page(problem: ErrorBody) -> str:
    """A problem in words, on a page of the studio's look."""
    return templates().get_template("problem.html").render(problem=problem)


def problem_line(problem: ErrorBody) -> str:
    """A problem in words, above the page whose form was sent."""
    return templates().get_template("problem_line.html").render(problem=problem)


def _handle(app: FastAPI) -> None:
    """Say each error as who asked can read it."""

    @app.exception_handler(RequestValidationError)
    async def misshapen(request: Request, error: RequestValidationError) -> Response:
        sent = request.headers.get("content-type", "")
        return respond(request, _of_type(sent) if _is_unread(error, sent) else problem_of_fields(error))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:  # noqa: PLR2004 - Method Not Allowed
            headers = {"allow": _allowed(request)}
        return respond(request, _problem_of_status(error, request.url.path), headers)

    @app.exception_handler(Exception)
    async def surprised(request: Request, error: Exception) -> Response:
        del error  # the web server logs it
        return respond(request, UNEXPECTED)


async def _failed(request: Request, error: Exception) -> Response:
    """What was raised on purpose, in its own words."""
    problem = problem_for_author(error)
    if problem.status >= UNEXPECTED.status:
        _LOG.error("%s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    return respond(request, problem)


def respond(request: Request, problem: ErrorBody, headers: dict[str, str] | None = None) -> Response:
    """A problem as who asked can read it: JSON for a program, a line for a form, else a page."""
    every = (headers or {}) | {name: value for name, value in problem.headers.items() if name != "content-type"}
    if request.headers.get("hx-request"):
        return _with(page(request, "problem_line.html", problem.status, problem=problem), every)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        return HTMLResponse(problem_page(problem), problem.status, every)
    return JSONResponse(problem.body, problem.status, every)


def _with(response: Response, headers: dict[str, str]) -> Response:
    response.headers.update(headers)
    return response


def problem_of_fields(error: RequestValidationError) -> ErrorBody:
    """What is wrong with the fields of a request."""
    first = error.errors()[0]
    where = ".".join(str(part)[:60] for part in first["loc"][1:8]) or "body"
    if first["type"] == "json_invalid":
        return ErrorBody(400, "The body is no valid JSON.", code="invalid_json")
    count = len(error.errors())
    fields = "A field is" if count == 1 else f"{count} fields are"
    return ErrorBody(422, f"{fields} not as it should be; {where}: {first['msg']}.", code="invalid_field", param=where)


def _is_unread(error: RequestValidationError, sent: str) -> bool:
    """Whether a body was not read as JSON since it was not said to be that."""
    whole = any(one["loc"] == ("body",) and isinstance(one["input"], bytes | str) for one in error.errors())
    return whole and "json" not in sent


def _of_type(sent: str) -> ErrorBody:
    said = f"the content type {sent[:60]!r}" if sent else "no content type"
    message = f"The body came with {said}. Send JSON, with the header `Content-Type: application/json`."
    return ErrorBody(415, message, code="unsupported_media_type")


def _allowed(request: Request) -> str:
    """The methods that an address takes, whichever routes they belong to."""
    routes, scope = request.app.routes, dict(request.scope)
    found = [
        one for one in _METHODS if any(route.matches(scope | {"method": one})[0] == Match.FULL for route in routes)
    ]
    return ", ".join(found)


def _problem_of_status(error: HTTPException, path: str) -> ErrorBody:
    """What the web framework complains of."""
    way, again = "Go back to the first page, and choose from there.", "Load the page anew, and try again."
    if path.startswith("/api/"):
        way = "/openapi.json lists the addresses that there are."
        again = "Send JSON as /openapi.json has it."
    said = {
        404: (f"There is nothing at this address. {way}", "unknown_url"),
        405: ("This address does not take such a request.", "method_not_allowed"),
        400: (f"The request cannot be read: {error.detail.rstrip('.')}. {again}", "invalid_request"),
    }
    message, code = said.get(error.status_code, (f"{error.detail}.", "refused"))
    return ErrorBody(error.status_code, message, code=code)
