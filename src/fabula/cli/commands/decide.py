"""The output of `fabula text pin`, `unpin`, `retake`, `rename`, `continue`, `approve`, `undo` and `redo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.verbs import command

if TYPE_CHECKING:
    from fabula.app.saving import Saved
    from fabula.cli.terminal import Terminal
    from fabula.verbs.base import ArtefactNames
    from fabula.verbs.home import Project
    from fabula.verbs.retake import MoreToCome, TakeToCome
    from fabula.verbs.undo import Decided


@command("pin")
def pin(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """Print which texts are now pinned."""
    if not done.artefacts:
        terminal.say("Everything is already pinned.")
    elif len(done.artefacts) == 1:
        path = done.artefacts[0]
        terminal.say(f"{path} is pinned and stays as it is until you run `fabula text unpin {path}`.")
    else:
        terminal.say(f"Pinned: {', '.join(done.artefacts)}.")
        terminal.advise(f"Next: `fabula text unpin ARTEFACT`, then `fabula update {near(project.folder)}`.")


@command("unpin")
def unpin(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """Print which text can change again."""
    terminal.say(f"{done.artefacts[0]} can change again.")
    terminal.advise(f"Next: run `fabula update {near(project.folder)}` to see whether it changes.")


@command("retake")
def retake(terminal: Terminal, project: Project, done: TakeToCome) -> None:
    """Print which text will be rewritten."""
    how = "revised as you asked" if done.revised else "rewritten"
    kept = f" Your earlier notes still apply: {'; '.join(done.before)}." if done.before else ""
    path, folder = done.artefact, near(project.folder)
    terminal.say(f"{path} will be {how}; its old text stays in `fabula show --versions {path}`.{kept}")
    terminal.advise(f"Next: `fabula update {folder}`. To undo this, run `fabula undo {folder}`.")


@command("rename")
def rename(terminal: Terminal, project: Project, done: Saved) -> None:
    """Print whether the title changed."""
    terminal.say(f"{done.file} has its new title." if done.changed else f"{done.file} already has that title.")
    if _is_left(project):
        terminal.advise(f"Next: `fabula update {near(project.folder)}`.")


@command("continue_text", "the story's last part")
def continue_(terminal: Terminal, project: Project, done: MoreToCome) -> None:
    """Print how much more will be written."""
    more = f"About {done.words:,} words more" if done.words else "More"
    terminal.say(f"{more} will be added at the end of {done.artefact}: {counted(done.calls, 'call')}.")
    if done.decided:
        terminal.advise(f"Next: `fabula update {near(project.folder)}`.")
    else:
        terminal.advise("No decision was recorded. To record it, run the command without `--dry-run`.")


@command("approve", "all that wait")
def approve(terminal: Terminal, project: Project, done: ArtefactNames) -> None:
    """Print which texts were approved."""
    last = project.overview().last_run
    if not done.artefacts:
        terminal.say("There is nothing to approve: no run asks about texts that are approved, edited or pinned.")
    else:
        terminal.say(f"Approved: {', '.join(done.artefacts)}.")
    if last is not None and last.waited:
        terminal.advise("Next: the same `fabula write` command again.")
    elif done.artefacts:
        terminal.advise(
            "No run was waiting for this: it means that `fabula write --approve plans` and `--approve all` do not ask "
            f"about the present text. `fabula undo {near(project.folder)}` undoes it."
        )


@command("undo")
def undo(terminal: Terminal, project: Project, done: Decided) -> None:
    """Print what was undone, and what the next undo would undo."""
    folder = near(project.folder)
    terminal.say(terminal.wrapped(f"Undone: {done.wording} ({done.at})."))
    if _is_left(project):
        terminal.advise(f"Next: `fabula update {folder}`. It restores earlier texts from the journal.")
    further = f"; another `fabula undo {folder}` undoes: {done.further}" if done.further else ""
    terminal.advise(f"`fabula redo {folder}` redoes it{further}.")


def _is_left(project: Project) -> bool:
    """Whether an update has something to do after an undo or a redo."""
    coming = project.status().estimate
    return coming is None or bool(coming.total_calls or coming.stale or coming.restored) or project.is_behind()


@command("redo")
def redo(terminal: Terminal, project: Project, done: Decided) -> None:
    """Say what was redone."""
    folder = near(project.folder)
    terminal.say(terminal.wrapped(f"Redone: {done.wording}."))
    if _is_left(project):
        terminal.advise(f"Next: `fabula update {folder}`.")
    terminal.advise(f"`fabula undo {folder}` undoes it.")
