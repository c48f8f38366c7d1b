"""The application of a study: consent, tasks, pauses and withdrawal for raters, and progress for the organiser.

A rater's page has only texts, questions and the rater's own answers. It shows no system, no item ID, no file, no length
and nothing that depends on which side was drawn as A.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import parse_qsl

import nh3
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.exceptions import HTTPException

from fabula.base.errors import FabulaError, UsageError
from fabula.measure.studies.answering import LONGEST, POOR, Answers, Seen, Sent
from fabula.measure.studies.study import ORGANISER, SIDES, Study, Task
from fabula.server.browser import Browser, Names
from fabula.server.faults import ErrorBody
from fabula.server.gate import SILENT, App, Bounds
from fabula.server.study.conversations import ConversationError, RatersConversations
from fabula.story import plain, readable

_HERE: Final = Path(__file__).parent
BOUNDS: Final = Bounds(body=200_000, shorter="a shorter text")
_MOST_FIELDS: Final = 200
_LONG: Final = 120  # minutes; a longer time is given in hours
_LOG: Final = logging.getLogger("fabula.server")
# For every error: error messages name models and files of this machine, and raters must not see either.
_LATER: Final = ErrorBody(503, "The request failed, but your answers are not lost. Send it again in a minute.")
_PAGES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_MARKDOWN: Final = MarkdownIt("zero", {"html": False}).enable(["emphasis", "escape", "heading", "hr"])


def prose(text: str) -> Markup:
    """A story as HTML: paragraphs, headings, breaks and emphasis; all other Markdown is shown as it was written.

    Headings are below those of the page and have one size. Spaces at the ends of lines and invisible characters are
    removed: they could identify a system to someone who reads the source of the page.
    """
    tokens = _MARKDOWN.parse(plain(readable(text)))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3"
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return Markup(nh3.clean(html, tags={"p", "h3", "hr", "em", "strong"}, attributes={}))  # noqa: S704 - cleaned here


_PAGES.filters["prose"] = prose


@dataclass(frozen=True)
class Means:
    """The dependencies of the server.

    Attributes:
        answers: the study, and everything that raters did in it.
        now: the time, in ISO 8601.
        names: the names of the server.
        conversations: the raters' conversations, if characters are rated.
        until: when raters' links expire, in ISO 8601; if empty, the assignment of tasks decides.
    """

    answers: Answers
    now: Callable[[], str]
    names: Names
    conversations: RatersConversations | None = None
    until: str = ""

    @property
    def study(self) -> Study:
        """The study: its questions and its raters."""
        return self.answers.study

    @property
    def expires(self) -> str:
        """The time when raters' links expire."""
        return self.until or (self.study.design.expires if self.study.design else self.now())

    @property
    def ended(self) -> str:
        """The message that raters' links have expired; empty before that. Raters can still withdraw afterwards."""
        if datetime.fromisoformat(self.now()) <= datetime.fromisoformat(self.expires):
            return ""
        return (
            f"Your link has expired: it was valid until {self.expires[:10]}. Your answers are kept. If you need "
            "more time, ask the people who sent you the link."
        )


@dataclass(frozen=True)
class Links:
    """The holders of the links."""

    means: Means

    def who(self, token: str) -> str:
        """The rater's number, or `organiser`."""
        return self.means.study.holder(token)


def application(means: Means, cookie: str) -> App:
    """The complete application, with its access control."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=SILENT)
    app.state.means = means
    app.mount("/static", StaticFiles(directory=_HERE / "static"))
    for path, method, handler in _ROUTES:
        app.add_api_route(path, handler, methods=[method], response_class=HTMLResponse, response_model=None)

    @app.exception_handler(HTTPException)
    async def missing(request: Request, error: HTTPException) -> Response:
        words = "There is nothing at this address." if error.status_code == 404 else f"{error.detail}"  # noqa: PLR2004 - not found
        return _problem(request, ErrorBody(error.status_code, words))

    @app.exception_handler(FabulaError)
    async def refused(request: Request, error: FabulaError) -> Response:
        _LOG.error("A page failed: %s: %s", type(error).__name__, error)
        return _problem(request, _LATER)

    return Browser(app, Links(means), means.names, cookie, _problem_page, BOUNDS)


# visitors -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """A request of a rater."""

    means: Means
    rater: str

    def task(self, key: str) -> Task:
        """One of the rater's own tasks.

        Raises:
            HTTPException: there is no such task.
        """
        task = self.means.study.by_key.get(key)
        if task is None or task.rater != self.rater:
            raise HTTPException(404)
        return task

    def check_open(self) -> None:
        """Stop a rater whose link has expired.

        Raises:
            HTTPException: the link has expired.
        """
        if self.means.ended:
            raise HTTPException(401, self.means.ended)

    def check_takes_part(self) -> None:
        """Stop a rater who has not agreed, who has withdrawn, or whose link has expired.

        Raises:
            HTTPException: the rater may not answer.
        """
        self.check_open()
        mine = self.means.answers.progress[self.rater]
        if not mine.consented:
            words = "You have withdrawn." if mine.withdrawn else "You have not agreed to take part yet."
            raise HTTPException(403, f"{words} Begin on the first page.")


async def _visit(request: Request) -> Visit:
    if request.state.who == ORGANISER:
        raise HTTPException(403, "This is a rater's page, but you have the organiser's link. Go to /organiser.")
    return Visit(request.app.state.means, request.state.who)


async def _organiser(request: Request) -> Means:
    if request.state.who != ORGANISER:
        raise HTTPException(404)
    means: Means = request.app.state.means
    return means


VisitDep: TypeAlias = Annotated[Visit, Depends(_visit)]
OrganiserDep: TypeAlias = Annotated[Means, Depends(_organiser)]


# raters' pages --------------------------------------------------------------------------------------------------------


async def start(request: Request) -> Response:
    """The first page: the study, and the rater's consent."""
    if request.state.who == ORGANISER:
        return _to("/organiser")
    visit = await _visit(request)
    ended = visit.means.ended
    return _page("start.html", visit, message=ended, status=401 if ended else 200)


async def consent(visit: VisitDep) -> Response:
    """Record that the rater agrees to take part."""
    visit.check_open()
    await asyncio.to_thread(visit.means.answers.consent, visit.rater)
    return _to("/task")


async def current(visit: VisitDep) -> Response:
    """The next task, a pause after a sitting, or thanks after the last task."""
    answers = visit.means.answers
    if not answers.progress[visit.rater].consented:
        return _to("/")
    visit.check_open()
    if answers.rests(visit.rater):
        return _page("rest.html", visit)
    task = answers.current(visit.rater)
    return _page("done.html", visit) if task is None else await _task_page(visit, task)


async def one_task(visit: VisitDep, key: str) -> Response:
    """A task that was sent earlier, so that it can be changed, or the current task."""
    task = visit.task(key)
    visit.check_takes_part()
    return await _task_page(visit, task)


async def send(visit: VisitDep, key: str, request: Request) -> Response:
    """Keep the answers to a task, or why it is skipped."""
    task = visit.task(key)
    visit.check_takes_part()
    given = _fields(await request.body())
    skipped = given.get("skip", "").strip()
    if "skipping" in given and not skipped:
        return await _task_page(
            visit, task, ErrorBody(400, "Explain in a few words why you are skipping this task."), given
        )
    sent = replace(_sent(visit, given), skipped=skipped)
    try:
        await asyncio.to_thread(visit.means.answers.send, visit.rater, task, sent, _seen(given))
    except UsageError as error:
        return await _task_page(visit, task, ErrorBody(400, str(error)), given)
    except FabulaError as error:  # the answers stay on the page
        _LOG.error("An answer was not kept: %s", error)
        return await _task_page(visit, task, _LATER, given)
    return _to("/task")


async def draft(visit: VisitDep, key: str, request: Request) -> Response:
    """Keep the answers so far."""
    task = visit.task(key)
    visit.check_takes_part()
    so_far = _sent(visit, _fields(await request.body()))
    await asyncio.to_thread(visit.means.answers.draft, visit.rater, task, so_far)
    return Response(status_code=204)


async def go_on(visit: VisitDep) -> Response:
    """Begin another sitting."""
    visit.check_takes_part()
    await asyncio.to_thread(visit.means.answers.go_on, visit.rater)
    return _to("/task")


async def withdraw(visit: VisitDep, request: Request) -> Response:
    """Delete everything that the rater has given."""
    if _fields(await request.body()).get("sure") != "yes":
        return _page("start.html", visit, message="To delete all of your answers, tick the box.", status=400)
    await asyncio.to_thread(visit.means.answers.withdraw, visit.rater)
    return _to("/")


async def say(visit: VisitDep, key: str, side: str, request: Request) -> Response:
    """Say something to one of two characters, begin its next chapter, or end the conversation."""
    task, conversations = visit.task(key), visit.means.conversations
    visit.check_takes_part()
    if conversations is None or side not in SIDES:
        raise HTTPException(404)
    given = _fields(await request.body())
    try:
        await conversations.move(task, SIDES.index(side), given.get("do", "say"), given.get("message", ""))
    except ConversationError as error:
        return await _task_page(visit, task, ErrorBody(400, str(error)), given)
    except FabulaError as error:  # its message may name a model
        _LOG.error("A character did not answer: %s: %s", type(error).__name__, error)
        return await _task_page(visit, task, _LATER, given)
    return _to(f"/task/{key}")


# the organiser's page -------------------------------------------------------------------------------------------------


async def organiser(means: OrganiserDep) -> Response:
    """The progress of the study, without the names of the systems."""
    return HTMLResponse(_PAGES.get_template("organiser.html").render(_overview(means, unblinded=False)))


async def unblind(means: OrganiserDep) -> Response:
    """The progress with the systems' names, on request; the request is logged."""
    await asyncio.to_thread(means.answers.unblinded)
    return HTMLResponse(_PAGES.get_template("organiser.html").render(_overview(means, unblinded=True)))


_ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("/", "GET", start),
    ("/consent", "POST", consent),
    ("/task", "GET", current),
    ("/task/{key}", "GET", one_task),
    ("/task/{key}", "POST", send),
    ("/task/{key}/draft", "POST", draft),
    ("/task/{key}/talk/{side}", "POST", say),
    ("/go-on", "POST", go_on),
    ("/withdraw", "POST", withdraw),
    ("/organiser", "GET", organiser),
    ("/organiser/unblind", "POST", unblind),
)


# what pages show ------------------------------------------------------------------------------------------------------


def _page(name: str, visit: Visit, *, message: str = "", status: int = 200, **more: Any) -> Response:  # noqa: ANN401 - of the template
    answers, form = visit.means.answers, visit.means.study.form
    done, total = answers.done(visit.rater), len(visit.means.study.tasks_of[visit.rater])
    shown = {
        "form": form,
        "rater": visit.rater,
        "progress": answers.progress[visit.rater],
        "done": done,
        "total": total,
        "of_sitting": done % form.sitting,
        "message": message,
        "time": _time(sum(map(visit.means.study.minutes, visit.means.study.tasks_of[visit.rater]))),
        "ended": bool(visit.means.ended),
        **more,
    }
    return HTMLResponse(_PAGES.get_template(name).render(shown), status)


def _time(minutes: float) -> str:
    """A duration in words."""
    if minutes < _LONG:
        return f"{max(round(minutes), 1)} minute{'' if round(minutes) <= 1 else 's'}"
    return f"{minutes / 60:.0f} hours"


async def _task_page(
    visit: Visit, task: Task, problem: ErrorBody | None = None, given: Mapping[str, str] | None = None
) -> Response:
    """A task as its rater sees it."""
    means, answers = visit.means, visit.means.answers
    await asyncio.to_thread(answers.open, visit.rater, task)
    mine, form = answers.progress[visit.rater], means.study.form
    so_far = mine.drafts.get(task.key) or mine.sent.get(task.key) or Sent()
    if given is not None and "message" not in given:  # otherwise, it is a message to a character
        so_far = _sent(visit, given)
    has = means.conversations
    conversations = [await has.shown(task, place) for place in range(len(task.items))] if has else []
    tasks = means.study.tasks_of[visit.rater]
    earlier = [one for one in tasks[: task.place] if one.key in mine.sent]
    last = min(form.sitting, len(tasks) - task.place // form.sitting * form.sitting)
    return _page(
        "task.html",
        visit,
        message=problem.message if problem else "",
        status=problem.status if problem else 200,
        key=task.key,
        entries=means.study.shown(task),
        sides=SIDES if form.two_sided else ("",),
        fields=form.fields,
        asked=means.study.asked(task),
        so_far=so_far,
        sent=task.key in mine.sent,
        number=task.place % form.sitting + 1,
        last=last,
        previous=earlier[-1].key if earlier else "",
        conversations=conversations,
        message_typed=(given or {}).get("message", ""),
        talking=next((side for side, one in zip(SIDES, conversations, strict=False) if not one.ended), ""),
        longest=LONGEST,
        poor_label=POOR,
    )


def _overview(means: Means, *, unblinded: bool) -> dict[str, Any]:
    """Progress by rater and by comparison; systems are numbers until somebody asks for their names."""
    study, answers = means.study, means.answers
    answers.put_back()
    raters: list[dict[str, Any]] = [
        {
            "rater": rater,
            "state": _state(answers, rater),
            "done": answers.done(rater),
            "skipped": sum(bool(one.skipped) for one in answers.progress[rater].sent.values()),
            "tasks": len(study.tasks_of[rater]),
        }
        for rater in study.raters
    ]
    cells: dict[tuple[str, ...], list[int]] = {}
    for task in study.tasks:
        cell = cells.setdefault(tuple(sorted(entry.system for entry in study.shown(task))), [0, 0])
        cell[0] += task.key in answers.progress[task.rater].sent
        cell[1] += 1
    named = [
        (" and ".join(filter(None, systems)) or "not named" if unblinded else f"cell {number}", *counts)
        for number, (systems, counts) in enumerate(cells.items(), 1)
    ]
    done, planned = sum(one["done"] for one in raters), len(study.tasks)
    return {
        "form": study.form,
        "raters": raters,
        "cells": named,
        "unblinded": unblinded,
        "done": done,
        "told": answers.told,
        "planned": planned,
        "expires": means.expires[:10],
        "message": "",
    }


def _state(answers: Answers, rater: str) -> str:
    mine = answers.progress[rater]
    if not mine.consented:
        return "withdrew" if mine.withdrawn else "has not begun"
    return "finished" if answers.current(rater) is None else "takes part"


# contents of requests -----------------------------------------------------------------------------------------------


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form that was sent."""
    try:
        text = body.decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(400, "The request is not a valid form. Use the form on the page") from None


def _sent(visit: Visit, given: Mapping[str, str]) -> Sent:
    answers = {one.key: given[one.key] for one in visit.means.study.form.fields if given.get(one.key)}
    return Sent(answers, given.get("comment", ""), bool(given.get("poor")))


def _seen(given: Mapping[str, str]) -> Seen:
    """How the task was read, according to the page, whose values cannot be trusted."""
    try:
        read: Any = json.loads(given.get("depths") or "[]")
        seconds, *depths = (float(one) for one in (given.get("seconds") or 0, *list(read)[:2]))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return Seen()
    if not all(map(math.isfinite, (seconds, *depths))):
        return Seen()
    return Seen(min(max(seconds, 0.0), 1e6), tuple(min(max(depth, 0.0), 1.0) for depth in depths))


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _problem(request: Request, problem: ErrorBody) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_problem_page(problem), problem.status)
    return Response(problem.bytes, problem.status, problem.headers)


def _problem_page(problem: ErrorBody) -> str:
    return _PAGES.get_template("problem.html").render(message=problem.message)
