"""What `fabula text pin`, `unpin`, `retake`, `rename`, `continue`, `approve`, `undo` and `redo` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.app.saving import Saved
    from fabula.cli.terminal import Terminal
    from fabula.verbs.base import ArtefactNames
    from fabula.verbs.continue_text import MoreToCome
    from fabula.verbs.home import Project
    from fabula.verbs.retake import TakeToCome
    from fabula.verbs.undo import Decided


@command("pin")
def pin(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """What stays as it is."""
    if not done.artefacts:
        terminal.say("Everything is pinned already.")
    elif len(done.artefacts) == 1:
        path = done.artefacts[0]
        terminal.say(f"{path} is pinned: it stays as it is until `fabula text unpin {path}`.")
    else:
        terminal.say(f"Pinned: {', '.join(done.artefacts)}.")
        terminal.advise(f"Next: `fabula text unpin ARTEFACT`, then `fabula update {near(project.folder)}`.")


@command("unpin")
def unpin(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """What can change again."""
    terminal.say(f"{done.artefacts[0]} can change again.")
    terminal.advise(f"Next: `fabula update {near(project.folder)}` says whether it would.")


@command("retake")
def retake(terminal: Terminal, project: Project, done: TakeToCome) -> None:
    """What will be written anew."""
    how = "revised as you wish" if done.revised else "written anew"
    kept = f" What you wished before still holds: {'; '.join(done.before)}." if done.before else ""
    path, folder = done.artefact, near(project.folder)
    terminal.say(f"{path} will be {how}; its old text stays in `fabula show --versions {path}`.{kept}")
    terminal.advise(f"Next: `fabula update {folder}`. `fabula undo {folder}` takes this back.")


@command("rename")
def rename(terminal: Terminal, project: Project, done: Saved) -> None:
    """What a part is called now."""
    terminal.say(f"{done.file} has its new title." if done.changed else f"{done.file} has that title already.")
    terminal.advise(f"Next: `fabula update {near(project.folder)}`.")


@command("continue_text", "the story's last part")
def continue_(terminal: Terminal, project: Project, done: MoreToCome) -> None:
    """What more will be written."""
    more = f"About {done.words:,} words more" if done.words else "More"
    terminal.say(f"{more} will be written after the text of {done.artefact}: {counted(done.calls, 'call')}.")
    if done.decided:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`.")
    else:
        terminal.advise("Nothing is decided; without `--dry-run` it is.")


@command("approve", "all that wait")
def approve(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """What was approved."""
    del project
    terminal.say(f"Approved: {', '.join(done.artefacts)}." if done.artefacts else "Nothing waits for approval.")
    terminal.advise("Next: the same `fabula write` command again.")


@command("undo")
def undo(terminal: Terminal, project: Project, done: Decided) -> None:
    """What was taken back, and what would be next."""
    folder = near(project.folder)
    terminal.say(f"Taken back: {done.wording} ({done.at}).")
    terminal.advise(f"Next: `fabula update {folder}`; what was written before comes from the journal.")
    further = f"; `fabula undo {folder}` once more takes back: {done.further}" if done.further else ""
    terminal.advise(f"`fabula redo {folder}` decides it again{further}.")


@command("redo")
def redo(terminal: Terminal, project: Project, done: Decided) -> None:
    """What was decided again."""
    folder = near(project.folder)
    terminal.say(f"Decided again: {done.wording}.")
    terminal.advise(f"Next: `fabula update {folder}`. `fabula undo {folder}` takes it back.")
