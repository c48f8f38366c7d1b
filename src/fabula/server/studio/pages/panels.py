"""Pages that installed packages bring, beside the studio's own.

A package names its own as entry points of the group `fabula.panels`: `words = "my_papers:words"` is a function of a
project (`fabula.Project`) that gives Markdown. It is shown as texts of models are: nothing in it runs or loads.
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
    """The panels that there are, by name."""
    return plugins("fabula.panels").found


def title_of(name: str) -> str:
    """What the page of a panel is called: "word-counts" is "Word counts"."""
    return name.replace("-", " ").capitalize()


@router.get("/{name}", response_model=None)
def panel(request: Request, workspace: WorkspaceDep, name: str) -> Response:
    """What a panel shows of the project.

    Raises:
        UnknownNameError: no package brings it.
    """
    known = brought()
    if name not in known:
        raise UnknownNameError("panel", name, known)
    shown = str(known[name](workspace))
    about = {"here": f"panels/{name}", "called": title_of(name), "source": known[name].source}
    return page(request, "panel.html", shown=shown, **about)
