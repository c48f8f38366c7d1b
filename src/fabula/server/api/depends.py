"""Dependencies for handlers of the API and of pages: write `def edit(workspace: WorkspaceDep)`.

A dependency that reads files is a plain function, which FastAPI runs in a thread. The others are `async` and need none.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Path, Request

from fabula.server.conversations import Conversations
from fabula.server.runs.children import Runs
from fabula.server.state import StudioState
from fabula.verbs.home import Home, Project


async def state_of(request: Request) -> StudioState:
    """The state of the server."""
    state: StudioState = request.app.state.studio
    return state


StateDep: TypeAlias = Annotated[StudioState, Depends(state_of)]


async def shelf_of(state: StateDep) -> Home:
    """The projects that are served."""
    return state.shelf


ShelfDep: TypeAlias = Annotated[Home, Depends(shelf_of)]
ProjectName: TypeAlias = Annotated[str, Path(description="The name of the project on the shelf.", max_length=200)]


def workspace_of(state: StateDep, project: ProjectName) -> Project:
    """The project that the address names."""
    state.conversations(project)  # they may keep it open
    return state.shelf[project]


def conversations_of(state: StateDep, project: ProjectName) -> Conversations:
    """The conversations of the project that the address names."""
    return state.conversations(project)


ConversationsDep: TypeAlias = Annotated[Conversations, Depends(conversations_of)]


async def runs_of(state: StateDep) -> Runs:
    """Long work in the projects."""
    return state.runs


RunsDep: TypeAlias = Annotated[Runs, Depends(runs_of)]
WorkspaceDep: TypeAlias = Annotated[Project, Depends(workspace_of)]
