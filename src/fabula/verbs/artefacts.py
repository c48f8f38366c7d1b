"""`artefacts`: the texts of a project."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from fabula.app.workspace import Artefact, Workspace  # noqa: TC001 - doors read them
from fabula.base.errors import FabulaError
from fabula.verbs.base import verb


@dataclass(frozen=True, slots=True)
class ArtefactList:
    """The texts of a project, in order of file; `problem` says why nobody knows which are stale."""

    artefacts: list[Artefact]
    problem: str


@verb("GET", "/artefacts", "texts")
async def artefacts(
    project: Workspace,
    folder: Annotated[str | None, Field(max_length=40, description='"story", "plan", ...')] = None,
    *,
    marks: Annotated[bool, Field(description="Say which are stale, too.")] = True,
) -> ArtefactList:
    """The texts, in order of file, the brief first; with `marks` it is known which are stale."""
    problem = ""
    if marks:
        try:
            await asyncio.to_thread(project.expected)
        except FabulaError as error:
            problem = str(error)
    found = await asyncio.to_thread(project.rows, marks=marks)
    return ArtefactList([one for one in found if folder is None or one.folder == folder], problem)
