"""Pure helpers that several systems share. Names of files stand here, so that who needs no more imports no more."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROMPTS: Final = Path(__file__).parent / "prompts"
"""Where a prompt is looked for that a system does not have."""
CHAPTERS: Final = "chapters"
"""The artefact in which chapters are listed, `plan/chapters.md`."""
SO_FAR: Final = "so-far"
"""The folder of what a book's chapters have told, and the place of these artefacts."""
NARRATIVE_FILE: Final = "plan/narrative.md"
"""What a conversation goes on from."""
CONVERSATIONS: Final = "chat"
"""The folder of conversations."""
