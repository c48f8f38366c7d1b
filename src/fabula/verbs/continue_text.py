"""`continue_text`: continue a text, or the story after its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.deciding import check_unpinned, newest_of, reached
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.craft.numbers import LARGEST
from fabula.verbs.base import ArtefactName, verb

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


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
