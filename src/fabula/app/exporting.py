"""A project's story as its newest texts have it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.story import Scene, Story, plain, slug
from fabula.story.export.prose import title_of

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


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


def as_it_came(story: Story) -> Story:
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
