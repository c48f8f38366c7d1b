"""Pages and pieces of pages: filled-in templates, and model output as harmless HTML."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nh3
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from fabula.app.bills import dollars
from fabula.base.doors import at_door, said
from fabula.server.api import PREFIX
from fabula.server.studio.assets import studio_assets
from fabula.story import without_marks

if TYPE_CHECKING:
    from fastapi import Request

    from fabula.server.gate import App, Receive, Scope, Send
    from fabula.server.runs.feed import Feed

TEMPLATES: Final = Path(__file__).parent / "templates"
PAGES: Final = (
    ("write", "Write"),
    ("edit", "Edit"),
    ("plan", "Plan"),
    ("world", "World"),
    ("talk", "Talk"),
    ("calls", "Prompts"),
    ("measure", "Measure"),
)
"""The pages of a project by the last part of the address (`/projects/{project}/write`), with their titles."""
_TAGS: Final = frozenset(
    {
        *(
            "a",
            "abbr",
            "b",
            "blockquote",
            "br",
            "code",
            "dd",
            "del",
            "dl",
            "dt",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
        ),
        *("hr", "i", "ins", "li", "ol", "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead"),
        "tr",
        "ul",
    }
)
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")


def markdown(text: str) -> Markup:
    """Markdown as HTML without scripts, loaded files or styles; the scene marks of manuscripts are not shown."""
    html = nh3.clean(
        _MARKDOWN.render(without_marks(text)),
        tags=set(_TAGS),
        attributes={"a": {"href", "title"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noreferrer noopener nofollow",
    )
    return Markup(html)  # noqa: S704 - cleaned in the line before


@cache
def templates() -> Environment:
    """The templates of the studio; all values in them are escaped."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = studio_assets().address
    environment.filters["markdown"] = markdown
    environment.filters["dollars"] = dollars
    environment.filters["expected"] = expected_cost
    environment.filters["on_a_page"] = lambda text: said(text, "page")
    environment.filters["number"] = lambda value: f"{value:,}"
    return environment


def expected_cost(cost: float | None) -> str:
    """An estimated cost as part of a sentence: "price unknown", "at no cost", "about $0.0123"."""
    if cost is None:
        return dollars(cost)
    return f"about {dollars(cost)}" if cost else "at no cost"


@dataclass
class Begun:
    """A layer that records the last event before a page is made, so that the page receives all later events."""

    app: App
    feed: Feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Record the event, and answer; errors are answered with a page or, for a program, with JSON."""
        scope.setdefault("state", {})["after"] = self.feed.last
        with at_door("program" if scope.get("path", "").startswith(f"{PREFIX}/") else "page"):
            await self.app(scope, receive, send)


def pages_of(request: Request) -> list[tuple[str, str]]:
    """The pages of a project on this server, by the last part of the address, with their titles."""
    found: list[tuple[str, str]] = getattr(request.app.state, "pages", [])  # empty for a server without pages
    return found


def page(request: Request, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:  # noqa: ANN401 - a template's
    """A filled-in template: a whole page or a piece of a page.

    In addition to `values`, a template has `request`, `project` (its name, or empty) and its `title`, `pages` (the
    project's pages), `here` (the current page) and `after` (the number of the last event before the page was made).
    """
    project = str(request.path_params.get("project", ""))
    now = request.app.state.studio.runs.feed.last
    about = {
        "request": request,
        "project": project,
        "title": request.app.state.studio.shelf.title(project) if project else "",
        "here": request.url.path.removeprefix(f"/projects/{project}/").partition("/")[0] if project else "shelf",
        "pages": pages_of(request),
        "after": getattr(request.state, "after", now),
    }
    return HTMLResponse(templates().get_template(template).render(about | values), status)
