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
    """The texts of a project, ordered by file. `problem` explains why fabula cannot tell which texts are stale."""

    artefacts: list[Artefact]
    problem: str


@verb("GET", "/artefacts", "texts")
async def artefacts(
    project: Workspace,
    folder: Annotated[str | None, Field(max_length=40, description='"story", "plan", ...')] = None,
    *,
    marks: Annotated[bool, Field(description="Also say which are stale.")] = True,
) -> ArtefactList:
    """List the texts, ordered by file, starting with the brief.

    With `marks`, each entry shows whether the text is stale.
    """
    problem = ""
    if marks:
        try:
            await asyncio.to_thread(project.expected)
        except FabulaError as error:
            problem = str(error)
    found = await asyncio.to_thread(project.rows, marks=marks)
    return ArtefactList([one for one in found if folder is None or one.folder == folder], problem)
