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
from fabula.server.browser import Browser, Keys, Names
from fabula.server.faults import UNEXPECTED, ErrorBody, problem_for_author, problem_of_fields
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


_LOG: Final = logging.getLogger("fabula.server")
BOUNDS: Final = Bounds(body=20_000_000, shorter="a shorter text")
"""The limits for requests to the studio. A long story fits into one request."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# The access control around the application checks the token; here it is documented for programs.
_TOKEN: Final = HTTPBearer(auto_error=False, description="The token of the server. Browsers send a cookie instead.")
_ONCE: Final = {
    "name": HEADER,
    "in": "header",
    "description": "A key of your choice. Requests with the same key are carried out once and get the same answer.",
    "schema": {"type": "string", "maxLength": 200},
}
_FAULT_CONTENT: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/FaultBody"}}}
# With `model`, FastAPI would make a validator for each fault of each address, 900 in all, at each start.
_FAULTS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": description, "content": _FAULT_CONTENT}
    for status, description in {
        400: "The request cannot be carried out.",
        401: "There is no valid token.",
        403: "A page of another site sent the request.",
        404: "There is nothing with this name or address.",
        409: "The project is in use or has changed in the meantime.",
        410: "The project no longer exists.",
        413: "The body is too large.",
        415: "The content type of the body is not JSON.",
        421: "The request names another server.",
        422: "A field is missing or has the wrong type.",
        500: "An unexpected error occurred, or the journal cannot be read.",
        502: "The model's answer could not be used.",
        503: "The model cannot be reached or is busy.",
        507: "The disk is full. Saved texts are not lost.",
    }.items()
}


def application(state: StudioState, keys: Keys, names: Names, cookie: str, bounds: Bounds = BOUNDS) -> Browser:
    """The complete application, with its access control."""
    return Browser(pages_and_api(state), keys, names, cookie, problem_page, bounds, problem_line)


def pages_and_api(state: StudioState) -> FastAPI:
    """The application without its access control."""
    app = _new_app("fabula studio")
    found = pages.routers()
    app.state.pages = [(name, title) for name, title in PAGES if name in found]
    app.state.pages += [(f"panels/{name}", panels.title_of(name)) for name in panels.brought()]
    for router in found.values():  # directly: with `include_router`, FastAPI would build each route twice
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

    mount_api(app, state)  # last: its routes are built when a request matches none of the routes above
    return app


def _new_app(title: str) -> FastAPI:
    """An application in which all errors have the same format."""
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
    """The name of an operation in generated clients: the verb's name, or a name such as `runs_stop`."""
    return route.name if route.name in names() else f"{route.endpoint.__module__.rpartition('.')[2]}_{route.name}"


def _with_shared_faults(data: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document in which the errors of all addresses occur once; applying this twice changes nothing more."""
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
    """The OpenAPI document of `/api/v1`, independent of the projects served."""
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
    """A page of the studio that describes a problem."""
    return templates().get_template("problem.html").render(problem=problem)


def problem_line(problem: ErrorBody) -> str:
    """A line that describes a problem, above the page whose form was sent."""
    return templates().get_template("problem_line.html").render(problem=problem)


def _handle(app: FastAPI) -> None:
    """Answer each error in a format that suits the client."""

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
    """The answer for an error that fabula raised, with its own message."""
    problem = problem_for_author(error)
    if problem.status >= UNEXPECTED.status:
        _LOG.error("%s %s: %s: %s", request.method, request.url.path, type(error).__name__, error)
    return respond(request, problem)


def respond(request: Request, problem: ErrorBody, headers: dict[str, str] | None = None) -> Response:
    """The answer for a problem: JSON for a program, a line for a form, otherwise a page."""
    every = (headers or {}) | {name: value for name, value in problem.headers.items() if name != "content-type"}
    if request.headers.get("hx-request"):
        return _with(page(request, "problem_line.html", problem.status, problem=problem), every)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        return HTMLResponse(problem_page(problem), problem.status, every)
    return JSONResponse(problem.body, problem.status, every)


def _with(response: Response, headers: dict[str, str]) -> Response:
    response.headers.update(headers)
    return response


def _is_unread(error: RequestValidationError, sent: str) -> bool:
    """Whether a body was not read as JSON because of its content type."""
    whole = any(one["loc"] == ("body",) and isinstance(one["input"], bytes | str) for one in error.errors())
    return whole and "json" not in sent


def _of_type(sent: str) -> ErrorBody:
    said = f"the content type {sent[:60]!r}" if sent else "no content type"
    message = f"The body has {said}. Send JSON with the header `Content-Type: application/json`."
    return ErrorBody(415, message, code="unsupported_media_type")


def _allowed(request: Request) -> str:
    """The methods that an address accepts, whatever routes they belong to."""
    routes, scope = request.app.routes, dict(request.scope)
    found = [
        one for one in _METHODS if any(route.matches(scope | {"method": one})[0] == Match.FULL for route in routes)
    ]
    return ", ".join(found)


def _problem_of_status(error: HTTPException, path: str) -> ErrorBody:
    """The body for an error of the web framework."""
    way, again = "Go back to the first page and choose from there.", "Reload the page and try again."
    if path.startswith("/api/"):
        way = "/openapi.json lists all addresses."
        again = "Send JSON as described in /openapi.json."
    said = {
        404: (f"There is nothing at this address. {way}", "unknown_url"),
        405: ("This address does not accept this kind of request.", "method_not_allowed"),
        400: (f"The request cannot be read: {error.detail.rstrip('.')}. {again}", "invalid_request"),
    }
    message, code = said.get(error.status_code, (f"{error.detail}.", "refused"))
    return ErrorBody(error.status_code, message, code=code)
