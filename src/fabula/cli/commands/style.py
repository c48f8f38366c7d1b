"""`fabula text style`: a style sheet from samples of the author's own prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.session import near
from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project
    from fabula.verbs.style import StyleSheet


@command("style")
def style(terminal: Terminal, project: Project, done: StyleSheet) -> None:
    """Print the proposal."""
    terminal.say(done.text)
    terminal.advise(
        f"{done.file} has this text. Edit it; then `fabula update --dry-run` shows what would be rewritten. "
        f"`fabula undo {near(project.folder)}` takes it back."
        if done.accepted
        else f"Nothing was saved. `--accept` saves this as {done.file}."
    )
