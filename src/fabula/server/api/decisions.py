"""What an author decides about texts: pins, takes, versions, approvals, edits of the final reading; undo and redo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from fabula.app.saving import Saved  # noqa: TC001 - FastAPI reads them
from fabula.app.workspace import Decided  # noqa: TC001 - FastAPI reads them
from fabula.base.errors import UsageError
from fabula.server.api.depends import WorkspaceDep  # noqa: TC001 - FastAPI reads it
from fabula.server.api.wire import (
    LONGEST_NAME,
    Approval,
    Artefacts,
    EditsRefused,
    FinalEdits,
    NewTake,
    Pin,
    TakeToCome,
    VersionChoice,
    VersionList,
)

router = APIRouter(prefix="/projects/{project}", tags=["decisions"])

TextName = Annotated[str, Path(description="The artefact: its name, or its file.", max_length=LONGEST_NAME)]


def _check(fine: bool, otherwise: str) -> None:  # noqa: FBT001 - what is checked
    if not fine:
        raise UsageError(otherwise)


@router.get("/pins", summary="The texts that are pinned")
def pins(workspace: WorkspaceDep) -> Artefacts:
    """In order of file."""
    return Artefacts([one.name for one in workspace.artefacts(marks=False) if one.pinned])


@router.post("/pins", summary="Pin a text, or all")
def pin(workspace: WorkspaceDep, body: Pin) -> Artefacts:
    """It stays as it is, whatever changes above it."""
    _check(bool(body.artefact) != body.all, "Name an artefact, or say that all are to be pinned.")
    return Artefacts(workspace.pin_all() if body.all else [workspace.pin(body.artefact)])


@router.delete("/pins/{name:path}", summary="Let a pinned text change again")
def unpin(workspace: WorkspaceDep, name: TextName) -> Artefacts:
    """Whether it would, the estimate says."""
    return Artefacts([workspace.unpin(name)])


@router.post("/retakes", summary="Have a text written anew, or revised as a note asks")
def retake(workspace: WorkspaceDep, body: NewTake) -> TakeToCome:
    """The next run does it; the old text stays among its versions."""
    wished = body.note is not None or not body.anew
    _check(wished, "`anew` goes with `note`; without a note the text is written anew in any case.")
    done = workspace.retake(body.artefact, body.note, anew=body.anew)
    return TakeToCome(done.path, done.revised, list(done.before))


@router.get("/alternatives/{name:path}", summary="The takes of a text")
def alternatives(workspace: WorkspaceDep, name: TextName) -> VersionList:
    """Newest first: the versions that were written for the author, of which one can be chosen."""
    return VersionList(name, workspace.alternatives(name))


@router.post("/choices", summary="Have an earlier version of a text stand again")
def choose(workspace: WorkspaceDep, body: VersionChoice) -> Saved:
    """As an edit of the author's. Without a version the edits are taken back, and what was written for them stands."""
    if body.version is None:
        return workspace.revert(body.artefact)
    return workspace.pick(body.artefact, body.version)


@router.post("/approvals", summary="Approve a text, or all that wait")
def approve(workspace: WorkspaceDep, body: Approval) -> Artefacts:
    """What was approved already is not named again."""
    return Artefacts(workspace.approve(body.artefact))


@router.get("/edits", summary="What the final reading of the story changed")
def edits(workspace: WorkspaceDep) -> FinalEdits:
    """Nothing, where there was none."""
    return FinalEdits.of(*workspace.final_edits())


@router.post("/edits", summary="Refuse edits of the final reading, or make them after all")
def refuse(workspace: WorkspaceDep, body: EditsRefused) -> FinalEdits:
    """The next run makes the story so; nobody is asked for it."""
    workspace.refuse_edits(body.refuse, body.accept)
    return FinalEdits.of(*workspace.final_edits())


@router.post("/undo", summary="Take back what was decided last")
def undo(workspace: WorkspaceDep) -> Decided:
    """Here or at the command line."""
    return workspace.undo()


@router.post("/redo", summary="Decide again what was taken back")
def redo(workspace: WorkspaceDep) -> Decided:
    """As long as nothing else was decided since."""
    return workspace.redo()
