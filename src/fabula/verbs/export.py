"""`export`, `formats`: export the story as a file for readers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from fabula.app.exporting import as_it_came, as_it_stands, space_before
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.data.story_files import SCREENPLAYS
from fabula.project.telling import imported_from
from fabula.story import slug
from fabula.story.export import LISTED, Meta, fdx, find, without_comments
from fabula.story.export import formats as known_formats
from fabula.story.export.plain import as_written
from fabula.story.export.prose import comments_in
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
        left_out: how many things of each kind the file does not have, such as "comment".
    """

    format: str
    words: int
    behind: bool
    left_out: dict[str, int]


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
    format: Annotated[str, Field(max_length=40, description=f"{LISTED}.")] = "md",  # noqa: A002 - as it is called everywhere
) -> Exported:
    """Return the story as a file for readers.

    The file has the date of the last run or of the import, so exporting the same story again produces the same file.

    Raises:
        ProjectError: there is no story yet, or `story.md` was emptied.
        UnknownNameError: the format does not exist.
    """
    chosen, opened = find(format), project.project()
    story = opened.story()
    settings, brief = opened.settings, opened.brief
    with opened.journal as journal:
        story = as_it_stands(journal, story)
        left_out = {"comment": sum(1 for scene in story.scenes for _ in comments_in(scene.text))}
        story = without_comments(story)
        parts, before = story, space_before(journal, story)
        if (source := imported_from(journal)) and chosen.name != "json":
            story = as_it_came(story)
        dates = [one.at for one in journal.decisions.find("*")] + [run["ended"] for run in journal.runs()]
        behind = any(change.file != "story.md" for change in opened.changes(journal))
    title, name = story.title or brief.title, opened.folder.resolve().name
    meta = Meta(
        title=title if source else title or name,
        author=settings.author.name,
        created=datetime.fromisoformat(next(filter(None, reversed(dates)), None) or datetime.now(UTC).isoformat()),
        words=story.words,
        language=settings.author.language or language_of(story.text, language_of_brief(brief.text)),
        brief=brief.text,
        contact=settings.author.contact,
    )
    is_script = source.casefold().endswith(SCREENPLAYS)
    unchanged = {"markdown": not is_script, "text": source.casefold().endswith(".txt"), "fountain": is_script}
    if is_script and chosen.name == "fdx":
        left_out |= fdx.left_out(story)
    if source and unchanged.get(chosen.name):
        content = as_written(parts, "" if is_script else title, before).encode()
    else:
        content = chosen.render(story, meta, **({"is_fountain": is_script} if chosen.name == "fdx" else {}))
    return Exported(
        name=slug(title or name) + chosen.suffix,
        content=content,
        format=chosen.name,
        words=story.words,
        behind=behind,
        left_out={kind: number for kind, number in left_out.items() if number},
    )
