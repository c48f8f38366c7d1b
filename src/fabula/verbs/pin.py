"""`pin`: a text that stays as it is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabula.app.deciding import authored, newest_of, source_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import STORY
from fabula.verbs.base import ArtefactName, ArtefactNames, verb


@verb("POST", "/pins", command="text pin")
async def pin(
    project: Workspace,
    artefact: ArtefactName = "",
    *,
    all: Annotated[bool, Field(description="Every text there is.")] = False,  # noqa: A002 - as it is called everywhere
) -> ArtefactNames:
    """Pin a text, or all.

    It stays as it is, whatever changes above it. What was pinned already is not named again where all are.

    Raises:
        UsageError: neither is said, or both.
    """
    if bool(artefact) == all:
        raise UsageError("Name an artefact, or say `fabula text pin --all`; `fabula status` lists them.")
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
