"""What the author did with an artefact, for work that goes another way then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.engine.lines import has_read

if TYPE_CHECKING:
    from fabula.engine.run import Run


def has_author_text(run: Run, name: str) -> bool:
    """Whether the author gave the text of the artefact `name`, also one that is to go on: nobody makes it."""
    path = run.scope(name).at
    found = run.context.override(path) is not None
    has_read(run.context, path, f"stands {found}")
    return found


def was_made(run: Run, name: str, text: str) -> bool:
    """Whether `text` is one that was made for the artefact `name`, also where it is the author's by a pin."""
    path = run.scope(name).at
    found = any(version.made and version.text == text for version in run.context.journal.artefacts.versions(path))
    has_read(run.context, path, f"was made {found}")
    return found
