"""`story`: the story, scene by scene."""

from __future__ import annotations

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import ProjectError
from fabula.story import Story  # noqa: TC001 - doors read it
from fabula.verbs.base import verb


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
