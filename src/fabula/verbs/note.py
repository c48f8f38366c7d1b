"""`note`: the author's notes on a text, which no role is shown."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabula.app.saving import Saved, base_of, save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import MAX_FILE, NOTES, note_on
from fabula.verbs.base import ArtefactName, verb
from fabula.verbs.text import text as text_of


@verb("PUT", "/notes/{artefact:path}", "texts", command="text note")
async def note(
    project: Workspace,
    artefact: ArtefactName,
    text: Annotated[
        str,
        Field(max_length=MAX_FILE, description="The whole notes; empty: none.", examples=["Cut the second letter?"]),
    ],
    base: Annotated[
        str | None, Field(max_length=64, description="The `base` of the notes that you edited; null: any.")
    ] = None,
) -> Saved:
    """Save your notes on a text in `notes/`. No role is ever shown them; read them as the text `notes/NAME`.

    Raises:
        UsageError: the text is itself a file of notes.
        ConflictError: the notes have changed in the meantime.
        LockedError: a run is in progress.
    """
    about = await text_of(project, artefact)
    if about.file.startswith(f"{NOTES}/"):
        raise UsageError(f"{about.file} is itself a file of your notes. Change it with `fabula edit {about.name}`.")
    name = note_on(about.name)
    file, standing = f"{name}.md", project.standing()
    with project.changing() as texts:
        if text.strip():
            there = name in standing
            return await save(texts, name if there else file, text, base if there else "", project.options)
        if name in standing:
            with texts.recorded() as journal:
                texts.take_over(journal, [], withdrawn=[name])
    return Saved(name, file, name in standing, 0, 0, base_of(""))
