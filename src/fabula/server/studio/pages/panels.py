"""Pages that installed packages provide, in addition to the studio's own.

A package declares its pages as entry points of the group `fabula.panels`: `words = "my_papers:words"` is a function of
a project (`fabula.Project`) that gives Markdown. It is shown like model output: nothing in it runs or loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from fabula.base.errors import UnknownNameError
from fabula.base.plugins import plugins
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.rendering import page

if TYPE_CHECKING:
    from fastapi.responses import Response

    from fabula.base.plugins import Plugin

router = APIRouter(prefix="/projects/{project}/panels", include_in_schema=False)


def brought() -> dict[str, Plugin]:
    """The installed panels, by name."""
    return plugins("fabula.panels").found


def title_of(name: str) -> str:
    """The title of a panel's page: "word-counts" becomes "Word counts"."""
    return name.replace("-", " ").capitalize()


@router.get("/{name}", response_model=None)
def panel(request: Request, workspace: WorkspaceDep, name: str) -> Response:
    """The page of a panel for a project.

    Raises:
        UnknownNameError: no package provides the panel.
    """
    known = brought()
    if name not in known:
        raise UnknownNameError("panel", name, known)
    shown = str(known[name](workspace))
    about = {"here": f"panels/{name}", "called": title_of(name), "source": known[name].source}
    return page(request, "panel.html", shown=shown, **about)
