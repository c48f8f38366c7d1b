"""`retake`: a text that the next run writes anew, or revises as the author wishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.deciding import REFUSED_EDITS, check_unpinned
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.engine.events import RECORD, TABLE
from fabula.engine.making import notes_of
from fabula.story import plain
from fabula.verbs.base import LONG, ArtefactName, verb

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


@dataclass(frozen=True, slots=True)
class TakeToCome:
    """A text that the next run writes: revised, or from nothing; what was wished of it `before` still holds."""

    artefact: str
    revised: bool
    before: list[str]


@verb("POST", "/retakes", command="text retake")
async def retake(
    project: Workspace,
    artefact: ArtefactName,
    note: Annotated[
        str | None,
        Field(
            max_length=LONG,
            description="Revise the text so that it meets this wish.",
            examples=["Shorter, and without the storm."],
        ),
    ] = None,
    *,
    anew: Annotated[bool, Field(description="With a note: write it from nothing, with the wish.")] = False,
) -> TakeToCome:
    """Have a text written anew, with another draw; or revised, as a note wishes.

    The next run does it; the old text stays among its versions.

    Raises:
        UsageError: the note is empty, the text is pinned, or nobody writes it.
        UnknownNameError: there is no such artefact.
    """
    wish = plain(note or "").strip()
    if anew and note is None:
        raise UsageError("`anew` goes with a note; without one the text is written anew in any case.")
    if note is not None and not wish:
        raise UsageError("The note is empty. Say what you wish of the text, or leave --note out for another draw.")
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        check_unpinned(journal, path)
        _check_written_by_a_role(journal, path, wish)
        revise = bool(wish) and not anew
        with journal.transaction():
            if not revise and journal.decisions.override(path) is not None:
                journal.decisions.add(path, "unedit")
            journal.decisions.add(path, "revise" if revise else "retake", wish or None)
        notes = notes_of(journal, path)
    return TakeToCome(path, revise, list(notes[:-1] if wish else notes))


def _check_written_by_a_role(journal: Journal, path: str, note: str) -> None:
    """Raise a `UsageError` if nobody is asked for the artefact, or nobody who could follow a note."""
    file = journal.artefacts.places()[path]
    if path == REFUSED_EDITS:
        raise UsageError(
            f"{file} is your own list of edits that are not made, so nobody writes it anew. "
            "`fabula text edits --accept ID` takes an edit off it."
        )
    if note and file.endswith((f".{RECORD}", f".{TABLE}")):
        raise UsageError(f"{file} is no text that a role could revise, so a note says nothing to it. Leave --note out.")
