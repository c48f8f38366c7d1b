"""Scenes of one character or several: how their models are named, what a request wants of them, and who speaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation.lines import freedom_of
from fabula.server.chat.histories import exchange_of, same
from fabula.story import slug
from fabula.story.people import among

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.craft.conversation import Conversation, Parties, Turn
    from fabula.server.chat.turns import OnPiece
    from fabula.server.chat.wire import RequestedTurn

AND: Final = "+"  # between the characters of a model
MOST: Final = 12  # characters of a scene


class SceneError(UsageError):
    """What a request's metadata wants cannot be.

    Attributes:
        param: the field of the request.
    """

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = f"metadata.{param}"


@dataclass(frozen=True, slots=True)
class SceneChange:
    """What a request wants from its turn on; what is empty stays as it is.

    Attributes:
        present: those of the characters who are to be there.
        freedom: how far the player may lead away.
    """

    present: tuple[str, ...] = ()
    freedom: str = ""

    @classmethod
    def of(cls, present: str, freedom: str, parties: Parties) -> SceneChange:
        """The scene that two fields of a request's metadata want; the player, who is always there, may be named too.

        Raises:
            SceneError: somebody is not in the scene, nobody would be left in it, or there is no such freedom.
        """
        return cls(_present(present, parties) if present.strip() else (), _freedom(freedom) if freedom.strip() else "")

    @property
    def key(self) -> str:
        """Stands for it in the names of conversations that begin with it; empty where nothing is wanted."""
        return "\n".join((*self.present, self.freedom)) if self.present or self.freedom else ""

    async def apply(self, conversation: Conversation) -> None:
        """Set what differs from where the conversation stands."""
        state = conversation.state
        there = state.asked if state.waits else state.present  # the next cell would bring others
        if self.present and sorted(self.present) != sorted(there):
            await conversation.set_present(self.present)
        if self.freedom and self.freedom != state.freedom:
            await conversation.set_freedom(self.freedom)


def _present(text: str, parties: Parties) -> tuple[str, ...]:
    """Those of the others who are to be there, in the order of the parties."""
    found = set()
    for name in filter(None, dict.fromkeys(map(str.strip, text.split(",")))):
        known = among(name, parties.names) or next((own for own in parties.names if slug(own) == slug(name)), None)
        if known is None:
            raise SceneError(str(UnknownNameError("character of this scene", name[:200], parties.names)), "present")
        found.add(known)
    there = tuple(name for name in parties.others if name in found)
    if not there:
        raise SceneError("Somebody has to be there to talk to. Name at least one character.", "present")
    return there


def _freedom(text: str) -> str:
    try:
        return freedom_of(text)
    except UsageError as error:
        raise SceneError(str(error), "freedom") from error


def hyphened(name: str) -> str:
    """A character's name as it stands in that of a model."""
    return "-".join(name.split())


def joined(names: Iterable[str]) -> str:
    """Several characters in the name of a model, in the order that all their scenes have."""
    return AND.join(map(hyphened, ordered(names)))


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """The characters of a scene in one order, however they are named."""
    return tuple(sorted(names, key=lambda name: (name.casefold(), name)))


def several(parties: Parties) -> bool:
    """Whether answers say who speaks."""
    return len(parties.others) > 1


def spoken(turn: Turn, parties: Parties) -> str:
    """The answer of a turn as its client gets it: where several may speak, `Name: ` comes first."""
    answer = exchange_of(turn).answer
    return f"{turn.line.name}: {answer}" if turn.line is not None and several(parties) else answer


def naming(on_text: OnPiece, conversation: Conversation) -> OnPiece:
    """What takes the pieces of an answer, so that together they are what `spoken` gives."""
    if on_text is None or not several(conversation.parties):
        return on_text
    begun = False

    def pass_on(piece: str) -> None:
        nonlocal begun
        on_text(piece if begun else f"{conversation.speaker}: {piece}")
        begun = True

    return pass_on


def unnamed(asked: RequestedTurn, parties: Parties) -> RequestedTurn:
    """A conversation of several as the client sends it, without the names before the answers."""
    if not several(parties):
        return asked
    names = {same(name) for name in parties.others}

    def bare(answer: str) -> str:
        name, colon, rest = answer.partition(":")
        return rest if colon and same(name) in names else answer

    return replace(asked, history=tuple(replace(one, answer=bare(one.answer)) for one in asked.history))
