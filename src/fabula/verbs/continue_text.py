"""`continue_text`: more after a text, or after the story's end."""

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
    """A text after which the next run writes more, about how many words, and in how many calls.

    `decided` is false where it was only looked at.
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
        int | None, Field(ge=1, le=LARGEST, description="About how many words more; default: a third of the part.")
    ] = None,
    dry_run: Annotated[bool, Field(description="Only say how many calls it takes.")] = False,
) -> MoreToCome:
    """Have more written after a text; without a name, after the story's end.

    The next run does it.

    Raises:
        UsageError: it is pinned, waits to be continued already, or the system cannot continue it.
    """
    await asyncio.to_thread(project.expected)  # what stands in the way of any run is said as that
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact) if artefact else _last_part(journal)
        check_unpinned(journal, path)
        text = newest_of(journal, path)
        if journal.decisions.override(path) == (text, "continued"):
            raise UsageError(
                f"{path} waits to be continued already. `fabula update` does it, `fabula undo` forgets it."
            )
        journal.decisions.add(path, "continue", text, words)
    stays = False
    try:
        found = MoreToCome(path, words, len((await asyncio.to_thread(project.expected)).calls), not dry_run)
        stays = found.decided
    except UsageError as error:
        raise UsageError(
            f"{path} is no part of the story, and {project.settings().system} cannot continue it. Write on in its "
            f"file, or say `fabula text retake {path}`."
        ) from error
    finally:
        if not stays:
            with project.decided() as (_, journal):
                journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
    return found


def _last_part(journal: Journal) -> str:
    """The part that ends the story; a text of the author's own is not asked for."""
    parts = {file: path for path, file in journal.artefacts.places().items() if file.startswith("story/")}
    there = reached(journal)
    written = [file for file, path in parts.items() if there is None or path in there]
    if not written:
        raise UsageError("There is no story yet that could go on. Write it first.")
    return parts[max(written)]
