"""Conversations with the two characters of a task, each in a copy of its project that belongs to one rater.

So a rater's messages are only in the study's folder, no rater waits for another's answer, and withdrawal deletes all of
them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from fabula.app.conversing import Conversing, conversing
from fabula.app.studies import character, character_settings
from fabula.base.errors import UsageError
from fabula.base.files import PRIVATE, make_folder, write_atomically
from fabula.craft.conversation import Conversation, Log, Parties
from fabula.project.folder import ProjectFolder
from fabula.story import readable

if TYPE_CHECKING:
    from fabula.app.writing import Options
    from fabula.measure.studies.study import Study, StudyItem, Task


_CONVERSATION: Final = "conversation"
_PROJECT: Final = "project"
_ENDED: Final = "ended"  # the file that marks a conversation that the rater has ended
_LONGEST: Final = 4000


class ConversationError(UsageError):
    """A rater's action is impossible in this conversation; the message names no model and no file."""


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation, as its page shows it: who said what, and whether it has ended."""

    lines: tuple[tuple[str, str], ...] = ()
    ended: bool = False


@dataclass
class RatersConversations:
    """All conversations of a study.

    Attributes:
        study: the study, with copies of the characters' projects.
        options: the options of the calls.
        at_once: the number of concurrent answers.
    """

    study: Study
    options: Callable[[], Options]
    at_once: int = 8
    _locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(8))

    async def __aenter__(self) -> Self:
        """Prepare for conversations."""
        self._room = asyncio.Semaphore(self.at_once)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: no project is open between two moves."""

    async def shown(self, task: Task, place: int) -> ShownConversation:
        """The current conversation; no model is called."""
        return await asyncio.to_thread(_kept, self._folder(task, place))

    async def move(self, task: Task, place: int, what: str, message: str) -> None:
        """Say something, begin the next chapter, or end the conversation.

        Raises:
            ConversationError: the conversation has ended, or the message is not allowed.
            FabulaError: the character gave no answer; the conversation is unchanged.
        """
        folder = self._folder(task, place)
        async with self._locks[str(folder)]:
            before = await asyncio.to_thread(_kept, folder)
            if before.ended:
                raise ConversationError(
                    "This conversation has ended. Answer the questions, or talk with the other character."
                )
            if what == "end" and not before.lines:
                raise ConversationError("You have not talked with this character yet. Say something, or skip the task.")
            if what == "end":
                await asyncio.to_thread(write_atomically, folder / _ENDED, "", mode=PRIVATE)
                return
            if len(message) > _LONGEST:
                raise ConversationError(
                    f"You wrote {len(message):,} characters. The maximum is {_LONGEST:,}. Say less at a time."
                )
            if what == "say" and not message.strip() and before.lines:
                raise ConversationError(
                    "Your message is empty. Say something, begin the next chapter, or end the conversation."
                )
            async with self._room:
                await self._moved(task, place, folder, what, message)

    async def _moved(self, task: Task, place: int, folder: Path, what: str, message: str) -> None:
        entry = self.study.entries[task.items[place]]
        if not (folder / _PROJECT).is_dir():
            await asyncio.to_thread(self._copy, entry, folder)
        # The settings are those that the organiser has trusted, not their copy.
        settings = await asyncio.to_thread(character_settings, self.study, entry)
        project = await asyncio.to_thread(ProjectFolder.open, folder / _PROJECT)
        async with conversing(project, settings, self.options()) as open_:
            conversation = await self._conversation(open_, entry.player, entry.partner)
            if what == "next":
                await conversation.go_on()
            elif not message.strip() and not conversation.turns:
                await conversation.begin()
            else:
                await conversation.say(message)
        if not (folder / _PROJECT).is_dir():  # the rater has withdrawn while the character was answering
            raise ConversationError(
                "This conversation was deleted because you withdrew from the study. Begin on the first page."
            )

    async def _conversation(self, open_: Conversing, player: str, partner: str) -> Conversation:
        return await open_.conversation(_CONVERSATION, Parties(player, (partner,)))

    def _folder(self, task: Task, place: int) -> Path:
        return self.study.conversations / task.rater / f"{task.key}-{'AB'[place]}"

    def _copy(self, entry: StudyItem, folder: Path) -> None:
        make_folder(folder, mode=0o700)
        shutil.copytree(character(self.study, entry).folder, folder / _PROJECT, symlinks=True)


def _kept(folder: Path) -> ShownConversation:
    """A conversation from its log: who said what, and where chapters end."""
    log = Log.at(folder / _PROJECT, _CONVERSATION, mend=False)
    if not log.records:
        return ShownConversation()
    state, you = log.state, f"{log.parties.player} (you)"
    found: list[tuple[str, str]] = []
    for turn in state.turns:
        found += [(who, readable(words)) for who, words in turn.lines(you)]
        if turn.ends_cell:
            found.append(("", "The chapter ends here." if not turn.ends_story else "The story ends here."))
    return ShownConversation(tuple(found), state.over or (folder / _ENDED).exists())
