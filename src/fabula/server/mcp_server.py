"""The server of the Model Context Protocol: tools and resources of projects, and the client's own model in its roles.

A client asks its model for us in one of two ways. Older ones are asked while a tool is at work. Since the protocol of
2026-07-28 a tool that needs something ends instead, says what, and is called again with it. That costs us nothing: what
was answered is in the journal, so the run begins anew and replays up to the prompt that waits.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

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
)
from mcp_types.version import is_version_at_least

from fabula.base.errors import FabulaError, ModelError, ModelUnavailableError, PausedError
from fabula.base.version import __version__
from fabula.engine.events import CallFinished, CallStarted
from fabula.models.answer_files import file_name
from fabula.models.base import Reply
from fabula.models.outside import ANSWERS, CLIENT
from fabula.models.prompt_text import form_wanted
from fabula.server.mcp_verbs import add_verbs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from fabula.app.bills import Estimate
    from fabula.engine.events import Event, Listener
    from fabula.models.base import Request
    from fabula.server.mcp_tools import Projects

T = TypeVar("T")
Work: TypeAlias = "Callable[[Listener], Awaitable[Any]]"
Coming: TypeAlias = "Callable[[], Awaitable[Estimate]]"
Asked: TypeAlias = "Callable[..., Awaitable[Any]]"

INSTRUCTIONS: Final = """Projects of long stories, each a folder of plain files: a brief, a plan, parts of the story.
`new` makes one, `write` writes its story, with the roles of a paper's writing method. Change a text with \
`edit`; `update` writes again what hangs on it. `check` finds contradictions, `chat` talks with the characters. What \
takes long says with `dry_run` what it would ask and cost: see that before you `update`. Every change can be taken \
back with `undo`."""
_ROUNDS_SINCE: Final = "2026-07-28"  # the protocol in which a tool is called again with what it needs
_ROUNDS: Final = 9  # clients give up after ten
_TOGETHER: Final = 0.05  # seconds in which calls side by side gather
_LONGEST: Final = 8_192  # tokens of a reply, where nothing bounds it
_CUT: Final = "maxTokens"
_OF_STATE: Final = 2  # numbers that a call made again brings back


@dataclass
class Asking:
    """Has a client's own model answer prompts, within one call of a tool."""

    ctx: Context[Any, Any]
    pending: dict[str, CreateMessageRequest] = field(default_factory=dict)

    @property
    def offered(self) -> bool:
        """Whether the client offers its model."""
        able = self.ctx.client_capabilities
        return able is not None and able.sampling is not None

    @property
    def in_rounds(self) -> bool:
        """Whether a tool ends with what it needs, and is called again."""
        version = self.ctx.protocol_version
        return version is not None and is_version_at_least(version, _ROUNDS_SINCE)

    @property
    def state(self) -> tuple[int, int]:
        """How often the tool was called again, and how many calls to a model were announced at first."""
        parts = (self.ctx.request_state or "").split("/")
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal()]
        return (numbers[0], numbers[1]) if len(numbers) == _OF_STATE else (0, 0)

    async def answer(self, request: Request) -> Reply:
        """The reply of the client's model.

        Raises:
            PausedError: the client has to be asked first, between two calls of the tool.
            ModelError: it did not answer.
        """
        if not self.in_rounds:
            return await self._answered_at_once(request)
        name = file_name(request)
        said = (self.ctx.input_responses or {}).get(name)
        if isinstance(said, CreateMessageResult):
            return _reply(said)
        self.pending[name] = CreateMessageRequest(params=_params(request))
        await asyncio.sleep(_TOGETHER)
        raise PausedError(f"The role {request.role!r} waits for the client's model.", path=request.path)

    async def _answered_at_once(self, request: Request) -> Reply:
        asked = _params(request)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)  # clients of today have no other way
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
                f"The client's model did not answer: {error}. Allow it in the client, and call the tool again; "
                "finished calls are kept.",
                model=CLIENT,
            ) from error
        return _reply(said)


def _params(request: Request) -> CreateMessageRequestParams:
    """A request as a client takes it; the form that is wanted stands at the end of the last message."""
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
        raise ModelError("The client's model gave no text. Call the tool again.", model=CLIENT)
    return Reply(said.content.text, finish="length" if said.stop_reason == _CUT else "stop")


class Reporting:
    """Tells a client how a run goes on; events come from within the run, and are sent beside it.

    Where a tool is called again and again, what was told in an earlier round is not told anew.
    """

    def __init__(self, asking: Asking) -> None:
        self.total = 0
        self._ctx, self._in_rounds, self._done = asking.ctx, asking.in_rounds, 0
        self._said: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        """Take an event in."""
        if isinstance(event, CallStarted) and not self._in_rounds:
            self._said.put_nowait((self._done, f"{event.role} is at work"))
        elif isinstance(event, CallFinished):
            self._done += 1
            if not event.replayed:
                self._said.put_nowait((self._done, f"{event.role} has answered ({event.path})"))

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send what is heard until the end of the block."""
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
    """A server of the projects below a folder; `shown` takes out of texts what nobody is to see, such as keys."""
    offered: MCPServer[Any] = MCPServer(
        "fabula", instructions=INSTRUCTIONS, version=__version__, website_url=None, log_level="ERROR"
    )
    add_verbs(offered, projects, _done(shown), _asked(shown))
    _add_resources(offered, projects, shown)
    return offered


def _text(data: Any, shown: Callable[[str], str]) -> str:  # noqa: ANN401 - JSON data
    return shown(json.dumps(data, ensure_ascii=False, indent=1))


def _done(shown: Callable[[str], str]) -> Callable[[Callable[[], Any]], Awaitable[str]]:
    """Does the work of a tool that asks no model."""

    async def done(work: Callable[[], Any]) -> str:
        try:
            made = work()
            return _text(await made if asyncio.iscoroutine(made) else made, shown)
        except FabulaError as error:
            raise ToolError(shown(str(error))) from error

    return done


def _asked(shown: Callable[[str], str]) -> Asked:
    """Does the work of a tool that may ask a model: its text, or what the client has to answer first."""

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
                after = f"{again} prompts were answered and are kept. Call this tool again to go on."
                return _text({"done": False, "project": project, "next": after}, shown)
            return InputRequiredResult(input_requests=dict(asking.pending), request_state=f"{again + 1}/{total}")
        finally:
            ANSWERS.reset(mark)

    return asked


async def _apart(work: Awaitable[T]) -> T:
    """What `work` gives, done in a task of its own; a cancelled tool returns when that has ended.

    The SDK cancels by scopes, which count the cancellations of their task; a run has cancellations of its own, where
    one of several calls side by side fails.
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
    """How many calls a run walks through, for its progress; 0 where that cannot be said before it begins."""
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
        """The story of a project, whole."""
        return given(lambda: projects.opened(project).text().text)

    @offered.resource("fabula://{project}/plan", mime_type="text/markdown")
    def plan(project: str) -> str:
        """The plan of a project: conflict, characters, setting, plot."""
        return given(lambda: projects.plan(project))

    @offered.resource("fabula://{project}/world", mime_type="text/markdown")
    def world(project: str) -> str:
        """What is true in the story of a project, as its runs recorded it."""
        return given(lambda: projects.world(project))

    @offered.resource("fabula://{project}/findings", mime_type="text/markdown")
    def findings(project: str) -> str:
        """Where the story of a project contradicts itself, as the last check found."""
        return given(lambda: projects.findings(project))
