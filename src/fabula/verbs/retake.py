"""`retake`, `continue_text`: have the next run write a text again, revise it to a note, or continue it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.deciding import REFUSED_EDITS, check_unpinned, newest_of, reached
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.craft.numbers import LARGEST
from fabula.engine.events import RECORD, TABLE
from fabula.engine.making import notes_of
from fabula.story import plain
from fabula.verbs.base import LONG, ArtefactName, verb

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


@dataclass(frozen=True, slots=True)
class TakeToCome:
    """A text that the next run writes from scratch or as a revision. The notes in `before` still apply."""

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
            description="A note according to which the text is revised.",
            examples=["Shorter, and without the storm."],
        ),
    ] = None,
    *,
    anew: Annotated[bool, Field(description="Write the text from scratch according to the note.")] = False,
) -> TakeToCome:
    """Have the next run write another version of a text, or revise it according to a note.

    The old text remains available as a version. If the text is a copy of a draft, the draft is rewritten.

    Raises:
        UsageError: the note is empty, the text is pinned, or no role writes it.
        UnknownNameError: the artefact does not exist.
    """
    wish = plain(note or "").strip()
    if anew and note is None:
        raise UsageError("`anew` requires a note; without a note, the text is rewritten anyway.")
    if note is not None and not wish:
        raise UsageError("The note is empty. Write what to change, or leave --note out for another version.")
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        check_unpinned(journal, path)
        _check_written_by_a_role(journal, path, wish)
        revise = bool(wish) and not anew
        written = path if revise else _written_as(journal, path)
        check_unpinned(journal, written)
        with journal.transaction():
            for one in dict.fromkeys((path, written)):
                if not revise and journal.decisions.override(one) is not None:
                    journal.decisions.add(one, "unedit")
            journal.decisions.add(written, "revise" if revise else "retake", wish or None)
        notes = notes_of(journal, written)
    return TakeToCome(written, revise, list(notes[:-1] if wish else notes))


def _written_as(journal: Journal, path: str) -> str:
    """The artefact that a model wrote; another one than `path` if the text at `path` is a copy, made without a call."""
    copy, named = journal.artefacts.made(path), path.rpartition("/")[2]
    if copy is None or copy.calls:
        return path
    for other in journal.artefacts.paths():
        wrote = journal.artefacts.made(other)
        # A draft of the same name gets its text's retakes anyway.
        if wrote is not None and wrote.calls and wrote.text == copy.text and other.rpartition("/")[2] != named:
            return other
    return path


def _check_written_by_a_role(journal: Journal, path: str, note: str) -> None:
    """Raise a `UsageError` if no model writes the artefact, or the note could have no effect."""
    file = journal.artefacts.places()[path]
    if path == REFUSED_EDITS:
        raise UsageError(
            f"{file} is your own list of refused edits, so no role rewrites it. `fabula text edits --accept ID` "
            "removes an edit from the list."
        )
    if note and file.endswith((f".{RECORD}", f".{TABLE}")):
        raise UsageError(f"{file} cannot be revised by a role, so a note has no effect. Leave --note out.")


@dataclass(frozen=True, slots=True)
class MoreToCome:
    """A text that the next run extends, with the approximate number of words and the number of calls.

    `decided` is false after a dry run.
    """

    artefact: str
    words: int | None
    calls: int
    decided: bool


@verb("POST", "/continuations", command="text continue")
async def continue_text(
    project: Workspace,
    artefact: ArtefactName = "",
    *,
    words: Annotated[
        int | None,
        Field(ge=1, le=LARGEST, description="Approximate number of additional words; default: a third of the part."),
    ] = None,
    dry_run: Annotated[bool, Field(description="Only return the number of calls needed.")] = False,
) -> MoreToCome:
    """Have the next run continue a text or, without a name, the end of the story.

    Raises:
        UsageError: the text is pinned, is already waiting to be continued, or cannot be continued by the system.
    """
    await asyncio.to_thread(project.expected)  # what stands in the way of any run is said as that
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact) if artefact else _last_part(journal)
        check_unpinned(journal, path)
        text = newest_of(journal, path)
        if journal.decisions.override(path) == (text, "continued"):
            raise UsageError(
                f"{path} is already waiting to be continued. `fabula update` continues it, `fabula undo` cancels it."
            )
        journal.decisions.add(path, "continue", text, words)
    stays = False
    try:
        found = MoreToCome(path, words, len((await asyncio.to_thread(project.expected)).calls), not dry_run)
        stays = found.decided
    except UsageError as error:
        raise UsageError(
            f"{path} is not a part of the story, and {project.settings().system} cannot continue it. Extend its "
            f"file, or run `fabula text retake {path}`."
        ) from error
    finally:
        if not stays:
            with project.decided() as (_, journal):
                journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
    return found


def _last_part(journal: Journal) -> str:
    """The part that ends the story; must not be a text of the author's own."""
    parts = {file: path for path, file in journal.artefacts.places().items() if file.startswith("story/")}
    there = reached(journal)
    written = [file for file, path in parts.items() if there is None or path in there]
    if not written:
        raise UsageError("There is no story to continue yet. Write one first.")
    return parts[max(written)]
