"""The server of the Model Context Protocol: tools and resources of projects, and the client's own model in its roles.

A client can call its model for us in one of two ways. Older clients are asked while a tool is running. Since the
protocol of 2026-07-28, a tool that needs a reply ends instead, names the prompt, and is called again with the reply.
This costs nothing: the run starts again and replays the journal up to the prompt that waits.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, get_args

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import is_version_at_least
from pydantic import Field

from fabula.base.errors import FabulaError, ModelError, ModelUnavailableError, PausedError
from fabula.base.files import inside, write_atomically
from fabula.base.version import __version__
from fabula.engine.events import CallFinished, CallStarted, Event, Listener
from fabula.models.answer_files import file_name
from fabula.models.base import Reply, Request
from fabula.models.outside import ANSWERS, CLIENT
from fabula.models.prompt_text import form_wanted
from fabula.verbs.base import File, OwnersOnly, Verb, as_data, every

if TYPE_CHECKING:
    from fabula.app.bills import Estimate
    from fabula.server.mcp_tools import Projects
    from fabula.verbs.home import Project as Door


T = TypeVar("T")
Work: TypeAlias = "Callable[[Listener], Awaitable[Any]]"
Coming: TypeAlias = "Callable[[], Awaitable[Estimate]]"
Asked: TypeAlias = "Callable[..., Awaitable[Any]]"
Done: TypeAlias = "Callable[[Callable[[], Any]], Awaitable[str]]"

INSTRUCTIONS: Final = """Projects of long stories, each a folder of plain files: a brief, a plan and parts of the story.
`new` creates a project. `write` writes its story, with the roles of a paper's writing method. Change a text with \
`edit`; `update` rewrites the texts that depend on it. `check` finds contradictions, and `chat` talks with the \
characters. With `dry_run`, a long-running tool only reports its calls and cost: look at them before you `update`. \
You can reverse every change with `undo`."""
_ROUNDS_SINCE: Final = "2026-07-28"  # the first protocol in which a tool is called again with what it needs
_ROUNDS: Final = 9  # clients give up after ten
_TOGETHER: Final = 0.05  # seconds in which concurrent calls are collected
_LONGEST: Final = 8_192  # tokens of a reply, if nothing limits it
_CUT: Final = "maxTokens"
_OF_STATE: Final = 2  # numbers that a repeated call brings back


@dataclass
class Asking:
    """Lets a client's own model answer prompts within one call of a tool."""

    ctx: Context[Any, Any]
    pending: dict[str, CreateMessageRequest] = field(default_factory=dict)

    @property
    def offered(self) -> bool:
        """Whether the client offers its model."""
        able = self.ctx.client_capabilities
        return able is not None and able.sampling is not None

    @property
    def in_rounds(self) -> bool:
        """Whether a tool that needs replies ends and is called again with them."""
        version = self.ctx.protocol_version
        return version is not None and is_version_at_least(version, _ROUNDS_SINCE)

    @property
    def state(self) -> tuple[int, int]:
        """How often the tool was called again, and how many model calls it announced at first."""
        parts = (self.ctx.request_state or "").split("/")
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal()]
        return (numbers[0], numbers[1]) if len(numbers) == _OF_STATE else (0, 0)

    async def answer(self, request: Request) -> Reply:
        """The reply of the client's model.

        Raises:
            PausedError: the client must be asked first, between two calls of the tool.
            ModelError: the model did not answer.
        """
        if not self.in_rounds:
            return await self._answered_at_once(request)
        name = file_name(request)
        said = (self.ctx.input_responses or {}).get(name)
        if isinstance(said, CreateMessageResult):
            return _reply(said)
        self.pending[name] = CreateMessageRequest(params=_params(request))
        await asyncio.sleep(_TOGETHER)
        raise PausedError(f"The role {request.role!r} is waiting for the client's model.", path=request.path)

    async def _answered_at_once(self, request: Request) -> Reply:
        asked = _params(request)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)  # current clients have no other way
                said = await self.ctx.session.create_message(
                    asked.messages,
                    max_tokens=asked.max_tokens,
                    system_prompt=asked.system_prompt,
                    temperature=asked.temperature,
                    stop_sequences=asked.stop_sequences,
                    related_request_id=self.ctx.request_id,
                )
        except MCPError as error:
            raise ModelUnavailableError(
                f"The client's model did not answer: {error}. Allow it in the client, and call the tool again. "
                "Finished calls are kept.",
                model=CLIENT,
            ) from error
        return _reply(said)


def _params(request: Request) -> CreateMessageRequestParams:
    """A request in the client's format; the required form of the reply is at the end of the last message."""
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    turns = [(message.role, message.content) for message in request.messages if message.role != "system"]
    if form := form_wanted(request):
        turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n\n{form}")
    return CreateMessageRequestParams(
        messages=[
            SamplingMessage(
                role="assistant" if role == "assistant" else "user", content=TextContent(type="text", text=text)
            )
            for role, text in turns
        ],
        system_prompt=system or None,
        temperature=request.sampling.temperature,
        max_tokens=request.sampling.max_tokens or _LONGEST,
        stop_sequences=list(request.sampling.stop) or None,
    )


def _reply(said: CreateMessageResult) -> Reply:
    if not isinstance(said.content, TextContent) or not said.content.text.strip():
        raise ModelError("The client's model returned no text. Call the tool again.", model=CLIENT)
    return Reply(said.content.text, finish="length" if said.stop_reason == _CUT else "stop")


class Reporting:
    """Reports the progress of a run to a client; events come from within the run and are sent concurrently.

    If a tool is called several times, progress that was reported in an earlier round is not reported again.
    """

    def __init__(self, asking: Asking) -> None:
        self.total = 0
        self._ctx, self._in_rounds, self._done = asking.ctx, asking.in_rounds, 0
        self._said: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        """Handle an event."""
        if isinstance(event, CallStarted) and not self._in_rounds:
            self._said.put_nowait((self._done, f"{event.role} is working"))
        elif isinstance(event, CallFinished):
            self._done += 1
            if not event.replayed:
                self._said.put_nowait((self._done, f"{event.role} has answered ({event.path})"))

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send progress until the end of the block."""
        task = asyncio.create_task(self._send())
        try:
            yield
            self._said.put_nowait(None)
            await task
        finally:
            task.cancel()

    async def _send(self) -> None:
        sent = 0.0
        while (said := await self._said.get()) is not None:
            done, message = said
            sent = max(sent + 0.001, float(done))  # it has to grow with every message
            with suppress(MCPError):
                await self._ctx.report_progress(sent, max(self.total, done) or None, message)


def server(projects: Projects, shown: Callable[[str], str]) -> MCPServer[Any]:
    """A server for the projects below a folder; `shown` removes secrets, such as keys, from texts."""
    offered: MCPServer[Any] = MCPServer(
        "fabula", instructions=INSTRUCTIONS, version=__version__, website_url=None, log_level="ERROR"
    )
    add_verbs(offered, projects, _done(shown), _asked(shown))
    _add_resources(offered, projects, shown)
    return offered


def _text(data: Any, shown: Callable[[str], str]) -> str:  # noqa: ANN401 - JSON data
    return shown(json.dumps(data, ensure_ascii=False, indent=1))


def _done(shown: Callable[[str], str]) -> Callable[[Callable[[], Any]], Awaitable[str]]:
    """Does the work of a tool that calls no model."""

    async def done(work: Callable[[], Any]) -> str:
        try:
            made = work()
            return _text(await made if asyncio.iscoroutine(made) else made, shown)
        except FabulaError as error:
            raise ToolError(shown(str(error))) from error

    return done


def _asked(shown: Callable[[str], str]) -> Asked:
    """Does the work of a tool that may call a model: gives its text, or the prompts that the client must answer."""

    async def asked(ctx: Context[Any, Any], project: str, work: Work, coming: Coming | None = None) -> Any:  # noqa: ANN401 - either of the two
        asking = Asking(ctx)
        reporting = Reporting(asking)
        again, total = asking.state
        reporting.total = total = total or await _planned(coming)
        mark = ANSWERS.set({CLIENT: asking.answer} if asking.offered else {})
        try:
            async with reporting.sending():
                return _text(await _apart(work(reporting)), shown)
        except FabulaError as error:
            if not asking.pending:
                raise ToolError(shown(str(error))) from error
            if again >= _ROUNDS:
                after = f"{again} prompts were answered and are kept. Call this tool again to continue."
                return _text({"done": False, "project": project, "next": after}, shown)
            return InputRequiredResult(input_requests=dict(asking.pending), request_state=f"{again + 1}/{total}")
        finally:
            ANSWERS.reset(mark)

    return asked


async def _apart(work: Awaitable[T]) -> T:
    """The result of `work`, done in a separate task; a cancelled tool returns when that task has ended.

    The SDK cancels by scopes, which count the cancellations of their task. A run has its own cancellations if one of
    several concurrent calls fails.
    """
    task = asyncio.ensure_future(work)
    try:
        return await task
    finally:
        task.cancel()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])


async def _planned(coming: Coming | None) -> int:
    """The number of calls in a run, for its progress; 0 if it is not known before the run begins."""
    if coming is None:
        return 0
    try:
        found = await coming()
    except FabulaError:
        return 0
    return found.total_calls + found.replayed


def _add_resources(offered: MCPServer[Any], projects: Projects, shown: Callable[[str], str]) -> None:
    def given(read: Callable[[], str]) -> str:
        try:
            return shown(read())
        except FabulaError as error:
            raise ResourceError(shown(str(error))) from error

    @offered.resource("fabula://{project}/story", mime_type="text/markdown")
    def story(project: str) -> str:
        """The whole story of a project."""
        return given(lambda: projects.opened(project).text().text)

    @offered.resource("fabula://{project}/plan", mime_type="text/markdown")
    def plan(project: str) -> str:
        """The plan of a project: conflict, characters, setting and plot."""
        return given(lambda: projects.plan(project))

    @offered.resource("fabula://{project}/world", mime_type="text/markdown")
    def world(project: str) -> str:
        """The facts of the story of a project, as its runs recorded them."""
        return given(lambda: projects.world(project))

    @offered.resource("fabula://{project}/findings", mime_type="text/markdown")
    def findings(project: str) -> str:
        """The contradictions in the story of a project that the last check found."""
        return given(lambda: projects.findings(project))


# the verbs as tools ---------------------------------------------------------------------------------------------------


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
