"""A folder for a small experiment: two briefs and a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

STORY: Final = "The lamp was dark. Mara lit it, and the boats came home one after the other."
SYSTEMS: Final = 'systems = ["end-to-end"]\n'
BASE: Final = f'briefs = ["briefs"]\n{SYSTEMS}models = [{{ model = "scripted:script.toml", label = "small" }}]\n'


def small_experiment(folder: Path) -> Path:
    """The folder, with two briefs and a script in it."""
    (folder / "briefs").mkdir()
    for name in ("lamp", "clock"):
        (folder / "briefs" / f"{name}.md").write_text(f"# {name.title()}\n\nWrite of a {name}.\n", encoding="utf-8")
    (folder / "script.toml").write_text(f'[replies]\nwriter = "{STORY}"\n', encoding="utf-8")
    return folder
