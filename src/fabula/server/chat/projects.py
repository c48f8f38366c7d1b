"""What is served: projects, the characters in them, and their conversations."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Parties
from fabula.craft.conversation.kept import LONGEST
from fabula.engine.run import Run
from fabula.server.chat.clients import NoTurnError, check_no_command
from fabula.server.chat.histories import PREFIX, Branches, ConversationGroup, exchange_of, prepare, same
from fabula.server.chat.scenes import AND, MOST, SceneChange, hyphened, joined, naming, ordered, spoken, unnamed
from fabula.server.chat.turns import ChatOutcome
from fabula.server.chat.wire import LONGEST_ID, LONGEST_MODEL
from fabula.story import slug
from fabula.story.people import among, each_once, present_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from fabula.app.conversing import Conversing
    from fabula.craft.conversation import Conversation, Talk, Turn
    from fabula.server.chat.histories import Exchange
    from fabula.server.chat.turns import OnPiece
    from fabula.server.chat.wire import RequestedTurn

MODEL: Final = "fabula/"
PLAYER: Final = "player"
OVER: Final = "(The story has been told. Begin a new conversation to hear it again.)"
_TOGETHER: Final = 6  # characters that one listed model has at most; as many as one likes can be named


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Whose turn is wanted, and in which conversation.

    Attributes:
        characters: answer, those of them who are there.
        player: is played by the client; "" is the project's own player.
        conversation: its name as the client says it; "" where it says none.
        user: keeps the conversations of several people without a conversation's name apart.
        heard: what was said.
        present: names of those who are to be there from now on, separated by commas; "" leaves it as it is.
        freedom: how far the player may lead away from now on; "" leaves it as it is.
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
    """A project that is talked in over HTTP.

    Attributes:
        name: in the names of models.
        conversing: the open project.
        parties: who talks unless a request says otherwise: the player first.
        characters: who can be talked to, and nobody else.
        together: those of them who are listed as one model too; fewer than two are not.
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
        """The names of its models: each character, and some of them in one scene."""
        scenes = [joined(self.together)] if len(self.together) > 1 else []
        return [f"{MODEL}{self.name}/{scene}" for scene in (*map(hyphened, self.characters), *scenes)]

    def character(self, name: str, kind: str = "character") -> str:
        """The character of that name, however it is written in an address, and also where only a part of it is said.

        Raises:
            UnknownNameError: nobody, or more than one, is called so.
        """
        plain = slug(name)
        found = next((known for known in self.characters if slug(known) == plain), None)
        found = found or among(name.replace("-", " "), self.characters)
        if found is None:
            raise UnknownNameError(kind, name[:LONGEST_ID], self.characters)
        return found

    def cast(self, names: str) -> tuple[str, ...]:
        """The characters whom the last part of a model's name means, each once; in one order, however it has them.

        Raises:
            UnknownNameError: one of them is not known.
        """
        whole = [known for known in self.characters if hyphened(known) == names]
        return tuple(whole[:1]) or ordered(dict.fromkeys(map(self.character, names.split(AND))))

    def _parties(self, wanted: TurnRequest) -> Parties:
        if wanted.player.strip():
            return Parties(self.character(wanted.player, PLAYER), wanted.characters)
        # Whoever is the player by default can be talked to as well.
        taken = {same(name) for name in wanted.characters}
        left = (name for name in (*self.parties.names, *self.characters) if same(name) not in taken)
        player = next(left, "")
        if not player:
            raise UsageError("Nobody is left for you to play. Name a character of the story in `metadata.player`.")
        return Parties(player, wanted.characters)

    async def turn(self, wanted: TurnRequest, on_text: OnPiece) -> ChatOutcome:
        """The answer to what is said.

        Raises:
            UnknownNameError: somebody is not in the story.
            TooLongError: the message is too long.
            UsageError: the message is empty, the conversation is one of other people, or the scene cannot be so.
            FabulaError: any other of its kinds; the conversation stands as before.
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
        """A turn of a conversation that the client names; what it sends of the history can take turns back."""
        async with self._conversation(name, parties) as conversation:
            back, again = _gone_back(conversation.turns, asked)
            for _ in range(back):
                await conversation.undo()
            return await _moved(conversation, scene, asked, on_text, again=again)

    @asynccontextmanager
    async def _conversation(self, name: str, parties: Parties) -> AsyncIterator[Conversation]:
        """A conversation for one request at a time."""
        one = self._locks.setdefault(name, asyncio.Lock())
        async with one:
            yield await self.conversing.conversation(name, parties)


async def served(name: str, conversing: Conversing, player: str = "") -> ServedProject:
    """A project, ready to be served; asks who is in its first cell, once, where the project does not say who talks.

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
        Run(conversing.context).note(f"The log of the conversation {damaged} cannot be read; it is left as it is.")
    return ServedProject(name, conversing, parties, tuple(known), branches, _together(found, parties, known))


def _together(found: Talk, parties: Parties, known: Sequence[str]) -> tuple[str, ...]:
    """Those whom the project has in one scene, else those of the first cell; without the player."""
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
        """Whether a model has listed characters alone, one or several."""
        if len(model) > LONGEST_MODEL:
            return False
        try:
            served_, characters = self.find(model)
        except UsageError:
            return False
        return all(name in served_.characters for name in characters)

    def find(self, model: str) -> tuple[ServedProject, tuple[str, ...]]:
        """The project and the characters that a model's name means.

        Raises:
            UnknownNameError: there is no such model; names the nearest.
            UsageError: it names more characters than a scene may have.
        """
        project, slash, names = model.removeprefix(MODEL).partition("/")
        named = slash and all(name.strip() for name in names.split(AND))
        if not (model.startswith(MODEL) and named and project in self.projects):
            raise UnknownNameError("model", model[:LONGEST_ID], self.models)
        if names.count(AND) >= MOST:
            message = f"A scene has {MOST} characters at most; this model names {names.count(AND) + 1}. Leave some out."
            raise UsageError(message)
        found = self.projects[project]
        return found, found.cast(names)


def conversation_name(said: str) -> str:
    """The name of the log for a conversation that a client names.

    It is that name where it can be one, so that `fabula chat --session NAME` goes on with it.

    Raises:
        UsageError: it has more than 200 letters.
    """
    if len(said) > LONGEST_ID:
        raise UsageError(f"The conversation's name has {len(said):,} letters; {LONGEST_ID} are the most.")
    name = slug(said)
    if name == said and not name.startswith(PREFIX):
        return name
    return f"s-{name[:40].strip('-')}-{sha256(said.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _gone_back(turns: Sequence[Turn], asked: RequestedTurn) -> tuple[int, bool]:
    """How many turns a client has taken back, by what it sends of the history, and whether it wants the last anew."""
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
    """One move of a conversation. Where the story is over, the answer says so, and the conversation stands as it is."""
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
        raise NoTurnError("The request holds no words of yours, and the story waits for you. Say something.")
    else:
        turn = await conversation.begin(on_text)
    conversation.prepare()
    return ChatOutcome(spoken(turn, conversation.parties), conversation.name, conversation.where, turn)


async def _greeted(conversation: Conversation, asked: RequestedTurn) -> None:
    """Begin with the greeting that a client brought along, where it is one of the character's card."""
    if conversation.turns or not asked.history or asked.history[0].said:
        return
    brought = same(asked.history[0].answer)
    number = next((n for n, text in enumerate(conversation.greetings, 1) if same(text) == brought), 0)
    if number:
        await conversation.begin(greeting=number)


class TooLongError(UsageError):
    """A message has more letters than a turn may have."""


def check_length(said: str) -> None:
    """Check that a message is no longer than a turn may be.

    Raises:
        TooLongError: it is; says how long.
    """
    if len(said) > LONGEST:
        raise TooLongError(f"Your message has {len(said):,} letters; {LONGEST:,} are the most. Say less at a time.")
