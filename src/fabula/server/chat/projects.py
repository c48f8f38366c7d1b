"""The projects that are served, their characters and their conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Conversation, Parties, Talk, Turn
from fabula.craft.conversation.kept import LONGEST
from fabula.engine.run import Run
from fabula.server.chat.clients import NoTurnError, check_no_command
from fabula.server.chat.histories import PREFIX, Branches, ConversationGroup, Exchange, exchange_of, prepare, same
from fabula.server.chat.scenes import AND, MOST, SceneChange, hyphened, joined, naming, ordered, spoken, unnamed
from fabula.server.chat.turns import ChatOutcome, OnPiece
from fabula.server.chat.wire import LONGEST_ID, LONGEST_MODEL, RequestedTurn
from fabula.story import slug
from fabula.story.people import among, each_once, present_in

if TYPE_CHECKING:
    from fabula.app.conversing import Conversing


MODEL: Final = "fabula/"
PLAYER: Final = "player"
OVER: Final = "(The story has been told. Begin a new conversation to hear it again.)"
_TOGETHER: Final = 6  # the maximum number of characters of a listed model; requests can name more


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A request for a turn: who answers, and in which conversation.

    Attributes:
        characters: the characters who answer, if they are present.
        player: the character whom the client plays; "" is the project's own player.
        conversation: its name from the client; "" for none.
        user: distinguishes unnamed conversations of several people.
        heard: the history and the message.
        present: the names, separated by commas, of those who must be present from now on; "" changes nothing.
        freedom: how far the player may stray from the plan from now on; "" changes nothing.
    """

    characters: tuple[str, ...]
    player: str
    conversation: str
    user: str
    turn: RequestedTurn
    present: str = ""
    freedom: str = ""


@dataclass
class ServedProject:
    """A project whose characters answer over HTTP.

    Attributes:
        name: its name in the names of models.
        conversing: the open project.
        parties: the default participants, the player first.
        characters: the only characters that clients can talk to.
        together: the characters that are also listed as one model; none if there are fewer than two.
    """

    name: str
    conversing: Conversing
    parties: Parties
    characters: tuple[str, ...]
    branches: Branches
    together: tuple[str, ...] = ()
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def models(self) -> list[str]:
        """The names of its models: each character, and several characters in one scene."""
        scenes = [joined(self.together)] if len(self.together) > 1 else []
        return [f"{MODEL}{self.name}/{scene}" for scene in (*map(hyphened, self.characters), *scenes)]

    def character(self, name: str, kind: str = "character") -> str:
        """The character of that name, however it is written in an address; a part of the name is enough.

        Raises:
            UnknownNameError: no character, or more than one, has this name.
        """
        plain = slug(name)
        found = next((known for known in self.characters if slug(known) == plain), None)
        found = found or among(name.replace("-", " "), self.characters)
        if found is None:
            raise UnknownNameError(kind, name[:LONGEST_ID], self.characters)
        return found

    def cast(self, names: str) -> tuple[str, ...]:
        """The characters in the last part of a model's name, each once, in a fixed order.

        Raises:
            UnknownNameError: one of the characters is unknown.
        """
        whole = [known for known in self.characters if hyphened(known) == names]
        return tuple(whole[:1]) or ordered(dict.fromkeys(map(self.character, names.split(AND))))

    def _parties(self, wanted: TurnRequest) -> Parties:
        if wanted.player.strip():
            return Parties(self.character(wanted.player, PLAYER), wanted.characters)
        # Clients can also talk to the default player.
        taken = {same(name) for name in wanted.characters}
        left = (name for name in (*self.parties.names, *self.characters) if same(name) not in taken)
        player = next(left, "")
        if not player:
            raise UsageError(
                "There is no character left for you to play. Specify a character of the story in `metadata.player`."
            )
        return Parties(player, wanted.characters)

    async def turn(self, wanted: TurnRequest, on_text: OnPiece) -> ChatOutcome:
        """The answer to a message.

        Raises:
            UnknownNameError: a person is not in the story.
            TooLongError: the message is too long.
            UsageError: the message is empty, the conversation is with other people, or the scene is impossible.
            FabulaError: any other of its kinds; the conversation is unchanged.
        """
        said = wanted.turn.said
        if said is not None and not said.strip():
            raise UsageError("Your message is empty. Say something.")
        check_length(said or "")
        check_no_command(said or "")
        parties = self._parties(wanted)
        await self.conversing.talk(parties)  # an unknown character leaves no trace
        scene = SceneChange.of(wanted.present, wanted.freedom, parties)
        asked = unnamed(wanted.turn, parties)
        if wanted.conversation:
            return await self._named(conversation_name(wanted.conversation), parties, scene, asked, on_text)
        await prepare(asked.history)
        choice = self.branches.take(ConversationGroup(parties, wanted.user, scene.key), asked.history, said)
        try:
            async with self._conversation(choice.name, parties) as conversation:
                outcome = await _moved(conversation, scene, asked, on_text, again=choice.again)
                self.branches.learn(choice.name, parties, [exchange_of(turn) for turn in conversation.turns])
                return outcome
        finally:
            self.branches.free(choice.name)

    async def _named(
        self, name: str, parties: Parties, scene: SceneChange, asked: RequestedTurn, on_text: OnPiece
    ) -> ChatOutcome:
        """A turn of a conversation that the client names; the history that it sends can undo turns."""
        async with self._conversation(name, parties) as conversation:
            back, again = _gone_back(conversation.turns, asked)
            for _ in range(back):
                await conversation.undo()
            return await _moved(conversation, scene, asked, on_text, again=again)

    @asynccontextmanager
    async def _conversation(self, name: str, parties: Parties) -> AsyncIterator[Conversation]:
        """A conversation, for one request at a time."""
        one = self._locks.setdefault(name, asyncio.Lock())
        async with one:
            yield await self.conversing.conversation(name, parties)


async def served(name: str, conversing: Conversing, player: str = "") -> ServedProject:
    """A project, ready to be served; if it does not name who talks, the characters of its first cell are found once.

    Raises:
        FabulaError: any of its kinds.
    """
    found = await conversing.talk()
    known = [*found.parties.names, *each_once(conversing.cards.known, found.parties.names)]
    parties = found.parties
    if player:
        own = among(player, known) or player
        parties = Parties(own, tuple(other for other in known if other != own))
        await conversing.talk(Parties(own, parties.others[:1]))
    branches = Branches(conversing.project.folder)
    for damaged in branches.load():
        Run(conversing.context).note(f"The log of the conversation {damaged} cannot be read. It is left unchanged.")
    return ServedProject(name, conversing, parties, tuple(known), branches, _together(found, parties, known))


def _together(found: Talk, parties: Parties, known: Sequence[str]) -> tuple[str, ...]:
    """The project's characters for one scene, otherwise those of the first cell; without the player."""
    others = found.parties.others
    if len(others) == 1:
        others = present_in(known, found.segments[0])[: _TOGETHER + 1]
    return ordered([name for name in others if name != parties.player][:_TOGETHER])


@dataclass(frozen=True)
class ServedProjects:
    """All projects that are served, by their names."""

    projects: Mapping[str, ServedProject]

    @property
    def models(self) -> list[str]:
        """The names of all models."""
        return [model for served_ in self.projects.values() for model in served_.models]

    def knows(self, model: str) -> bool:
        """Whether all characters of a model are listed."""
        if len(model) > LONGEST_MODEL:
            return False
        try:
            served_, characters = self.find(model)
        except UsageError:
            return False
        return all(name in served_.characters for name in characters)

    def find(self, model: str) -> tuple[ServedProject, tuple[str, ...]]:
        """The project and the characters in a model's name.

        Raises:
            UnknownNameError: there is no such model; the message names the nearest.
            UsageError: the name has more characters than a scene may have.
        """
        project, slash, names = model.removeprefix(MODEL).partition("/")
        named = slash and all(name.strip() for name in names.split(AND))
        if not (model.startswith(MODEL) and named and project in self.projects):
            raise UnknownNameError("model", model[:LONGEST_ID], self.models)
        if names.count(AND) >= MOST:
            message = (
                f"A scene has at most {MOST} characters, but this model specifies {names.count(AND) + 1}. Leave "
                "some out."
            )
            raise UsageError(message)
        found = self.projects[project]
        return found, found.cast(names)


def conversation_name(said: str) -> str:
    """The name of the log for a conversation that a client names.

    It is the same name if possible, so that `fabula chat --session NAME` continues the conversation.

    Raises:
        UsageError: the name has more than 200 characters.
    """
    if len(said) > LONGEST_ID:
        raise UsageError(f"The conversation's name has {len(said):,} characters. The maximum is {LONGEST_ID}.")
    name = slug(said)
    if name == said and not name.startswith(PREFIX):
        return name
    return f"s-{name[:40].strip('-')}-{sha256(said.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _gone_back(turns: Sequence[Turn], asked: RequestedTurn) -> tuple[int, bool]:
    """The number of turns that a client has undone, according to its history, and whether it wants a retake."""
    if not asked.history:
        return 0, False
    marks = [_key(exchange_of(turn)) for turn in turns]
    last = _key(asked.history[-1])
    kept = next((number for number in range(len(marks), 0, -1) if marks[number - 1] == last), None)
    if kept is None:
        return 0, False
    if kept == len(marks) - 1 and same(turns[-1].said) == same(asked.said or ""):
        return 0, True
    return len(marks) - kept, False


def _key(exchange: Exchange) -> tuple[str, str]:
    return same(exchange.said), same(exchange.answer)


async def _moved(
    conversation: Conversation, scene: SceneChange, asked: RequestedTurn, on_text: OnPiece, *, again: bool
) -> ChatOutcome:
    """One move of a conversation; if the story is over, the answer says so, and the conversation does not change."""
    if conversation.state.over and not again:
        return ChatOutcome(OVER, conversation.name, conversation.where)
    await scene.apply(conversation)
    on_text = naming(on_text, conversation)
    await _greeted(conversation, asked)
    if again:
        turn = await conversation.retry(on_text)
    elif asked.said is not None:
        turn = await conversation.say(asked.said, on_text)
    elif conversation.turns:
        raise NoTurnError("The request has no message from you, and the story is waiting for you. Say something.")
    else:
        turn = await conversation.begin(on_text)
    return ChatOutcome(spoken(turn, conversation.parties), conversation.name, conversation.where, turn)


async def _greeted(conversation: Conversation, asked: RequestedTurn) -> None:
    """Begin with the greeting that a client sent, if it is in the character's card."""
    if conversation.turns or not asked.history or asked.history[0].said:
        return
    brought = same(asked.history[0].answer)
    number = next((n for n, text in enumerate(conversation.greetings, 1) if same(text) == brought), 0)
    if number:
        await conversation.begin(greeting=number)


class TooLongError(UsageError):
    """A message is longer than a turn may be."""


def check_length(said: str) -> None:
    """Check that a message is not longer than a turn may be.

    Raises:
        TooLongError: the message is too long.
    """
    if len(said) > LONGEST:
        raise TooLongError(
            f"Your message has {len(said):,} characters. The maximum is {LONGEST:,}. Say less at a time."
        )
