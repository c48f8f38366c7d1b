"""`fabula text suggest`: suggestions for one place of a text, which do not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project
    from fabula.verbs.suggest import Suggestions


@command("suggest")
def suggest(terminal: Terminal, project: Project, done: Suggestions) -> None:
    """Print the suggestions, with numbers."""
    del project
    for number, text in enumerate(done.texts, 1):
        terminal.say(f"{number}. {text}\n")
    terminal.advise(f"{done.file} is unchanged. `--skip {len(done.texts)}` gives others.")
