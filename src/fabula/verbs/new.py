"""`new`, `import_manuscript`, `sample`: create a project."""

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
        description="What you want written; its first heading becomes the title.",
        examples=["# The Ferry\n\nOdile takes the last ferry home."],
    ),
]
Title: TypeAlias = Annotated[
    str, Field(max_length=200, description="The title, if it differs from the heading of the text.")
]
System: TypeAlias = Annotated[
    str, Field(max_length=100, description="The writing system; default: the one that fabula selects.")
]
ModelName: TypeAlias = Annotated[
    str,
    Field(
        max_length=LONGEST_NAME, description="The model, such as `openai:gpt-5`; default: the one that fabula selects."
    ),
]


@verb("POST", "/projects", "projects")
async def new(
    shelf: Shelf,
    brief: Brief = "",
    *,
    story: Annotated[
        str,
        Field(max_length=MAX_FILE, description="A story instead of a brief; the run `plan` derives a plan from it."),
    ] = "",
    title: Title = "",
    system: System = "",
    model: ModelName = "",
    base_url: Annotated[
        str, OwnersOnly(), Field(max_length=500, description="The model's address, such as http://127.0.0.1:8080/v1.")
    ] = "",
    words: Annotated[str, Field(max_length=40, description='The length, such as "600" or "500-700".')] = "",
    preset: Annotated[
        Literal["", "faithful", "improved"], Field(description="The method as published, or with our additions.")
    ] = "",
    seed: Annotated[int | None, Field(ge=0, le=2**31 - 1, description="Seed of all random choices.")] = None,
) -> ProjectLine:
    """Create a project for a brief, or for a story from which a run derives a plan.

    The defaults are those of `fabula write`. The settings are checked, but no model is called yet.

    Raises:
        FabulaError: a setting is invalid, or the system or model does not exist.
    """
    if brief and story:
        raise UsageError("Send either a brief or a story, not both.")
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
            description="The complete manuscript, as Markdown or plain text.",
            examples=["# One\n\nThe ferry was late.\n\n# Two\n\nIt came."],
        ),
    ],
    *,
    source: Annotated[str, Field(max_length=255, description="The name of its file.")] = "",
    title: Title = "",
    author: Annotated[str, Field(max_length=200, description="Your name, for title pages.")] = "",
    own: Annotated[bool, Field(description="It is your own prose: keep it as a sample for the style sheet.")] = False,
    system: System = "",
    model: ModelName = "",
) -> ProjectLine:
    """Create a project from a manuscript, whose parts become the parts of the story, word for word. No model is called.

    Raises:
        FabulaError: the manuscript is empty, a part is too long, or the system or model does not exist.
    """
    source = source or "pasted text"
    wanted = Beginning(text, "manuscript", title, system, model, source=source, author=author, own=own)
    return await _made(shelf, wanted, {})


@verb("POST", "/samples", "projects")
async def sample(shelf: Shelf) -> ProjectLine:
    """Copy the sample project.

    Raises:
        ProjectError: the sample cannot be copied to the folder.
    """
    return ProjectLine.of(shelf, shelf.add_sample())


async def _made(shelf: Shelf, wanted: Beginning, said: dict[str, Any]) -> ProjectLine:
    def made() -> ProjectLine:
        tables = wanted.tables(os.environ if shelf.environ is None else shelf.environ) | said
        return ProjectLine.of(shelf, shelf.make(wanted.called, lambda folder: begin(wanted, folder, tables)))

    return await asyncio.to_thread(made)
