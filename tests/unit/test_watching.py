"""Files that are changed outside are told as events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fabula.server.state import Watcher
from studio import SAMPLE, state_of

if TYPE_CHECKING:
    from pathlib import Path


class Told:
    """A feed that only remembers."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def tell(self, type_: str, _folder: str, **fields: str) -> None:
        self.events.append((type_, fields.get("file", "")))


async def test_changed_new_and_removed_files_are_told_once(tmp_path: Path) -> None:
    shelf, told = state_of(tmp_path).shelf, Told()
    watcher = Watcher(shelf, told)  # type: ignore[arg-type] # all of it that is used
    folder = shelf[SAMPLE].folder
    await watcher.look()
    await watcher.look()
    assert told.events == [("project_changed", "")]
    told.events.clear()
    (folder / "plan/setting.md").write_text("Elsewhere.\n", encoding="utf-8")
    (folder / "story/06-epilogue.md").write_text("And then.\n", encoding="utf-8")
    (folder / "plan/conflict.md").unlink()
    await watcher.look()
    changed = ["plan/conflict.md", "plan/setting.md", "story/06-epilogue.md"]
    assert told.events == [("artefact_changed", file) for file in changed]
    await watcher.look()
    assert len(told.events) == 3
    shelf[SAMPLE].pin("climax")
    told.events.clear()
    await watcher.look()
    assert ("project_changed", "") in told.events
    os.utime(folder / "brief.md")
    told.events.clear()
    await watcher.look()
    assert told.events == [("artefact_changed", "brief.md")]


async def test_a_project_that_nobody_opened_is_left_alone_and_one_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    shelf, told = state_of(tmp_path).shelf, Told()
    watcher = Watcher(shelf, told)  # type: ignore[arg-type] # all of it that is used
    await watcher.look()
    folder = shelf.folder(SAMPLE)
    (folder / "brief.md").write_text("# Another\n\nA brief.\n", encoding="utf-8")
    await watcher.look()
    assert told.events == []
    assert shelf[SAMPLE] is shelf[SAMPLE]
    await watcher.look()
    folder.rename(tmp_path / "elsewhere")
    await watcher.look()
    assert told.events[1][0] == "artefact_changed"
