"""`edit`, `rename`, `note`: the author's own words for a text, its title, and the notes on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fabula.app.arranging import assemble, retitled
from fabula.app.deciding import edit_all
from fabula.app.saving import Saved, base_of, check_base, save, saved
from fabula.app.titles import LONGEST, HeadedText
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import MAX_FILE, MAX_STORY, NOTES, note_on
from fabula.story import one_line
from fabula.verbs.base import ArtefactName, verb
from fabula.verbs.text import text as text_of


@verb("PUT", "/artefacts/{artefact:path}", "texts", command="edit")
async def edit(
    project: Workspace,
    artefact: ArtefactName,
    text: Annotated[
        str, Field(max_length=MAX_STORY, description="The whole text.", examples=["A harbour town, in autumn."])
    ],
    base: Annotated[
        str | None,
        Field(
            max_length=64,
            description="The `base` of the text that you edited, to avoid overwriting changes by others; empty: "
            "a new file by the author; null: overwrite any text.",
            examples=["9f2c41d07b"],
        ),
    ],
    sitting: Annotated[
        str,
        Field(
            max_length=64,
            pattern="^[A-Za-z0-9_-]*$",
            description="A name of your choice; a single undo reverts everything saved with the same sitting.",
        ),
    ] = "",
) -> Saved:
    """Replace a text, as an edit by the author, which `undo` can undo.

    Nothing happens if the text is unchanged. No model is called; the next run calls models for the texts that depend on
    this one.

    Raises:
        ConflictError: the text has changed in the meantime.
        LockedError: a run is in progress.
        UsageError: the text is empty, too long, or in a form from which no story can be written.
    """
    with project.changing(sitting) as texts:
        return await save(texts, artefact, text, base, project.options)


@verb("PUT", "/titles/{artefact:path}", "texts", command="text rename")
async def rename(
    project: Workspace,
    artefact: ArtefactName,
    title: Annotated[str, Field(max_length=LONGEST, description="The new title.", examples=["The Ferry"])],
) -> Saved:
    """Change the title of a part of the story, which is the heading of its text, also in your own list of chapters.

    This is an edit by the author, which `undo` can undo. No model is called.

    Raises:
        UsageError: the title is empty, or the text is not a part of the story.
    """
    stands, title = await text_of(project, artefact), one_line(title).strip()
    if not title or not stands.file.startswith("story/"):
        raise UsageError("Specify a part of the story, and a title that is not empty.")
    found = HeadedText.of(stands.text)
    new = replace(found, heading=f"{'#' * (found.level or 1)} {title}")
    with project.decided() as (texts, journal):
        path = texts.artefact(journal, stands.name)
        check_base(path, journal.artefacts.newest(path) or "", stands.base)
        changed = await edit_all(texts, journal, {path: str(new), **retitled(journal, path, title)}, project.options)
        if changed:
            assemble(texts, journal)
        return saved(journal, path, changed=bool(changed))


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
