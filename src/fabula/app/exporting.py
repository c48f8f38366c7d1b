"""A project's story, with the newest versions of its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.story import Scene, Story, plain, slug
from fabula.story.export.prose import title_of

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


_BLANK_LINE: Final = "\n\n"


def as_it_stands(journal: Journal, story: Story) -> Story:
    """The story of `story.md`, with the newest version of each part that has an earlier version there.

    Parts that were edited or reverted after the story was assembled are up to date. Changes that the author made in
    the file itself are kept.
    """
    paths = _paths(journal)
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


def keep_space(journal: Journal, before: Mapping[str, str]) -> None:
    """Record the line ends in front of each part of a manuscript, by its name, where they are not a blank line."""
    for name, space in before.items():
        if space not in ("", _BLANK_LINE):
            journal.artefacts.keep_beside(f"{name}/space", "", space)


def space_before(journal: Journal, story: Story) -> list[str]:
    """The line ends in front of each scene as its manuscript had them; else a blank line."""
    paths = _paths(journal)
    names = [paths.get(slug(scene.label), "") for scene in story.scenes]
    found = [journal.artefacts.beside(f"{name}/space", "") for name in names]
    return [one[0] if one else _BLANK_LINE for one in found]


def _paths(journal: Journal) -> dict[str, str]:
    return {slug(path): path for path, file in journal.artefacts.places().items() if file.startswith("story/")}


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
