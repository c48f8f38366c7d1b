"""From what a caller names or hands over (path, text, brief, story, project) to a project, a brief or stories.

A string that names a file or folder is that; any other string is a text. What looks like the name of a file that is not
there is refused, so that nobody has a story written about `brief.md`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.app.item_files import MAX_STORY_BYTES, TABLES, named_set, read_items, story_in
from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import read_text
from fabula.measure.items import Item
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, Story, slug

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from fabula.app.item_files import Selection

    class HasProject(Protocol):
        """What stands in a project, as what `write` and `plan` give."""

        @property
        def project(self) -> ProjectFolder:
            """The project."""

    class OpensProject(Protocol):
        """What a project is done with, as `read` gives it."""

        def project(self) -> ProjectFolder:
            """The project."""


StorySource: TypeAlias = "str | Path | Story | ProjectFolder | HasProject | OpensProject"
"""A story: its file or project, its text, or what a verb gave."""
BriefSource: TypeAlias = "str | Path | Brief | ProjectFolder | HasProject | OpensProject"
"""What is to be written: a brief, its text or file, or a project to go on with."""
_LONGEST_NAME: Final = 1000  # characters; a longer string is no path
_FILE: Final = re.compile(r"\A(?:\S*[/\\]\S*|\S+\.\w{1,5})")
_TITLE_WORDS: Final = 6  # of a text that has no title, for the name of its folder


def path_of(source: object) -> Path | None:
    """The file or folder that a string or path names; `None` for any other string, which is a text.

    Raises:
        UsageError: it reads like a file's name, and there is none.
    """
    if isinstance(source, Path):
        return source
    if not isinstance(source, str) or "\n" in source or len(source) > _LONGEST_NAME:
        return None
    path = Path(source)
    if source.strip() and path.exists():
        return path
    if _FILE.fullmatch(source.strip()):
        raise UsageError(
            f"There is no file or folder {source!r}. Name one that is there, or hand over the text itself."
        )
    return None


def project_in(source: object) -> ProjectFolder | None:
    """The project that is handed over, or that stands in the folder named; `None` for anything else.

    Raises:
        ProjectError: the folder is none.
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
    """The brief that is handed over: itself, its file or its text.

    Raises:
        BriefError: it cannot be read, or nothing is asked in it.
        UsageError: it is none of these.
    """
    if isinstance(source, Brief):
        return source
    if (path := path_of(source)) is not None:
        return Brief.read(path)
    if isinstance(source, str):
        return Brief.parse(source)
    raise UsageError(f"{type(source).__name__!r} is no brief. Give a text, the path of a file, a Brief or a project.")


def folder_for(brief: Brief, source: object) -> Path:
    """The project folder for a brief where none is named: called after its file, its title or its first words."""
    if (path := path_of(source)) is not None:
        return Path(path.stem)
    return Path(slug(brief.title or " ".join(brief.text.split()[:_TITLE_WORDS])))


def read_story(where: Path) -> Story:
    """The story in a file, as `fabula.read` reads it.

    Raises:
        UsageError: there is no such file, or no story in it.
    """
    if where.name.endswith(TABLES):
        items = read_items([where])
        if len(items) > 1:
            raise UsageError(f"{where} holds {len(items)} stories. Give its path to fabula.rank or fabula.measure.")
        return items[0].story
    return story_in(where)


def story_of(source: StorySource) -> Story:
    """The story that is handed over: itself, its text, or that of a file or project.

    Raises:
        ProjectError: the project has no story yet.
        UsageError: it is none of these, or empty.
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
        raise UsageError("The story is empty. Give a text with words in it.")
    raise UsageError(f"{type(source).__name__!r} is no story. Give a text, the path of a file, a Story or a project.")


def items_of(sources: Sequence[StorySource], selection: Selection) -> tuple[Item, ...]:
    """The stories to be measured, as `item_files.read_items` reads files, folders, projects and data sets.

    One that is handed over as a text or `Story` is called after its title, else "story-1" and so on.

    Raises:
        UsageError: one cannot be read, is empty, or two have one name.
    """
    if not sources:
        raise UsageError("No story is given. Give a text, the path of a file, a Story or a project.")
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
        raise UsageError(f"Two stories are called {twice!r}. Give one of them another title, file or folder.")
    return tuple(found)


def _place(source: object, selection: Selection) -> Path | None:
    """The file, folder, project or data set that is named or handed over; `None` for a text or `Story`."""
    if isinstance(source, str | Path):
        named = isinstance(source, Path) or (len(source) < _LONGEST_NAME and "\n" not in source)
        return Path(source) if named and named_set(Path(source), selection.data) is not None else path_of(source)
    project = project_in(source)
    return None if project is None else project.folder
