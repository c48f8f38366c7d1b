"""`snapshot`, `snapshots`, `since_snapshot`, `restore_snapshot`: named points in the history of the book."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.snapshots import SnapshotChanges, SnapshotList, compared, restore, take, taken
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONGEST_NAME, verb

SnapshotNumber: TypeAlias = Annotated[
    int, Field(ge=1, le=2**31 - 1, description="The number of the snapshot.", examples=[1])
]


@verb("POST", "/snapshots", "texts")
async def snapshot(
    project: Workspace,
    name: Annotated[
        str, Field(max_length=LONGEST_NAME, description="The name of the snapshot.", examples=["before the cut"])
    ],
) -> SnapshotList:
    """Name the present state of all texts, so that you can compare with it and restore it.

    Raises:
        UsageError: the name is empty or too long.
    """
    with project.decided() as (_, journal):
        take(journal, name)
        return SnapshotList(tuple(one for one, _ in taken(journal)))


@verb("GET", "/snapshots", "texts")
async def snapshots(project: Workspace) -> SnapshotList:
    """List the snapshots, oldest first."""
    with project.texts().journal as journal:
        return SnapshotList(tuple(one for one, _ in taken(journal)))


@verb("GET", "/snapshots/{number}", "texts")
async def since_snapshot(project: Workspace, number: SnapshotNumber) -> SnapshotChanges:
    """List the texts that differ from a snapshot.

    Raises:
        UnknownNameError: there is no such snapshot.
    """
    with project.texts().journal as journal:
        return compared(journal, number)[0]


@verb("POST", "/snapshots/{number}/restore", "texts")
async def restore_snapshot(
    project: Workspace,
    number: SnapshotNumber,
    artefact: Annotated[
        str, Field(max_length=LONGEST_NAME, description="Only this text; default: all texts.", examples=["climax"])
    ] = "",
) -> SnapshotChanges:
    """Give all texts, or one of them, back the versions of a snapshot; a single undo takes all of it back.

    Raises:
        UnknownNameError: there is no such snapshot or text.
    """
    with project.decided() as (texts, journal):
        return restore(texts, journal, number, artefact)
