"""The output of the commands for the whole book: `fabula text mark`, `note`, `replace`, `split`, `merge` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.terminal import table
from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.app.contents import BookContents
    from fabula.app.saving import Saved
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project


def say_contents(terminal: Terminal, found: BookContents) -> None:
    """Print the book's volumes, chapters and scenes with their words, targets and states."""
    rows = [("text", "words", "target", "status", "point of view", "synopsis")]
    volume = ""
    for line in found.lines:
        if line.volume != volume:
            volume = line.volume
            rows.append((volume, "", "", "", "", ""))
        title = f"{'  ' * (bool(volume) + line.is_scene)}{line.title}"
        words = f"{line.words:,}" if line.name else "not written"
        target = f"{line.target:,}" if line.target else ""
        rows.append((title, words, target, line.status, line.viewpoint, line.synopsis))
    used = [n for n in range(len(rows[0])) if any(row[n] for row in rows[1:])]
    terminal.say(table([[row[n] for n in used] for row in rows], right=[used.index(n) for n in (1, 2) if n in used]))
    terminal.say(f"\n{found.title or 'The book'}: {found.words:,} words.")
    if found.problem:
        terminal.message(f"Note: {found.problem}")


@command("mark")
def mark(terminal: Terminal, project: Project, done: BookContents) -> None:
    """Print the contents with the new status."""
    del project
    say_contents(terminal, done)


@command("note")
def note(terminal: Terminal, project: Project, done: Saved) -> None:
    """Print where the notes are."""
    del project
    terminal.say(f"Your notes are in {done.file}. No model sees them." if done.words else f"There is no {done.file}.")
