"""The Codex, a part of the World page: people, places, things and rules, and what is known of them by a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final
from zlib import crc32

from fastapi import APIRouter, Query, Request

from fabula.app.codex import codex_of
from fabula.base.doors import said as in_words
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.studio.pages.plan import FieldsDep  # noqa: TC001 - the same
from fabula.server.studio.pages.world import AskedDep, FactQuery  # noqa: TC001 - the same
from fabula.server.studio.rendering import page
from fabula.story.codex import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.responses import Response

    from fabula.verbs.codex import CodexChange
    from fabula.verbs.home import Project

router = APIRouter(prefix="/projects/{project}/world/codex", include_in_schema=False)
ROWS: Final = 500
_TEXTS: Final = ("kind", "new_name", "description", "secret", "notes")
_LISTS: Final = ("aliases", "facts", "known_to")
EntryQuery = Annotated[str, Query(max_length=200)]


@router.get("", response_model=None)
def codex(request: Request, workspace: WorkspaceDep, asked: AskedDep, name: EntryQuery = "") -> Response:
    """The page; the entry with that name is open."""
    return page(request, "codex.html", world=codex_of(workspace).world, opened=name, **_entries(workspace, asked))


@router.get("/entries", response_model=None)
def entries(request: Request, workspace: WorkspaceDep, asked: AskedDep) -> Response:
    """The list of entries."""
    return page(request, "codex_entries.html", opened="", **_entries(workspace, asked))


@router.get("/entry", response_model=None)
def entry(request: Request, workspace: WorkspaceDep, asked: AskedDep, name: EntryQuery) -> Response:
    """An entry: what is said and known of it, where it is mentioned, and the form that changes it."""
    (row,) = codex_of(workspace).view(asked.scene, asked.of, name, quoted=True).entries
    mark = f"e{crc32(row.name.encode())}"
    return page(request, "codex_entry.html", id=mark, row=row, asked=asked, kinds=KINDS)


@router.post("/entry", response_model=None)
def change(request: Request, workspace: WorkspaceDep, asked: AskedDep, fields: FieldsDep) -> Response:
    """Set or remove an entry by editing the codex; gives the new list."""
    done = _changed(workspace, fields)
    if done.left_out:
        said = f"{done.name} is no longer shown."
    else:
        said = f"{done.name} was removed from your codex." if done.removed else f"{done.name} is in your codex."
    said = " ".join((said, *(in_words(one, "page") for one in done.remarks), "You can undo this on the Edit page."))
    return page(request, "codex_entries.html", opened=done.name, **_entries(workspace, asked, said))


def _changed(workspace: Project, fields: Mapping[str, str]) -> CodexChange:
    name = fields.get("name", "")
    if fields.get("do") == "remove":
        return workspace.remove_entry(name)
    said = {field: text.strip() for field, text in fields.items() if field in (*_TEXTS, *_LISTS)}
    if "new_name" not in said:  # a new entry: what is empty says nothing about one that may have that name already
        said = {field: text for field, text in said.items() if text}
    given: dict[str, Any] = {
        field: [line.strip() for line in text.splitlines() if line.strip()] if field in _LISTS else text
        for field, text in said.items()
    }
    return workspace.set_entry(name, **given)


def _entries(workspace: Project, asked: FactQuery, said: str = "") -> dict[str, Any]:
    view = codex_of(workspace).view(asked.scene, asked.of)
    words = asked.search.casefold().split()
    rows = [
        row
        for row in view.entries
        if all(word in " ".join((row.name, *row.aliases, *row.about)).casefold() for word in words)
    ]
    return {
        "asked": asked,
        "view": view,
        "rows": rows[:ROWS],
        "more": max(len(rows) - ROWS, 0),
        "said": said,
        "kinds": KINDS,
    }
