"""`conversations`, `people`, `read_people`: what was talked about in a project, and who can be talked to."""

from __future__ import annotations

from dataclasses import replace

from fabula.app.bills import Estimate
from fabula.app.conversations import ChatList, People, chats_in
from fabula.app.conversing import dry_run_people
from fabula.app.conversing import read_people as have_read
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import FabulaError
from fabula.verbs.base import verb


@verb("GET", "/chats", "chats")
async def conversations(project: Workspace) -> ChatList:
    """The conversations, the one that was last talked in first, and who can be talked to."""
    return chats_in(project.project())


@verb("GET", "/people", "chats")
async def people(project: Workspace) -> People:
    """Who is in the story, and what having it read for its people would take. Asks nobody.

    Where no plan, card or world says who is in the story, a model can read it: `read_people`.
    """
    here = project.project()
    found = chats_in(here)
    known = People(characters=found.characters, named=found.named, was_read=found.was_read)
    try:
        dry = await dry_run_people(here, project.settings(here), project.options)
    except FabulaError as error:
        return replace(known, problem=str(error))
    return replace(known, reading=Estimate.of(dry))


@verb("POST", "/people", "chats", at_once=True)
async def read_people(project: Workspace) -> People:
    """Have a model read who is in the story.

    Asked once for each version of the story, and recorded; `people` says before what it takes.
    """
    here = project.project()
    await have_read(here, project.settings(here), project.options)
    return await people(project)
