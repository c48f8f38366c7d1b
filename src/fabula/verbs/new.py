"""`new`, `import_manuscript`, `sample`: a project is made."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from fabula.app.beginning import Beginning, begin
from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import MAX_FILE, MAX_STORY
from fabula.verbs.base import LONGEST_NAME, OwnersOnly, verb
from fabula.verbs.projects import ProjectLine

Brief: TypeAlias = Annotated[
    str,
    Field(
        max_length=MAX_FILE,
        description="What the story is to be; its first heading is the title.",
        examples=["# The Ferry\n\nOdile takes the last ferry home."],
    ),
]
Title: TypeAlias = Annotated[str, Field(max_length=200, description="Where the text's own heading is not meant.")]
System: TypeAlias = Annotated[str, Field(max_length=100, description="The writing method; without it, the usual one.")]
ModelName: TypeAlias = Annotated[
    str, Field(max_length=LONGEST_NAME, description="Who writes, such as `openai:gpt-5`; without it, the usual one.")
]


@verb("POST", "/projects", "projects")
async def new(
    shelf: Shelf,
    brief: Brief = "",
    *,
    story: Annotated[
        str, Field(max_length=MAX_FILE, description="In place of a brief; a run `plan` reads its plan off.")
    ] = "",
    title: Title = "",
    system: System = "",
    model: ModelName = "",
    base_url: Annotated[
        str, OwnersOnly(), Field(max_length=500, description="The model's address, such as http://127.0.0.1:8080/v1.")
    ] = "",
    words: Annotated[str, Field(max_length=40, description='The length, such as "600" or "500-700".')] = "",
    preset: Annotated[
        Literal["", "faithful", "improved"], Field(description="The paper's method as it is, or improved.")
    ] = "",
    seed: Annotated[int | None, Field(ge=0, le=2**31 - 1, description="Of what is left to chance.")] = None,
) -> ProjectLine:
    """Make a project for a brief, or for a story whose plan is to be read off.

    What is left out is chosen as `fabula write` chooses it. Nothing is asked of a model yet; the settings are checked.

    Raises:
        FabulaError: a setting does not hold, or there is no such system or model.
    """
    if brief and story:
        raise UsageError("Send a brief or a story, not both.")
    kind: Literal["brief", "story"] = "story" if story else "brief"
    wanted = Beginning(story or brief, kind, title, system, model, base_url, words)
    said = {"preset": preset or None, "seed": seed}
    return await _made(shelf, wanted, {name: value for name, value in said.items() if value is not None})


@verb("POST", "/manuscripts", "projects")
async def import_manuscript(
    shelf: Shelf,
    text: Annotated[
        str,
        Field(
            max_length=MAX_STORY,
            description="The whole manuscript, in Markdown or plain.",
            examples=["# One\n\nThe ferry was late.\n\n# Two\n\nIt came."],
        ),
    ],
    *,
    source: Annotated[str, Field(max_length=255, description="The name of its file.")] = "",
    title: Title = "",
    system: System = "",
    model: ModelName = "",
) -> ProjectLine:
    """Make a project of a manuscript: its parts become the story's, word for word. Nobody is asked.

    Raises:
        FabulaError: it is empty, a part of it is too long, or there is no such system or model.
    """
    wanted = Beginning(text, "manuscript", title, system, model, source=source or "pasted text")
    return await _made(shelf, wanted, {})


@verb("POST", "/samples", "projects")
async def sample(shelf: Shelf) -> ProjectLine:
    """Copy the sample project.

    Raises:
        ProjectError: it cannot be copied there.
    """
    return ProjectLine.of(shelf, shelf.add_sample())


async def _made(shelf: Shelf, wanted: Beginning, said: dict[str, Any]) -> ProjectLine:
    def made() -> ProjectLine:
        tables = wanted.tables(os.environ if shelf.environ is None else shelf.environ) | said
        return ProjectLine.of(shelf, shelf.make(wanted.called, lambda folder: begin(wanted, folder, tables)))

    return await asyncio.to_thread(made)
