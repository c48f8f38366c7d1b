"""`calls`, `call`: what was asked and answered in a project."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.past_calls import LONGEST, MOST, CallList, WholeCall, call_of, calls_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError
from fabula.engine.journal import CallFilter
from fabula.verbs.base import verb

Search: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="Stands in a prompt or a reply.")]
Role: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="Who was asked.")]
ModelName: TypeAlias = Annotated[str, Field(max_length=LONGEST, description="Who answered.")]
Under: TypeAlias = Annotated[
    str, Field(max_length=1000, description="The artefact, or a path of calls, with all below it.")
]
Number: TypeAlias = Annotated[int, Field(ge=1, le=2**53, description="Of a call.")]
Before: TypeAlias = Annotated[
    int | None, Field(ge=1, le=2**53, description="Only calls before the one of this number.")
]


@verb("GET", "/calls", "calls")
async def calls(
    project: Workspace,
    search: Search = "",
    role: Role = "",
    model: ModelName = "",
    artefact: Under = "",
    before: Before = None,
    most: Annotated[int, Field(ge=1, le=200, description="So many are given at once.")] = MOST,
) -> CallList:
    """What was asked and answered, the newest first.

    Text is sought in prompts and replies, whole.
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
    """One call, with its prompt and its reply.

    Its neighbours are those of the list with the same filters.

    Raises:
        UnknownNameError: there is none of that number.
    """
    with project.texts().journal as journal:
        found = call_of(journal, number, CallFilter(search, role, model, artefact))
    if found is None:
        raise UnknownNameError("call", str(number), ())
    return found
