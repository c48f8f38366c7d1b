"""`artefacts`, `text`, `story`: the texts of a project, one of them or one of its versions, and the whole story."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.deciding import version_of
from fabula.app.saving import BRIEF, Saved, base_of
from fabula.app.workspace import Artefact, Workspace  # noqa: TC001 - doors read them
from fabula.base.errors import FabulaError, ProjectError, UnknownNameError
from fabula.base.files import read_text
from fabula.project.folder import MAX_STORY, MOST_LISTED, STORY, STYLE
from fabula.story import Story, count_words, plain
from fabula.verbs.base import ArtefactName, verb

if TYPE_CHECKING:
    from fabula.project.folder import ProjectFolder


@dataclass(frozen=True, slots=True)
class ArtefactList:
    """The texts of a project, ordered by file. `problem` explains why fabula cannot tell which texts are stale."""

    artefacts: list[Artefact]
    problem: str


@verb("GET", "/artefacts", "texts")
async def artefacts(
    project: Workspace,
    folder: Annotated[str | None, Field(max_length=40, description='"story", "plan", ...')] = None,
    *,
    marks: Annotated[bool, Field(description="Also say which are stale.")] = True,
) -> ArtefactList:
    """List the texts, ordered by file, starting with the brief.

    With `marks`, each entry shows whether the text is stale.
    """
    problem = ""
    if marks:
        try:
            await asyncio.to_thread(project.expected)
        except FabulaError as error:
            problem = str(error)
    found = await asyncio.to_thread(project.rows, marks=marks)
    return ArtefactList([one for one in found if folder is None or one.folder == folder], problem)


@dataclass(frozen=True, slots=True)
class ArtefactText(Saved):
    """A whole text. The fields are those of `Artefact`; for an older version, `base` identifies that version."""

    source: str
    text: str
    title: str = ""


@verb("GET", "/artefacts/{artefact:path}", "texts")
async def text(
    project: Workspace,
    artefact: ArtefactName = STORY,
    version: Annotated[
        int | None, Field(ge=1, le=2**31 - 1, description="The number of a version; default: the latest version.")
    ] = None,
) -> ArtefactText:
    """Return a text with the changes in its file, or one of its versions.

    Use `story.md` for the whole story.

    Raises:
        UnknownNameError: the artefact or version does not exist.
    """
    found = _text(project, artefact, version)
    return replace(found, title=project.titles()(found.name))


def _text(workspace: Workspace, name: str, version: int | None) -> ArtefactText:
    project = workspace.texts()
    if name in (BRIEF, STYLE, STORY) and version is None:
        return _file(workspace, project, name)
    with project.journal as journal:
        changes = {change.path: change for change in workspace.changes_or_none(project, journal)}
        change = changes.get(name) or next((one for one in changes.values() if one.file == name != STORY), None)
        if version is None and change is not None:
            number = len(journal.artefacts.versions(change.path)) + 1
            file = journal.artefacts.places().get(change.path, change.file)
            return _whole(change.path, file, change.text, number, "edited", changed=True)
        path = STORY if name == STORY else project.artefact(journal, name)
        number = len(journal.artefacts.versions(path)) if version is None else version
        found = version_of(journal, path, number)
        source = journal.artefacts.versions(path)[number - 1].source
        file = journal.artefacts.places().get(path, path)
    return _whole(path, file, found, number, source)


def _whole(name: str, file: str, text: str, version: int, source: str, *, changed: bool = False) -> ArtefactText:
    return ArtefactText(name, file, changed, count_words(text), version, base_of(text), source, text)


def _file(workspace: Workspace, project: ProjectFolder, name: str) -> ArtefactText:
    """A file that is not an artefact of its own: the brief, the style sheet or the whole story."""
    file = project.folder / name
    if not file.is_file():
        known = [one.name for one in workspace.rows(marks=False)]
        raise UnknownNameError("artefact", name, known, most=MOST_LISTED)
    found = plain(read_text(file, MAX_STORY))
    version = 0
    if name == STORY:
        with project.journal as journal:
            version = len(journal.artefacts.versions(STORY))
    return _whole(name, name, found, version, "edited")


@verb("GET", "/story", "story")
async def story(project: Workspace) -> Story:
    """Return the story as in `story.md`: its title, and each scene with its text.

    Raises:
        ProjectError: the story is not complete yet.
    """
    texts = project.texts()
    with texts.journal as journal:
        begun = any(file.startswith("story/") for file in journal.artefacts.places().values())
    if begun and not texts.story_file.exists():
        raise ProjectError(
            f"The story is not complete yet; its finished parts are in {texts.folder / 'story'}. Continue with "
            "`fabula write`."
        )
    return texts.story()
