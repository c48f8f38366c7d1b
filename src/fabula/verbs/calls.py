"""`calls`, `call`: the recorded calls of a project."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.past_calls import LONGEST, MOST, CallList, WholeCall, call_of, calls_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError
from fabula.engine.journal import CallFilter
from fabula.verbs.base import verb

Search: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="Text to search for in prompts and replies.")]
Role: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="The role that was called.")]
ModelName: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="Who answered.")]
Under: TypeAlias = Annotated[
    str, Field(max_length=1000, description="The artefact, or a path of calls including everything below it.")
]
Number: TypeAlias = Annotated[int, Field(ge=1, le=2**53, description="The number of the call.")]
Before: TypeAlias = Annotated[
    int | None, Field(ge=1, le=2**53, description="Only return calls before the call with this number.")
]


@verb("GET", "/calls", "calls")
async def calls(
    project: Workspace,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
    before: Before = None,
    most: Annotated[int, Field(ge=1, le=200, description="Maximum number of calls to return.")] = MOST,
) -> CallList:
    """List the calls of the project, newest first.

    `search` looks for text in complete prompts and replies.
    """
    with project.texts().journal as journal:
        return calls_of(journal, CallFilter(search, role, model, artefact), before=before, most=most)


@verb("GET", "/calls/{number}", "calls")
async def call(
    project: Workspace,
    number: Number,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
) -> WholeCall:
    """Return a call with its prompt and reply.

    Its neighbours are the adjacent calls in the list with the same filters.

    Raises:
        UnknownNameError: there is no call with that number.
    """
    with project.texts().journal as journal:
        found = call_of(journal, number, CallFilter(search, role, model, artefact))
    if found is None:
        raise UnknownNameError("call", str(number), ())
    return found
