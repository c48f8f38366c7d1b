"""Methods that do not come with fabula: folders with a small system in them, and a package that brings some."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

PAPER: Final = """\
title = "Mine"
authors = ["A. Person"]
year = 2026
venue = "preprint"
summary = "One call."
asks = "1 call"
[roles]
writer = "writes the story"
"""
_CONFIG: Final = """\
from __future__ import annotations
from dataclasses import dataclass
from fabula.engine.methods import Presets

@dataclass(frozen=True)
class Config(Presets):
    turns: int = 1
"""
_ALGORITHM: Final = """\
from __future__ import annotations
from fabula.story import Story

async def write(brief, run, config):
    async def text(own):
        return await own.ask("writer", "story", brief=brief.text)
    return Story.of(brief).add("Story", await run.keep("story", text, folder="story"))
"""
_FILES: Final = {
    "__init__.py": "",
    "paper.toml": PAPER,
    "config.py": _CONFIG,
    "algorithm.py": _ALGORITHM,
    "prompts/story.jinja": "{% block user %}{{ brief }}{% endblock %}\n",
}


def lay(folder: Path) -> Path:
    """A folder with a small system."""
    for name, text in _FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def install(home: Path, monkeypatch: pytest.MonkeyPatch, groups: Mapping[str, Mapping[str, str]]) -> Path:
    """Lay a package `ours_and_more` with a small system, as pip leaves it, with these entry points."""
    site = home / "site"
    lay(site / "ours_and_more" / "my_paper")
    (site / "ours_and_more" / "__init__.py").write_text("", encoding="utf-8")
    record = site / "more_papers-1.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: more-papers\nVersion: 1.2\n", encoding="utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    for name in [name for name in sys.modules if name.partition(".")[0] == "ours_and_more"]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()
    return site
