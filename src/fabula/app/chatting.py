"""A conversation with the characters of a story: where it is kept, who talks, and a chat from line to line.

What decides which conversation is gone on with is the same for the command line and for programs. A `Chat` holds no
project between two lines: each line opens it, goes on from the conversation's log, and closes it. Only the models stay
open.
"""

from __future__ import annotations

import asyncio
import weakref
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.app.calling import waited_for
from fabula.app.conversing import conversing, parties_in
from fabula.app.people import STRANGER, narrative_in, people_in
from fabula.app.writing import Prepared, Supplied, first_error
from fabula.base.errors import BriefError, UnknownNameError, UsageError
from fabula.base.files import PRIVATE, write_atomically
from fabula.base.html import Html, joined, text
from fabula.craft import NARRATIVE_FILE
from fabula.craft.conversation import ConversationFiles, Parties
from fabula.craft.conversation.cards import Cards, write_cards
from fabula.craft.conversation.kept import conversations_in, parties_of_log, state_of_log, transcript
from fabula.craft.narratives import check_people, parties_of
from fabula.project.folder import Project
from fabula.story import Brief, Story, count_words, plain, slug
from fabula.story.cards import Card
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Self

    from fabula.app.bills import Bill
    from fabula.app.conversing import Conversing
    from fabula.app.writing import Options
    from fabula.craft.conversation import Conversation, Freedom, Turn
    from fabula.models.base import OnText
    from fabula.project.settings import Settings

T = TypeVar("T")

_SLUG: Final = 50  # letters of a conversation's name before its number


def project_for_talk(folder: Path, story: Story, name: str, changes: dict[str, Any]) -> Project:
    """The project in which a story is talked through, made where it is not there yet; the story is its narrative.

    Raises:
        BriefError: the story has no words.
        ProjectError: the folder cannot be written.
    """
    if not count_words(story.text):
        raise BriefError(f"The story {name} is empty. Give a text in which somebody does something.")
    if (folder / "brief.md").exists():
        project = Project.open(folder)
    else:
        title = story.title or name
        brief = Brief(f"Talk the story {title} through with its characters.", title)
        project = Project.create(folder, brief, changes)
    project.write_given(NARRATIVE_FILE, plain(story.text))
    return project


def parties_for(project: Project, others: Sequence[str], player: str, *, dry: bool = False) -> Parties | None:
    """Who talks, where those who answer are named; the player is the first other who is known, by default.

    Where nobody else is known, or the player is to be a stranger to the story, they get a card in the project, unless
    it is only asked who would talk (`dry`).

    Raises:
        UnknownNameError: one of them is not in the story.
        UsageError: only the player is named.
    """
    if not others:
        if player:
            raise UsageError(f"You are {player}. Say with whom you talk, too: character=NAME.")
        return None
    people = [name for names in people_in(project) for name in names]
    others, cards = [among(one, people) or one for one in others], Cards.in_(project.folder)
    player = among(player, people) or player or next((name for name in people if not among(name, others)), STRANGER)
    if player == STRANGER and cards.of(player) is None:
        check_people(others, narrative_in(project), people)  # before anything is written
        people.append(STRANGER)
        if not dry:
            write_cards(project.folder, [_stranger(" and ".join(others))], {})
    return parties_of(narrative_in(project), player, others, cards.names(player), people)


def _stranger(others: str) -> Card:
    about = f"Somebody who is not in the story, has come by, and talks with {others}."
    return Card({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": STRANGER, "description": about}})


def conversation_for(
    project: Project, named: str, given: Parties | None, *, new: bool = False
) -> tuple[str, Parties | None]:
    """The name of the conversation, and who talks in it: in a new one those of the last one, where nobody is named.

    Raises:
        UsageError: a new one is wanted under a name that is taken.
    """
    known = conversations_in(project.folder)
    if named and new and named in known:
        raise UsageError(f"There is a conversation {named!r} already. Leave --new out, or name another.")
    if named in known or (known and not (given or named or new)):
        return named or known[0], given
    parties = given or (_parties_of(project, known[0]) if known else None)
    if named:
        return named, parties
    same = [name for name in known if not new and _parties_of(project, name) == parties]
    return same[0] if same else free_name(slug("-".join(parties.names) if parties else "talk"), known), parties


def free_name(wanted: str, known: Sequence[str]) -> str:
    """The name of a new conversation: `wanted`, with a number where there is one of that name."""
    number, free = 1, wanted
    while free in known:
        number += 1
        free = f"{wanted[:_SLUG].rstrip('-')}-{number}"
    return free


def _parties_of(project: Project, name: str) -> Parties | None:
    return parties_in(ConversationFiles.in_(project.folder, name))


def write_transcript(conversation: Conversation) -> None:
    """Write the conversation down as Markdown, beside its log."""
    if conversation.turns and conversation.files is not None:
        write_atomically(conversation.files.transcript, as_markdown(conversation), mode=PRIVATE)


def as_markdown(conversation: Conversation) -> str:
    """The conversation as Markdown, below the names of who talks."""
    parties = conversation.parties
    return f"# {parties.player} and {', '.join(parties.others)}\n\n{conversation.transcript}\n"


def transcript_of(project: Project, name: str) -> str:
    """A conversation as Markdown, from its log alone.

    Raises:
        UnknownNameError: there is no such conversation.
        ProjectError: its log cannot be read.
    """
    records = (
        ConversationFiles.in_(project.folder, name).read(mend=False) if name in conversations_in(project.folder) else []
    )
    if not records:
        raise UnknownNameError("conversation", name, conversations_in(project.folder))
    parties = parties_of_log(records)
    text = transcript(state_of_log(records).turns, parties.player)
    return f"# {parties.player} and {', '.join(parties.others)}\n\n{text}\n"


def conversation_data(project: Project, conversation: Conversation, bill: Bill) -> dict[str, Any]:
    """The conversation as plain data, with what it took."""
    where, files = conversation.where, conversation.files
    return {
        "project": str(project.folder),
        "session": conversation.name,
        "log": str(files.log) if files else "",
        "player": conversation.parties.player,
        "others": list(conversation.parties.others),
        "cell": where.cell,
        "cells": where.cells,
        "step": where.step,
        "steps": where.steps,
        "present": list(where.present),
        "over": where.over,
        "turns": [
            {
                "number": turn.number,
                "cell": turn.cell,
                "step": turn.step,
                "said": turn.said,
                "who": turn.line.name if turn.line else "",
                "answer": turn.line.text if turn.line else "",
                "ends_cell": turn.ends_cell,
            }
            for turn in conversation.turns
        ],
        "bill": bill.as_data()["bill"],
    }


class Chat:
    """A conversation with the characters of a story, from line to line; kept in the project like one at a terminal.

    The models stay open until `close`, or the end of a `with` block.

    Attributes:
        project: in which it is kept.
        name: of the conversation.
        model: that answers, where no other is cast.
        why: that model, where nobody named one; else empty.
        bill: what it took so far.
    """

    def __init__(self, project: Project, name: str, settings: Settings, options: Options, bill: Bill, why: str) -> None:
        self.project, self.name, self.model, self.why, self.bill = project, name, settings.model, why, bill
        self._settings, self._options = settings, options
        self._open: list[Supplied] = []
        self._runners: list[asyncio.Runner] = []  # the loop of lines that are waited for
        self._conversation: Conversation | None = None
        weakref.finalize(self, _closed, self._open, self._runners)

    async def open(self, parties: Parties | None, freedom: Freedom | None) -> None:
        """Begin the conversation, or take it up again.

        Raises:
            FabulaError: any of its kinds.
        """
        async with self._opened() as open_:
            self._conversation = conversation = await open_.conversation(self.name, parties, freedom)
            if freedom is not None and conversation.state.freedom != freedom:
                await conversation.set_freedom(freedom)
        await self.close_async()  # the first line may be said in another event loop

    # moves ----------------------------------------------------------------------------------------------------------

    async def say_async(self, line: str, on_text: OnText | None = None) -> Turn:
        """The answer to what you say; pieces of it go to `on_text` as they come.

        Raises:
            UsageError: the line is empty or has more than 4,000 characters, or the story is over.
            FabulaError: no answer came; the conversation stands as before.
        """
        return await self._moved(lambda conversation: conversation.say(line, on_text))

    async def go_on_async(self, on_text: OnText | None = None) -> Turn:
        """The story goes on without a word of yours; at its beginning, the character speaks first.

        Raises:
            UsageError: the story is over.
            FabulaError: no answer came; the conversation stands as before.
        """
        return await self._moved(
            lambda conversation: conversation.go_on(on_text) if conversation.turns else conversation.begin(on_text)
        )

    async def retry_async(self, on_text: OnText | None = None) -> Turn:
        """The last answer, drawn anew.

        Raises:
            UsageError: there is none yet.
            FabulaError: no answer came; the conversation stands as before.
        """
        return await self._moved(lambda conversation: conversation.retry(on_text))

    async def undo_async(self) -> Turn | None:
        """The turn that stands after the last one was taken back; `None` before the first.

        Raises:
            UsageError: there is no turn to take back.
        """
        return await self._moved(lambda conversation: conversation.undo())

    async def close_async(self) -> None:
        """Close the models. What is said later opens them again."""
        while self._open:
            await self._open.pop().cast.close()

    def say(self, line: str, on_text: OnText | None = None) -> Turn:
        """As `say_async`, and waits for it."""
        return self._waited(self.say_async(line, on_text))

    def go_on(self, on_text: OnText | None = None) -> Turn:
        """As `go_on_async`, and waits for it."""
        return self._waited(self.go_on_async(on_text))

    def retry(self, on_text: OnText | None = None) -> Turn:
        """As `retry_async`, and waits for it."""
        return self._waited(self.retry_async(on_text))

    def undo(self) -> Turn | None:
        """As `undo_async`, and waits for it."""
        return self._waited(self.undo_async())

    def close(self) -> None:
        """As `close_async`, and waits for it."""
        _closed(self._open, self._runners)

    def _waited(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._runners:
            self._runners.append(asyncio.Runner())
        return waited_for(work, self._runners[0].run)

    async def _moved(self, move: Callable[[Conversation], Awaitable[T]]) -> T:
        """What a move gives, made in the project as it is now."""
        async with self._opened() as open_:
            self._conversation = conversation = await open_.conversation(self.name)
            try:
                return await move(conversation)
            except BaseExceptionGroup as group:  # calls side by side failed; the first of ours says enough
                raise first_error(group) from group
            finally:
                write_transcript(conversation)

    def _opened(self) -> AbstractAsyncContextManager[Conversing]:
        if not self._open:
            self._open.append(Supplied(Prepared(self._settings, self._options).cast()))
        return conversing(self.project, self._settings, self._options, self._open[0])

    # what was said ----------------------------------------------------------------------------------------------------

    @property
    def player(self) -> str:
        """The character that is you."""
        return self._conversation.parties.player if self._conversation else ""

    @property
    def others(self) -> tuple[str, ...]:
        """Who answers."""
        return self._conversation.parties.others if self._conversation else ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All that stands."""
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
        """As `fabula chat --json` prints it at the end."""
        return conversation_data(self.project, self._conversation, self.bill) if self._conversation else {}

    def __repr__(self) -> str:
        return f"<Chat {self.name!r} in {self.project.folder}: {self.player} and {', '.join(self.others)}>"

    def _repr_html_(self) -> str:
        return joined(*(part for turn in self.turns for part in _lines_html(turn, self.player)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close_async()


def _lines_html(turn: Turn, player: str) -> list[Html]:
    said = [(player, turn.said)] if turn.said else []
    said += [(turn.line.name, turn.line.text)] if turn.line is not None else []
    return [Html(f"<p><b>{text(who)}:</b> {text(words)}</p>") for who, words in said]


def _closed(open_: list[Supplied], runners: list[asyncio.Runner]) -> None:
    """Close the models and the loop of a chat that nobody holds any more."""

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
