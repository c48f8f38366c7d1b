"""`final_edits`, `refuse_edits`: what the final reading of a story changed, and what of it the author refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from pydantic import Field

from fabula.app.deciding import FINAL_EDITS, REFUSED_EDITS
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.craft import final_reading
from fabula.craft.final_reading import Edit, read_edits, read_refused, unknown_refusals, write_refused
from fabula.verbs.base import LONGEST_NAME, verb

if TYPE_CHECKING:
    from fabula.engine.journal import Journal

_MOST: Final = 200  # ids at once
NOT_READ: Final = (
    "There is no final reading in this project. `fabula write --set final_reading=true` ends with one, where the "
    "system has it."
)
EditNames: TypeAlias = Sequence[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]]


@dataclass(frozen=True, slots=True)
class FinalEdit(Edit):
    """An edit of the final reading.

    Attributes:
        refused: the author does not want it.
        own: its part is pinned or the author's own text, where nothing changes any more.
    """

    refused: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class FinalEdits:
    """What the final reading of the story changed.

    Attributes:
        read: whether there was one.
        edits: its edits.
        unknown: refused ids that no edit has: mistyped, or of edits that were asked for anew since.
    """

    read: bool
    edits: list[FinalEdit]
    unknown: list[str]

    @property
    def refused(self) -> frozenset[str]:
        """The ids of all that are refused, unknown ones among them."""
        return frozenset(self.unknown).union(one.id for one in self.edits if one.refused)


@verb("GET", "/edits")
async def final_edits(project: Workspace) -> FinalEdits:
    """What the final reading of the story changed.

    Nothing, where there was none.
    """
    with project.texts().journal as journal:
        return _standing(journal)


@verb("POST", "/edits", command="text edits")
async def refuse_edits(
    project: Workspace,
    refuse: Annotated[
        EditNames, Field(max_length=_MOST, description="Edits that are not to be made.", examples=[["climax/3"]])
    ] = (),
    accept: Annotated[EditNames, Field(max_length=_MOST, description="Refused edits that are made after all.")] = (),
) -> FinalEdits:
    """Refuse edits of the final reading, or make them after all.

    The next run makes the story so; nobody is asked for it.

    Raises:
        UsageError: there was no final reading.
        UnknownNameError: there is no such edit.
    """
    with project.decided() as (texts, journal):
        text = journal.artefacts.newest(FINAL_EDITS)
        if text is None:
            raise UsageError(NOT_READ)
        before = read_refused(journal.artefacts.newest(REFUSED_EDITS) or "")
        edits = list(read_edits(text))
        wanted = final_reading.refuse(edits, final_reading.refuse(edits, before, refuse), accept, back=True)
        if wanted != before:
            texts.edit(journal, REFUSED_EDITS, write_refused(wanted))
        return _standing(journal)


def _standing(journal: Journal) -> FinalEdits:
    text = journal.artefacts.newest(FINAL_EDITS)
    refused = read_refused(journal.artefacts.newest(REFUSED_EDITS) or "")
    found = list(read_edits(text or ""))
    own = {one.part for one in found if journal.decisions.override(one.part) is not None}
    edits = [
        FinalEdit(one.part, one.old, one.new, one.why, refused=one.id in refused, own=one.part in own) for one in found
    ]
    return FinalEdits(text is not None, edits, unknown_refusals(found, refused))
