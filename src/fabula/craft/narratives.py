"""The narrative that a system retells: the author's `plan/narrative.md`, else the text of the brief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.cells import among, names_in, same_person
from fabula.engine.replies.turns import mentioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief

NARRATIVE: Final = "narrative"
FILE: Final = "plan/narrative.md"


async def narrative_of(run: Run, brief: Brief) -> str:
    """The narrative, as its author laid it into the project; asks nobody."""
    return await run.given(NARRATIVE, folder="plan") or brief.text


def check_people(names: Sequence[str], narrative: str, known: Iterable[str] = ()) -> None:
    """Check that those who are to talk are in the narrative, or among those that the author knows.

    Raises:
        UnknownNameError: somebody is not; names the nearest who is.
        UsageError: two of them are the same.
    """
    people = list(known)
    for name in names:
        if among(name, people) is None and not mentioned(narrative, {name: (name, *_long(name))}):
            raise UnknownNameError("character", name, dict.fromkeys((*people, *names_in(narrative))))
    for n, name in enumerate(names):
        twin = next((other for other in names[:n] if same_person(name, other)), None)
        if twin is not None:
            raise UsageError(f"{name!r} and {twin!r} are the same. Give two different characters.")


def present_in(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of `names` who are named in a text, by the whole name or a part of it that is no title."""
    return mentioned(text, {name: (name, *_long(name)) for name in names})


def _long(name: str) -> list[str]:
    return [part for part in name.split() if len(part.strip(".")) > 3 and part[:1].isupper()]  # noqa: PLR2004 - no titles
