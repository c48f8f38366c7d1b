"""`pin`: protect a text from being rewritten."""

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
