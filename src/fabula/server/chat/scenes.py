"""Scenes with one or more characters: the names of their models, changes from requests, and who speaks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation.lines import freedom_of
from fabula.server.chat.histories import exchange_of, same
from fabula.story import slug
from fabula.story.people import among

if TYPE_CHECKING:
    from fabula.craft.conversation import Conversation, Parties, Turn
    from fabula.server.chat.turns import OnPiece
    from fabula.server.chat.wire import RequestedTurn


AND: Final = "+"  # between the characters in the name of a model
MOST: Final = 12  # the maximum number of characters of a scene


class SceneError(UsageError):
    """A request's metadata asks for an impossible scene.

    Attributes:
        param: the field of the request.
    """

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = f"metadata.{param}"


@dataclass(frozen=True, slots=True)
class SceneChange:
    """Changes that a request makes from its turn onwards; an empty field changes nothing.

    Attributes:
        present: the characters who must be present.
        freedom: how far the player may stray from the plan.
    """

    present: tuple[str, ...] = ()
    freedom: str = ""

    @classmethod
    def of(cls, present: str, freedom: str, parties: Parties) -> SceneChange:
        """The scene from two fields of a request's metadata; the player, who is always present, may be named too.

        Raises:
            SceneError: a character is not in the scene, nobody would be left in it, or there is no such freedom.
        """
        return cls(_present(present, parties) if present.strip() else (), _freedom(freedom) if freedom.strip() else "")

    @property
    def key(self) -> str:
        """The sign for it in the names of conversations that begin with it; empty if it changes nothing."""
        return "\n".join((*self.present, self.freedom)) if self.present or self.freedom else ""

    async def apply(self, conversation: Conversation) -> None:
        """Change the conversation where it differs from this scene."""
        state = conversation.state
        there = state.asked if state.waits else state.present  # the next cell would bring other characters
        if self.present and sorted(self.present) != sorted(there):
            await conversation.set_present(self.present)
        if self.freedom and self.freedom != state.freedom:
            await conversation.set_freedom(self.freedom)


def _present(text: str, parties: Parties) -> tuple[str, ...]:
    """The other parties who must be present, in their order."""
    found = set()
    for name in filter(None, dict.fromkeys(map(str.strip, text.split(",")))):
        known = among(name, parties.names) or next((own for own in parties.names if slug(own) == slug(name)), None)
        if known is None:
            raise SceneError(str(UnknownNameError("character of this scene", name[:200], parties.names)), "present")
        found.add(known)
    there = tuple(name for name in parties.others if name in found)
    if not there:
        raise SceneError("A conversation needs at least one other character. Specify one.", "present")
    return there


def _freedom(text: str) -> str:
    try:
        return freedom_of(text)
    except UsageError as error:
        raise SceneError(str(error), "freedom") from error


def hyphened(name: str) -> str:
    """A character's name, as it appears in the name of a model."""
    return "-".join(name.split())


def joined(names: Iterable[str]) -> str:
    """The part of a model's name for several characters, in a fixed order."""
    return AND.join(map(hyphened, ordered(names)))


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """The characters of a scene in a fixed order, however they are named."""
    return tuple(sorted(names, key=lambda name: (name.casefold(), name)))


def several(parties: Parties) -> bool:
    """Whether answers name the speaker."""
    return len(parties.others) > 1


def spoken(turn: Turn, parties: Parties) -> str:
    """The answer of a turn, as its client gets it: if several characters can speak, it begins with `Name: `."""
    answer = exchange_of(turn).answer
    return f"{turn.line.name}: {answer}" if turn.line is not None and several(parties) else answer


def naming(on_text: OnPiece, conversation: Conversation) -> OnPiece:
    """A receiver for the pieces of an answer, so that together they equal the result of `spoken`."""
    if on_text is None or not several(conversation.parties):
        return on_text
    begun = False

    def pass_on(piece: str) -> None:
        nonlocal begun
        on_text(piece if begun else f"{conversation.speaker}: {piece}")
        begun = True

    return pass_on


def unnamed(asked: RequestedTurn, parties: Parties) -> RequestedTurn:
    """A conversation with several characters, as the client sends it, without the names before the answers."""
    if not several(parties):
        return asked
    names = {same(name) for name in parties.others}

    def bare(answer: str) -> str:
        name, colon, rest = answer.partition(":")
        return rest if colon and same(name) in names else answer

    return replace(asked, history=tuple(replace(one, answer=bare(one.answer)) for one in asked.history))
