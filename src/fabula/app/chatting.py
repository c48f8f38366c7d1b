"""A conversation with the characters of a story, line by line.

A `Chat` does not hold its project between two lines: each line opens it, continues from the conversation's log, and
closes it. Only the models stay open.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fabula.app.calling import waited_for
from fabula.app.conversations import ended
from fabula.app.conversing import Conversing, conversing
from fabula.app.writing import Options, PreparedMethod, Supplied
from fabula.base.errors import BriefError
from fabula.base.html import Html, joined, text
from fabula.craft import NARRATIVE_FILE
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Story, count_words, plain

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fabula.app.bills import Bill
    from fabula.craft.conversation import Conversation, Freedom, Parties, Turn
    from fabula.models.base import OnText
    from fabula.project.settings import Settings


T = TypeVar("T")


def project_for_talk(folder: Path, story: Story, name: str, changes: dict[str, Any]) -> ProjectFolder:
    """The project for conversations about a story, created if it does not exist; the story is its narrative.

    Raises:
        BriefError: the story has no words.
        ProjectError: the folder cannot be written.
    """
    if not count_words(story.text):
        raise BriefError(f"The story {name} is empty. Provide a text in which a character does something.")
    if (folder / "brief.md").exists():
        project = ProjectFolder.open(folder)
    else:
        title = story.title or name
        brief = Brief(f"Talk the story {title} through with its characters.", title)
        project = ProjectFolder.create(folder, brief, changes)
    project.write_given(NARRATIVE_FILE, plain(story.text))
    return project


class Chat:
    """A conversation with characters of a story, kept in the project like a conversation in a terminal.

    The models stay open until `close`, or the end of a `with` block.

    Attributes:
        project: the project that keeps it.
        name: the conversation's name.
        model: the model that answers by default.
        why: the reason for that model if none was named; else empty.
        bill: the cost so far.
    """

    def __init__(
        self, project: ProjectFolder, name: str, settings: Settings, options: Options, bill: Bill, why: str
    ) -> None:
        self.project, self.name, self.model, self.why, self.bill = project, name, settings.model, why, bill
        self._settings, self._options = settings, options
        self._open: list[Supplied] = []
        self._runners: list[asyncio.Runner] = []  # the loop of lines that are waited for
        self._conversation: Conversation | None = None
        weakref.finalize(self, _closed, self._open, self._runners)

    async def open(self, parties: Parties | None, freedom: Freedom | None) -> None:
        """Start or continue the conversation.

        Raises:
            FabulaError: an error of any kind.
        """
        async with self._opened() as open_:
            self._conversation = await open_.conversation(self.name, parties, freedom)
        await self.close_async()  # the first line may be said in another event loop

    # moves ----------------------------------------------------------------------------------------------------------

    async def say_async(self, line: str, on_text: OnText | None = None) -> Turn:
        """The answer to your line; pieces of it go to `on_text` as they arrive.

        Raises:
            UsageError: the line is empty or longer than 4,000 characters, or the story is over.
            FabulaError: no answer came; the conversation is unchanged.
        """
        return await self._moved(lambda conversation: conversation.say(line, on_text))

    async def go_on_async(self, on_text: OnText | None = None) -> Turn:
        """Let the story continue without a line from you; at its start, the character speaks first.

        Raises:
            UsageError: the story is over.
            FabulaError: no answer came; the conversation is unchanged.
        """
        return await self._moved(lambda conversation: conversation.move("go_on", "", on_text))

    async def retry_async(self, on_text: OnText | None = None) -> Turn:
        """Another answer in place of the last one.

        Raises:
            UsageError: there is no answer yet.
            FabulaError: no answer came; the conversation is unchanged.
        """
        return await self._moved(lambda conversation: conversation.retry(on_text))

    async def undo_async(self) -> Turn | None:
        """Take back the last turn; returns the one before it, or `None`.

        Raises:
            UsageError: there is no turn to take back.
        """
        return await self._moved(lambda conversation: conversation.undo())

    async def close_async(self) -> None:
        """Close the models. The next line opens them again."""
        while self._open:
            await self._open.pop().cast.close()

    def say(self, line: str, on_text: OnText | None = None) -> Turn:
        """Call `say_async` and wait for the answer."""
        return self._waited(self.say_async(line, on_text))

    def go_on(self, on_text: OnText | None = None) -> Turn:
        """Call `go_on_async` and wait for the answer."""
        return self._waited(self.go_on_async(on_text))

    def retry(self, on_text: OnText | None = None) -> Turn:
        """Call `retry_async` and wait for the answer."""
        return self._waited(self.retry_async(on_text))

    def undo(self) -> Turn | None:
        """Call `undo_async` and wait for the result."""
        return self._waited(self.undo_async())

    def close(self) -> None:
        """Call `close_async` and wait until the models are closed."""
        _closed(self._open, self._runners)

    def _waited(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._runners:
            self._runners.append(asyncio.Runner())
        return waited_for(work, self._runners[0].run)

    async def _moved(self, move: Callable[[Conversation], Awaitable[T]]) -> T:
        """The result of a move in the project as it is now."""
        async with self._opened() as open_:
            self._conversation = conversation = await open_.conversation(self.name)
            try:
                return await move(conversation)
            finally:
                conversation.log.write_transcript()

    def _opened(self) -> AbstractAsyncContextManager[Conversing]:
        if not self._open:
            self._open.append(Supplied(PreparedMethod(self._settings, self._options).cast()))
        return conversing(self.project, self._settings, self._options, self._open[0])

    # what was said ----------------------------------------------------------------------------------------------------

    @property
    def player(self) -> str:
        """The character that you play."""
        return self._conversation.parties.player if self._conversation else ""

    @property
    def others(self) -> tuple[str, ...]:
        """The characters that answer."""
        return self._conversation.parties.others if self._conversation else ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns so far."""
        return self._conversation.turns if self._conversation else ()

    @property
    def transcript(self) -> str:
        """The conversation as Markdown."""
        return self._conversation.transcript if self._conversation else ""

    @property
    def over(self) -> bool:
        """Whether the story has been told to its end."""
        return self._conversation is not None and self._conversation.where.over

    def to_dict(self) -> dict[str, Any]:
        """The conversation as `fabula chat --json` prints it at the end."""
        return asdict(ended(self.project, self._conversation, self.bill)) if self._conversation else {}

    def __repr__(self) -> str:
        return f"<Chat {self.name!r} in {self.project.folder}: {self.player} and {', '.join(self.others)}>"

    def _repr_html_(self) -> str:
        lines = (line for turn in self.turns for line in turn.lines(self.player))
        return joined(*(Html(f"<p><b>{text(who)}:</b> {text(words)}</p>") for who, words in lines))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close_async()


def _closed(open_: list[Supplied], runners: list[asyncio.Runner]) -> None:
    """Close the models and the loop of a chat that is no longer referenced."""

    def close() -> None:
        while open_:
            asyncio.run(open_.pop().cast.close())
        while runners:
            runners.pop().close()

    if not (open_ or runners):
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        close()
    else:  # no loop can be run or closed in the thread of another
        beside = Thread(target=close, name="fabula chat")
        beside.start()
        beside.join()
