"""`fabula text suggest`: suggestions for one place of a text, which do not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.session import near
from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project
    from fabula.verbs.suggest import Suggestions


@command("suggest")
def suggest(terminal: Terminal, project: Project, done: Suggestions) -> None:
    """Print the suggestions, with numbers."""
    for number, text in enumerate(done.texts, 1):
        terminal.say(f"{number}. {text}\n")
    if done.off_length:
        terminal.message(done.off_length)
    if done.taken:
        terminal.advise(f"{done.file} has suggestion {done.taken}. `fabula undo {near(project.folder)}` takes it back.")
        return
    take = "" if done.kind == "ideas" else " The same command with `--take 1` puts the first into the text."
    terminal.advise(f"{done.file} is unchanged.{take} `--skip {len(done.texts)}` gives others.")
