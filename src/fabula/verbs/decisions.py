"""`pins`, `pin`, `unpin`, `approve`, `choose`: decisions about single texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabula.app.deciding import authored, edit, newest_of, revert, source_of, version_of
from fabula.app.saving import Saved, saved
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import STORY
from fabula.verbs.base import ArtefactName, ArtefactNames, verb


@verb("GET", "/pins")
async def pins(project: Workspace) -> ArtefactNames:
    """List the pinned texts, ordered by file."""
    return ArtefactNames([one.name for one in project.rows(marks=False) if one.pinned])


@verb("POST", "/pins", command="text pin")
async def pin(
    project: Workspace,
    artefact: ArtefactName = "",
    *,
    all: Annotated[bool, Field(description="Pin every text.")] = False,  # noqa: A002 - as it is called everywhere
) -> ArtefactNames:
    """Pin a text, or all texts.

    A pinned text stays as it is, whatever changes before it. With `all`, the result omits texts that were already
    pinned.

    Raises:
        UsageError: neither a name nor `all` is given, or both are.
    """
    if bool(artefact) == all:
        raise UsageError("Specify an artefact, or run `fabula text pin --all`; `fabula status` lists artefacts.")
    with project.decided(keeping=all) as (texts, journal):
        if all:
            paths = [path for path in authored(journal) if path != STORY and source_of(journal, path) != "pinned"]
            if paths:
                with journal.transaction():
                    journal.decisions.add("*", "pin-all", str(len(paths)))
                    for path in paths:
                        journal.decisions.add(path, "pin", journal.artefacts.newest(path))
            return ArtefactNames(paths)
        path = texts.artefact(journal, artefact)
        journal.decisions.add(path, "pin", newest_of(journal, path))
    return ArtefactNames([path])


@verb("DELETE", "/pins/{artefact:path}", command="text unpin")
async def unpin(project: Workspace, artefact: ArtefactName) -> ArtefactNames:
    """Let a pinned text change again.

    `estimate` shows whether the text will change.

    Raises:
        UsageError: the text is not pinned.
    """
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        if source_of(journal, path) != "pinned":
            raise UsageError(f"{path} is not pinned. `fabula status` shows the pinned texts.")
        journal.decisions.add(path, "unpin")
    return ArtefactNames([path])


@verb("POST", "/approvals", command="text approve")
async def approve(project: Workspace, artefact: ArtefactName = "") -> ArtefactNames:
    """Approve a text or, without a name, all texts that are waiting for approval.

    The result omits texts that were already approved.
    """
    with project.decided() as (texts, journal):
        asked = [texts.artefact(journal, artefact)] if artefact else list(authored(journal))
        waiting = [path for path in asked if source_of(journal, path) in {"", "continued"}]
        approved = [path for path in waiting if not journal.decisions.approved(path, newest_of(journal, path))]
        with journal.transaction():
            for path in approved:
                journal.decisions.add(path, "approve", newest_of(journal, path))
    return ArtefactNames(approved)


@verb("POST", "/choices")
async def choose(
    project: Workspace,
    artefact: ArtefactName,
    version: Annotated[
        int | None,
        Field(
            ge=1,
            le=2**31 - 1,
            description="The number of the version; default: the version last written for you.",
            examples=[1],
        ),
    ] = None,
) -> Saved:
    """Restore an earlier version of a text, as an edit by the author.

    Without a version, undo the author's edits and restore the text last written for the author.

    Raises:
        UnknownNameError: there is no version with that number.
        UsageError: there is no edit to undo, or nothing was ever written for the author.
    """
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, artefact)
        if version is None:
            revert(texts, journal, path)
            return saved(journal, path, changed=True)
        changed = await edit(texts, journal, path, version_of(journal, path, version), project.options)
        return saved(journal, path, changed=changed)
