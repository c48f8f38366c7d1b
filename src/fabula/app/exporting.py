"""A project's story as a file for readers: which story, and what its title page says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fabula.base.errors import ProjectError
from fabula.base.files import read_text
from fabula.project.folder import MAX_STORY
from fabula.project.telling import imported_from
from fabula.story import Scene, Story, plain, slug
from fabula.story.export import Meta, find, without_comments
from fabula.story.export.prose import title_of
from fabula.story.language import language_of

if TYPE_CHECKING:
    from fabula.engine.journal import Journal
    from fabula.project.folder import Project


@dataclass(frozen=True, slots=True)
class Exported:
    """A story in a format.

    Attributes:
        content: of the file.
        format: its name.
        file: what it may be called.
        words: of the story.
        behind: texts have changed since the story was put together.
    """

    content: bytes
    format: str
    file: str
    words: int
    behind: bool


def exported(project: Project, format_: str, again: str) -> Exported:
    """The story of a project in a format; its date is that of the last run, so that the same story gives the same file.

    Raises:
        ProjectError: there is no story yet; the command `again` writes it.
        UnknownNameError: there is no such format.
    """
    chosen = find(format_)
    if not project.story_file.exists():
        raise ProjectError(f"There is no story yet. Write it with {again}.")
    story = Story.parse(read_text(project.story_file, MAX_STORY))
    settings, brief = project.settings, project.brief
    with project.journal as journal:
        story = without_comments(as_it_stands(journal, story))
        if imported_from(journal) and chosen.name != "json":
            story = _as_it_came(story)
        runs = journal.runs()
        behind = any(change.file != "story.md" for change in project.changes(journal))
    ended = [run["ended"] for run in runs if run["ended"]]
    meta = Meta(
        title=story.title or brief.title or project.folder.resolve().name,
        author=settings.author.name,
        created=datetime.fromisoformat(ended[-1]) if ended else datetime.now(UTC),
        words=story.words,
        language=settings.author.language or language_of(story.text, language_of(brief.text)),
        brief=brief.text,
        contact=settings.author.contact,
    )
    return Exported(chosen.render(story, meta), chosen.name, slug(meta.title) + chosen.suffix, story.words, behind)


def as_it_stands(journal: Journal, story: Story) -> Story:
    """The story of `story.md` with the newest text of each part that has an earlier one there.

    So what was edited or taken back since it was put together counts; what its author changed there stays.
    """
    paths = {slug(path): path for path, file in journal.artefacts.places().items() if file.startswith("story/")}
    names = [slug(scene.label) for scene in story.scenes]
    if len(set(names)) < len(names):
        return story
    return replace(
        story,
        scenes=tuple(
            replace(scene, text=_newest(journal, paths[name], scene.text)) if name in paths else scene
            for name, scene in zip(names, story.scenes, strict=True)
        ),
    )


def _newest(journal: Journal, path: str, text: str) -> str:
    """A part's newest text, where `text` is one of its texts."""
    versions = [plain(version.text) for version in journal.artefacts.versions(path)]
    return versions[-1] if plain(text) in versions else text


def _as_it_came(story: Story) -> Story:
    """A manuscript's story in its chapters: what begins without a heading stands below the one before, as it came.

    Its parts hold the breaks that are between them, so none is put there.
    """
    scenes: list[Scene] = []
    for scene in story.scenes:
        if scenes and not title_of(scene.text):
            scenes[-1] = replace(scenes[-1], text=f"{scenes[-1].text}\n\n{scene.text}")
        else:
            scenes.append(scene)
    return replace(story, scenes=tuple(scenes))
