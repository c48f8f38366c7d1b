"""Turning a caller's argument (a path, text, brief, story or project) into a project, a brief or stories.

A string that names a file or folder means that file or folder; any other string is a text. A string that looks like the
name of a missing file is refused, so that no story is written about the words `brief.md`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.app.item_files import MAX_STORY_BYTES, TABLES, named_set, read_items, story_in
from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import no_file, read_text
from fabula.measure.items import Item
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Story, slug

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from fabula.app.item_files import Selection

    class HasProject(Protocol):
        """An object with a project, such as a result of `write` or `plan`."""

        @property
        def project(self) -> ProjectFolder:
            """The project."""

    class OpensProject(Protocol):
        """An object that opens a project, such as a result of `read`."""

        def project(self) -> ProjectFolder:
            """The project."""


StorySource: TypeAlias = "str | Path | Story | ProjectFolder | HasProject | OpensProject"
"""A story: a file, a project, a text, or the result of a verb."""
BriefSource: TypeAlias = "str | Path | Brief | ProjectFolder | HasProject | OpensProject"
"""Where to start: a brief as a text, file or object, or a project to continue."""
_LONGEST_NAME: Final = 1000  # characters; a longer string is no path
_FILE: Final = re.compile(r"\A(?:\S*[/\\]\S*|\S+\.\w{1,5})")


def path_of(source: object) -> Path | None:
    """The file or folder that a string or path names; `None` for any other string, which is a text.

    Raises:
        UsageError: it looks like the name of a file, but there is no such file.
    """
    if isinstance(source, Path):
        return source
    if not isinstance(source, str) or "\n" in source or len(source) > _LONGEST_NAME:
        return None
    path = Path(source)
    if source.strip() and path.exists():
        return path
    if _FILE.fullmatch(source.strip()):
        raise UsageError(no_file(path, "Pass the path of an existing one, or the text itself.", "file or folder"))
    return None


def project_in(source: object) -> ProjectFolder | None:
    """The given project, or the project in the named folder; `None` for anything else.

    Raises:
        ProjectError: the folder is not a project.
    """
    if isinstance(source, ProjectFolder):
        return source
    held = getattr(source, "project", None)
    if callable(held):  # the door that `fabula.read` gives
        held = held()
    if isinstance(held, ProjectFolder):
        return held
    path = path_of(source)
    return ProjectFolder.open(path) if path is not None and path.is_dir() else None


def brief_of(source: BriefSource) -> Brief:
    """The given brief, or the brief in a file or text.

    Raises:
        BriefError: the brief cannot be read, or is empty.
        UsageError: the argument is not a brief.
    """
    if isinstance(source, Brief):
        return source
    if (path := path_of(source)) is not None:
        return Brief.read(path)
    if isinstance(source, str):
        return Brief.parse(source)
    raise UsageError(
        f"{type(source).__name__!r} is not a brief. Pass a text, the path of a file, a Brief or a project."
    )


def folder_for(brief: Brief, source: object) -> Path:
    """The project folder for a brief if none is named: named after its file, its title or its first words."""
    if (path := path_of(source)) is not None:
        return Path(path.stem)
    return Path(slug(brief.title or first_words(brief.text)))


def first_words(text: str) -> str:
    """The first words of a text that has no title, for the name of its folder."""
    return " ".join(text.split()[:6])


def read_story(where: Path) -> Story:
    """The story in a file, as `fabula.read` reads it.

    Raises:
        UsageError: the file does not exist, or does not contain exactly one story.
    """
    if where.name.endswith(TABLES):
        items = read_items([where])
        if len(items) > 1:
            raise UsageError(f"{where} contains {len(items)} stories. Pass its path to fabula.rank or fabula.measure.")
        return items[0].story
    return story_in(where)


def story_of(source: StorySource) -> Story:
    """The given story, or the story in a text, file or project.

    Raises:
        ProjectError: the project has no story yet.
        UsageError: the argument is not a story, or the story is empty.
    """
    if isinstance(source, Story):
        return source
    if (project := project_in(source)) is not None:
        if not project.story_file.is_file():
            raise ProjectError(
                f"{project.folder} has no story yet. Write it with fabula.write({str(project.folder)!r})."
            )
        return Story.parse(read_text(project.story_file, MAX_STORY_BYTES))
    if (path := path_of(source)) is not None:
        return read_story(path)
    if isinstance(source, str):
        story = Story.parse(source)
        if story.words:
            return story
        raise UsageError("The story is empty. Provide a text that contains words.")
    raise UsageError(
        f"{type(source).__name__!r} is not a story. Pass a text, the path of a file, a Story or a project."
    )


def items_of(sources: Sequence[StorySource], selection: Selection) -> tuple[Item, ...]:
    """The stories to be measured, read from files, folders, projects and data sets as `item_files.read_items` does.

    A story given as a text or `Story` is named after its title; stories without a title are "story-1" and so on.

    Raises:
        UsageError: a story cannot be read or is empty, or two have the same name.
    """
    if not sources:
        raise UsageError("No story was passed. Pass a text, the path of a file, a Story or a project.")
    places = [_place(source, selection) for source in sources]
    known = [place for place in places if place is not None]
    if len(known) == len(places):
        return read_items(known, selection)  # all at once, so that files of one name are told apart by their folders
    found: list[Item] = []
    for number, (source, place) in enumerate(zip(sources, places, strict=True), 1):
        if place is not None:
            found += read_items([place], selection)
        else:
            story = story_of(source)
            found.append(Item(slug(story.title) if story.title else f"story-{number}", story))
    names = [item.id for item in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"Two stories are called {twice!r}. Change the title, file name or folder name of one of them."
        )
    return tuple(found)


def _place(source: object, selection: Selection) -> Path | None:
    """The file, folder, project or data set that is named or given; `None` for a text or `Story`."""
    if isinstance(source, str | Path):
        named = isinstance(source, Path) or (len(source) < _LONGEST_NAME and "\n" not in source)
        return Path(source) if named and named_set(Path(source), selection.data) is not None else path_of(source)
    project = project_in(source)
    return None if project is None else project.folder
