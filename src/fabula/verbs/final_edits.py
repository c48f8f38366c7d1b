"""`final_edits`, `refuse_edits`: the changes made by a story's final reading, and those that the author refuses."""

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
    "This project has no final reading. `fabula write --set final_reading=true` adds one if the system supports it."
)
EditNames: TypeAlias = Sequence[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]]


@dataclass(frozen=True, slots=True)
class FinalEdit(Edit):
    """An edit of the final reading.

    Attributes:
        refused: whether the author refused it.
        own: whether its part is pinned or the author's own text, so that it no longer changes.
    """

    refused: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class FinalEdits:
    """Return the changes that the final reading made to the story.

    Attributes:
        read: whether there was a final reading.
        edits: its edits.
        unknown: refused ids that match no edit, because they are mistyped or the edits have since been replaced.
    """

    read: bool
    edits: list[FinalEdit]
    unknown: list[str]

    @property
    def refused(self) -> frozenset[str]:
        """Return the ids of all refused edits, including unknown ids."""
        return frozenset(self.unknown).union(one.id for one in self.edits if one.refused)


@verb("GET", "/edits")
async def final_edits(project: Workspace) -> FinalEdits:
    """Return the changes that the final reading made to the story.

    The list is empty if there was no final reading.
    """
    with project.texts().journal as journal:
        return _standing(journal)


@verb("POST", "/edits", command="text edits")
async def refuse_edits(
    project: Workspace,
    refuse: Annotated[EditNames, Field(max_length=_MOST, description="Edits to refuse.", examples=[["climax/3"]])] = (),
    accept: Annotated[EditNames, Field(max_length=_MOST, description="Refused edits to accept again.")] = (),
) -> FinalEdits:
    """Refuse edits that the final reading made, or accept refused edits.

    The next run applies this without calling a model.

    Raises:
        UsageError: there was no final reading.
        UnknownNameError: an edit does not exist.
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
