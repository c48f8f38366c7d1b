"""A project's story, with the newest versions of its texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.story import Scene, Story, plain, slug
from fabula.story.export.prose import title_of

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


def as_it_stands(journal: Journal, story: Story) -> Story:
    """The story of `story.md`, with the newest version of each part that has an earlier version there.

    Parts that were edited or reverted after the story was assembled are up to date. Changes that the author made in
    the file itself are kept.
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
    """A part's newest version, if `text` is one of its versions."""
    versions = [plain(version.text) for version in journal.artefacts.versions(path)]
    return versions[-1] if plain(text) in versions else text


def as_it_came(story: Story) -> Story:
    """The story of a manuscript in chapters: text without a heading belongs to the chapter before, unchanged.

    The manuscript's parts contain the breaks between them, so that none are added.
    """
    scenes: list[Scene] = []
    for scene in story.scenes:
        if scenes and not title_of(scene.text):
            scenes[-1] = replace(scenes[-1], text=f"{scenes[-1].text}\n\n{scene.text}")
        else:
            scenes.append(scene)
    return replace(story, scenes=tuple(scenes))
