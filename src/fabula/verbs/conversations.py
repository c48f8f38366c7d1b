"""`conversations`, `people`, `read_people`: the conversations of a project and its characters."""

from __future__ import annotations

from dataclasses import replace

from fabula.app.bills import Estimate
from fabula.app.conversations import ChatList, People, chats_in
from fabula.app.conversing import dry_run_names, read_names
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import FabulaError
from fabula.craft.narratives import people_read
from fabula.verbs.base import verb


@verb("GET", "/chats", "chats")
async def conversations(project: Workspace) -> ChatList:
    """List the conversations, most recent first, and the characters that you can talk to."""
    return chats_in(project.project())


@verb("GET", "/people", "chats")
async def people(project: Workspace) -> People:
    """List the characters of the story, and show the cost of having a model find them. Calls no model.

    If the plan, cards and world do not name the characters, a model can find them: `read_people`.
    """
    here = project.project()
    found = chats_in(here)
    known = People(characters=found.characters, named=found.named, was_read=found.was_read)
    try:
        dry = await dry_run_names(here, project.settings(here), project.options, people_read)
    except FabulaError as error:
        return replace(known, problem=str(error))
    return replace(known, reading=Estimate.of(dry))


@verb("POST", "/people", "chats", at_once=True)
async def read_people(project: Workspace) -> People:
    """Have a model find the characters of the story.

    This happens once for each version of the story, and the result is recorded. `people` shows the cost in advance.
    """
    here = project.project()
    await read_names(here, project.settings(here), project.options, people_read)
    return await people(project)
