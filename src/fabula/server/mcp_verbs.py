"""The verbs as tools of the Model Context Protocol: one for each, with its arguments and its result."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

from mcp_types import ToolAnnotations
from pydantic import Field

from fabula.base.files import inside, write_atomically
from fabula.verbs.base import File, OwnersOnly, as_data, every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.mcpserver import MCPServer

    from fabula.server.mcp_tools import Projects
    from fabula.verbs.base import Verb

ProjectName = Annotated[str, Field(description="Its name, as `projects` gives it.")]


ASKING: Final = (every()["chat"], every()["read_people"])
"""Those that ask a model, which may be the client's own."""


def add_verbs(offered: MCPServer[Any], projects: Projects, done: Callable[[Callable[[], Any]], Awaitable[str]]) -> None:
    """Offer a tool for each verb that asks nobody; `done` gives its result as a text, and errors as a tool does."""
    for verb in every().values():
        if verb not in ASKING:
            add_verb(offered, verb, _tool(verb, projects, done))


def _tool(
    verb: Verb, projects: Projects, done: Callable[[Callable[[], Any]], Awaitable[str]]
) -> Callable[..., Awaitable[str]]:
    """What a client calls, with the signature that it is shown."""

    async def tool(**given: Any) -> str:  # noqa: ANN401 - as the verb has them
        project = given.pop("project") if verb.of_project else ""

        def work() -> Any:  # noqa: ANN401 - JSON data
            opened = projects.opened(project) if verb.of_project else projects.home
            made = opened.do(verb, verb.bound((), given))
            if not isinstance(made, File):
                return as_data(made)
            write_atomically(inside(projects.opened(project).folder, made.name), made.content)
            return made.about() | {"file": f"{project}/{made.name}"}

        return await done(lambda: asyncio.to_thread(work))

    return tool


def add_verb(offered: MCPServer[Any], verb: Verb, tool: Callable[..., Awaitable[Any]], **more: Any) -> None:  # noqa: ANN401 - types
    """Offer a tool for a verb, which a client sees with the verb's arguments, and `more` of the tool's own."""
    defaults = {name: one.default for name, one in inspect.signature(tool).parameters.items()}
    ours = {"project": ProjectName, **more} if verb.of_project else more
    own = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=defaults.get(name, inspect.Parameter.empty)
        )
        for name, kind in ours.items()
    ]
    theirs = [one for one in verb.signature.parameters.values() if not _is_owners(one.annotation)]
    taken = [*own, *(one.replace(kind=one.KEYWORD_ONLY) for one in theirs)]
    tool.__signature__ = inspect.Signature(taken, return_annotation=str)  # type: ignore[attr-defined] # what `mcp` reads
    tool.__annotations__ = {one.name: one.annotation for one in taken} | {"return": str}
    tool.__name__ = verb.name
    offered.add_tool(
        tool,
        name=verb.name,
        description="\n\n".join(part for part in (f"{verb.summary}.", verb.description) if part),
        annotations=ToolAnnotations(read_only_hint=not verb.changes),
        structured_output=False,
    )


def _is_owners(annotation: Any) -> bool:  # noqa: ANN401 - a type
    return any(isinstance(one, OwnersOnly) for one in get_args(annotation)[1:])
