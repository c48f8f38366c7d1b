"""The verbs as tools of the Model Context Protocol: one tool for each, with the verb's arguments and result."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args

from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from fabula.base.files import inside, write_atomically
from fabula.verbs.base import File, OwnersOnly, as_data, every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server.mcpserver import MCPServer

    from fabula.app.bills import Estimate
    from fabula.engine.events import Listener
    from fabula.server.mcp_tools import Projects
    from fabula.verbs.base import Verb
    from fabula.verbs.home import Project as Door

    Done = Callable[[Callable[[], Any]], Awaitable[str]]
    Asked = Callable[..., Awaitable[Any]]

ProjectName = Annotated[str, Field(description="The name of the project, as `projects` lists it.")]
OwnModelWanted = Annotated[bool, Field(description="Whether your own model writes, if you offer it.")]
DryRunWanted = Annotated[bool, Field(description="Whether to report only the number of calls, tokens and dollars.")]


def add_verbs(offered: MCPServer[Any], projects: Projects, done: Done, asked: Asked) -> None:
    """Offer a tool for each verb; `done` gives its result as text, and so does `asked` if the verb calls a model."""
    for verb in every().values():
        about = "\n\n".join(part for part in (f"{verb.summary}.", verb.description) if part)
        if verb.long:
            tool = _long_tool(verb, projects, done, asked)
        else:
            tool = _asking_tool(verb, projects, asked) if verb.at_once else _tool(verb, projects, done)
        offered.add_tool(
            tool,
            name=verb.name,
            description=about,
            annotations=ToolAnnotations(read_only_hint=not verb.changes),
            structured_output=False,
        )


def _tool(verb: Verb, projects: Projects, done: Done) -> Callable[..., Awaitable[str]]:
    """The function that a client calls, with the signature that the client is shown."""

    async def tool(**given: Any) -> str:  # noqa: ANN401 - as the verb has them
        project = given.pop("project") if verb.of_project else ""

        def work() -> Any:  # noqa: ANN401 - JSON data
            opened = projects.opened(project) if verb.of_project else projects.home
            made = opened.do(verb, verb.from_outside(verb.bound((), given), projects.home.folder))
            if not isinstance(made, File):
                return as_data(made)
            write_atomically(inside(projects.opened(project).folder, made.name), made.content)
            return made.about() | {"file": f"{project}/{made.name}"}

        return await done(lambda: asyncio.to_thread(work))

    return _shown(tool, verb, {"project": ProjectName} if verb.of_project else {})


def _asking_tool(verb: Verb, projects: Projects, asked: Asked) -> Callable[..., Awaitable[Any]]:
    """The tool for a verb that calls a model and answers immediately."""

    async def tool(project: str, ctx: Context[Any, Any], *, use_client_model: bool = False, **given: Any) -> Any:  # noqa: ANN401 - a text, or what the client has to answer first
        return await asked(
            ctx, project, lambda hear: projects.answered(verb, project, hear, given, own_model=use_client_model)
        )

    by_us = {"project": ProjectName, "ctx": Context[Any, Any]}
    return _shown(tool, verb, by_us, {"use_client_model": OwnModelWanted})


def _long_tool(verb: Verb, projects: Projects, done: Done, asked: Asked) -> Callable[..., Awaitable[Any]]:
    """The tool for a long-running verb; it may call the client's model, and it reports its progress."""

    async def tool(
        project: str,
        ctx: Context[Any, Any],
        *,
        dry_run: bool = False,
        use_client_model: bool = False,
        **given: Any,  # noqa: ANN401 - as the verb has them
    ) -> Any:  # noqa: ANN401 - a text, or what the client has to answer first
        def opened() -> tuple[Door, dict[str, Any]]:
            arguments = verb.from_outside(verb.bound((), given), projects.home.folder)
            return projects.opened(project, own_model=use_client_model), arguments

        def foreseen() -> Estimate:
            door, arguments = opened()
            return door.estimated(verb, arguments)

        async def work(hear: Listener) -> dict[str, Any]:
            door, arguments = opened()
            return {"done": True, "project": project, **as_data(await door.do_async(verb, arguments, hear))}

        if dry_run:
            return await done(lambda: asyncio.to_thread(lambda: as_data(foreseen())))
        return await asked(ctx, project, work, lambda: asyncio.to_thread(foreseen))

    by_us = {"project": ProjectName, "ctx": Context[Any, Any]}
    return _shown(tool, verb, by_us, {"dry_run": DryRunWanted, "use_client_model": OwnModelWanted})


def _shown(
    tool: Callable[..., Awaitable[Any]], verb: Verb, before: Mapping[str, Any], flags: Mapping[str, Any] | None = None
) -> Callable[..., Awaitable[Any]]:
    """A tool with the signature that a client is shown: our parameters, the verb's arguments, and flags."""
    kind = inspect.Parameter.KEYWORD_ONLY
    own = [one for one in verb.signature.parameters.values() if not _is_owners(one.annotation)]
    taken = [inspect.Parameter(name, kind, annotation=one) for name, one in before.items()]
    taken += [one.replace(kind=kind) for one in own]
    taken += [inspect.Parameter(name, kind, annotation=one, default=False) for name, one in (flags or {}).items()]
    tool.__signature__ = inspect.Signature(taken, return_annotation=Any)  # type: ignore[attr-defined] # what `mcp` reads
    tool.__annotations__ = {one.name: one.annotation for one in taken} | {"return": Any}
    tool.__name__ = verb.name
    return tool


def _is_owners(annotation: Any) -> bool:  # noqa: ANN401 - a type
    return any(isinstance(one, OwnersOnly) for one in get_args(annotation)[1:])
