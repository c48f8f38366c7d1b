"""The verbs as tools of the Model Context Protocol: one for each, with its arguments and its result."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import ToolAnnotations
from pydantic import Field

from fabula.base.files import inside, write_atomically
from fabula.verbs.base import File, as_data, every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.mcpserver import MCPServer

    from fabula.server.mcp_tools import Projects
    from fabula.verbs.base import Verb

ProjectName = Annotated[str, Field(description="Its name, as `list_projects` gives it.")]


def add_verbs(offered: MCPServer[Any], projects: Projects, done: Callable[[Callable[[], Any]], Awaitable[str]]) -> None:
    """Offer a tool for each verb; `done` gives its result as a text, and says errors as a tool does."""
    for verb in every().values():
        about = "\n\n".join(part for part in (f"{verb.summary}.", verb.description) if part)
        offered.add_tool(
            _tool(verb, projects, done),
            name=verb.name,
            description=about,
            annotations=ToolAnnotations(read_only_hint=not verb.changes),
            structured_output=False,
        )


def _tool(
    verb: Verb, projects: Projects, done: Callable[[Callable[[], Any]], Awaitable[str]]
) -> Callable[..., Awaitable[str]]:
    """What a client calls, with the signature that it is shown."""

    async def tool(project: str, **given: Any) -> str:  # noqa: ANN401 - as the verb has them
        def work() -> Any:  # noqa: ANN401 - JSON data
            opened = projects.opened(project)
            made = opened.do(verb, verb.bound((), given))
            if not isinstance(made, File):
                return as_data(made)
            write_atomically(inside(opened.folder, made.name), made.content)
            return made.about() | {"file": f"{project}/{made.name}"}

        return await done(lambda: asyncio.to_thread(work))

    named = inspect.Parameter("project", inspect.Parameter.KEYWORD_ONLY, annotation=ProjectName)
    taken = [one.replace(kind=one.KEYWORD_ONLY) for one in verb.signature.parameters.values()]
    tool.__signature__ = inspect.Signature([named, *taken], return_annotation=str)  # type: ignore[attr-defined] # as above
    tool.__annotations__ = {one.name: one.annotation for one in (named, *taken)} | {"return": str}
    tool.__name__ = verb.name
    return tool
