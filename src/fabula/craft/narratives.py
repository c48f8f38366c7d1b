"""The narrative that a system retells: the author's `plan/narrative.md`, else the text of the brief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation.lines import Parties
from fabula.story.people import among, names_in, present_in, same_person, titled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief

NARRATIVE: Final = "narrative"
FILE: Final = "plan/narrative.md"


async def narrative_of(run: Run, brief: Brief) -> str:
    """The narrative, as its author put it into the project; asks nobody."""
    return await run.given(NARRATIVE, folder="plan") or brief.text


def parties_of(narrative: str, player: str = "", others: Sequence[str] = (), known: Sequence[str] = ()) -> Parties:
    """Who talks: those named, else those whom the narrative names most; the same for every system that asks nobody.

    `known` may talk without being named in it.

    Raises:
        UnknownNameError: somebody is not in the narrative.
        UsageError: it names nobody to talk with.
    """
    named = [name for name in (player, *others) if name]
    left = [name for name in names_in(narrative) if not any(_are_one(name, other) for other in named)]
    player = player or (left.pop(0) if left else "")
    others = tuple(others) or tuple(left[:1])
    if not (player and others):
        raise UsageError(
            "The narrative names fewer than two characters. Say who talks: player and npc, or --as and --with."
        )
    check_people([player, *others], narrative, known)
    return Parties(player, others)


def check_people(names: Sequence[str], narrative: str, known: Iterable[str] = ()) -> None:
    """Check that those who are to talk are in the narrative, or among those that the author knows.

    Raises:
        UnknownNameError: somebody is not; names the nearest who is.
        UsageError: two of them are the same.
    """
    people = list(known)
    for name in names:
        if among(name, people) is None and not present_in([name], narrative):
            raise UnknownNameError("character", name, dict.fromkeys((*people, *names_in(narrative))))
    for n, name in enumerate(names):
        twin = next((other for other in names[:n] if _are_one(name, other)), None)
        if twin is not None:
            raise UsageError(f"{name!r} and {twin!r} are the same. Give two different characters.")


def _are_one(name: str, other: str) -> bool:
    """Whether two names are one person's."""
    # "Mr. Bennet" may be Elizabeth Bennet's father: only names of one kind can be told to be one person's.
    return same_person(name, other) and titled(name) == titled(other)
