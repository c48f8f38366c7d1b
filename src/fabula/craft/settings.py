"""Settings that have no effect, and the notes that tell the author."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.engine.run import Run


def warn_ignored(run: Run, setting: str, why: str) -> None:
    """Note once that a setting has no effect, if the author chose it and did not leave it to the preset."""
    said = f"The setting {setting} has no effect: {why}"
    if setting in run.context.chosen and said not in run.context.shortfalls:
        run.note(said, "shortfall")


def unsupported_by(run: Run, setting: str, role: str) -> bool:
    """Whether a role gets the help for small models, with which a setting is not obeyed.

    Where the author chose that setting, a remark says so; with `aids = "off"` it is obeyed.
    """
    if not run.room(role).aids:
        return False
    why = f"{role} is played by a small model, which gets different help."
    warn_ignored(run, setting, f"{why} Give that role a stronger model, or use --aids off.")
    return True
