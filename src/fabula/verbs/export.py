"""`export`, `formats`: export the story as a file for readers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from fabula.app.exporting import as_it_came, as_it_stands
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.data.story_files import SCREENPLAYS
from fabula.project.telling import imported_from
from fabula.story import slug
from fabula.story.export import Meta, find, without_comments
from fabula.story.export import formats as known_formats
from fabula.story.language import language_of, language_of_brief
from fabula.verbs.base import File, verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(File):
    """The story in a format.

    Attributes:
        name: a suitable name for its file.
        content: the content of the file.
        format: the name of the format.
        words: the number of words in the story.
        behind: whether texts have changed since the story was assembled.
    """

    format: str
    words: int
    behind: bool


@dataclass(frozen=True, slots=True)
class Formats:
    """The available formats of a story."""

    formats: list[str]


@verb("GET", "/exports", "story")
async def formats(project: Workspace) -> Formats:
    """List the formats in which the story is available, by name."""
    del project
    return Formats(list(known_formats()))


@verb("GET", "/exports/{format}", "story")
async def export(
    project: Workspace,
    format: Annotated[str, Field(max_length=40, description="md, epub, docx, fountain, txt or json.")] = "md",  # noqa: A002 - as it is called everywhere
) -> Exported:
    """Return the story as a file for readers.

    The file has the date of the last run, so exporting the same story again produces the same file.

    Raises:
        ProjectError: there is no story yet, or `story.md` was emptied.
        UnknownNameError: the format does not exist.
    """
    chosen, opened = find(format), project.project()
    story = opened.story()
    settings, brief = opened.settings, opened.brief
    with opened.journal as journal:
        story = without_comments(as_it_stands(journal, story))
        if (source := imported_from(journal)) and chosen.name != "json":
            story = as_it_came(story)
        runs = journal.runs()
        behind = any(change.file != "story.md" for change in opened.changes(journal))
    options = {"is_fountain": True} if chosen.name == "fountain" and source.casefold().endswith(SCREENPLAYS) else {}
    ended = [run["ended"] for run in runs if run["ended"]]
    meta = Meta(
        title=story.title or brief.title or opened.folder.resolve().name,
        author=settings.author.name,
        created=datetime.fromisoformat(ended[-1]) if ended else datetime.now(UTC),
        words=story.words,
        language=settings.author.language or language_of(story.text, language_of_brief(brief.text)),
        brief=brief.text,
        contact=settings.author.contact,
    )
    return Exported(
        name=slug(meta.title) + chosen.suffix,
        content=chosen.render(story, meta, **options),
        format=chosen.name,
        words=story.words,
        behind=behind,
    )
