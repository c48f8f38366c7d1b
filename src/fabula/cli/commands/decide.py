"""`fabula text pin`, `unpin`, `retake`, `continue`, `approve`, `undo`, `redo`: decisions about artefacts, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.deciding import approve as approved_in
from fabula.app.deciding import (
    continue_text,
    done_data,
    pin_all,
    take_again,
    take_back,
    wording_of,
)
from fabula.app.deciding import pin as pinned
from fabula.app.deciding import retake as retaken
from fabula.app.deciding import unpin as unpinned
from fabula.base.errors import UsageError
from fabula.cli.asked import settings_for
from fabula.cli.opening import project_and_artefact, project_and_name, project_of, terminal_of
from fabula.cli.options import Artefact, Choices, Common, Limits, Where, bundled, maybe_artefact
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.craft.numbers import LARGEST

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.project.folder import Project


@bundled
def pin(
    common: Common,
    artefact: Annotated[list[str] | None, maybe_artefact()] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every text there is.")] = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Keep an artefact's text, or all texts, whatever changes above them."""
    terminal = terminal_of(common)
    project, name = project_and_name(common, artefact)
    if bool(name) == all_:
        raise UsageError("Name an artefact, or say `fabula text pin --all`; `fabula status` lists them.")
    if all_:
        _pin_all(terminal, project)
        return
    path = pinned(project, name)
    _done(terminal, project, path, "pinned", f"{path} is pinned: it stays as it is until `fabula text unpin {path}`.")


def _pin_all(terminal: Terminal, project: Project) -> None:
    paths = pin_all(project)
    terminal.say(f"Pinned: {', '.join(paths)}." if paths else "Everything is pinned already.")
    terminal.advise(f"Next: `fabula text unpin ARTEFACT`, then `fabula update {near(project.folder)}`.")
    terminal.document({"project": str(project.folder), "pinned": paths})


@bundled
def unpin(common: Common, artefact: Artefact) -> None:
    """Let a pinned artefact change again."""
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    path = unpinned(project, name)
    _done(terminal, project, path, "unpinned", f"{path} can change again.")
    terminal.advise(f"Next: `fabula update {near(project.folder)}` says whether it would.")


@bundled
def retake(
    common: Common,
    artefact: Artefact,
    *,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Revise the text so that it meets this wish.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="With --note: write it from nothing, with the wish.")] = False,
) -> None:
    """Have an artefact written anew, with another draw; or revised, as a note wishes."""
    terminal = terminal_of(common)
    project, name = project_and_artefact(common, artefact)
    if anew and note is None:
        raise UsageError("--anew goes with --note; without a note the text is written anew in any case.")
    done = retaken(project, name, note, anew=anew)
    path, revise = done.path, done.revised
    how = "revised as you wish" if revise else "written anew"
    before = "; ".join(done.before)
    kept = f" What you wished before still holds: {before}." if before else ""
    _done(
        terminal,
        project,
        path,
        "revise" if revise else "retake",
        f"{path} will be {how}; its old text stays in `fabula text history {path}`.{kept}",
    )
    folder = near(project.folder)
    terminal.advise(f"Next: `fabula update {folder}`. `fabula undo {folder}` takes this back.")


@bundled
def continue_(
    common: Common,
    artefact: Annotated[list[str] | None, maybe_artefact("the story's last part")] = None,
    *,
    words: Annotated[
        int | None, typer.Option(min=1, max=LARGEST, help="About how many words more; default: a third of the part.")
    ] = None,
) -> None:
    """Have more written after an artefact's text; without a name, after the story's end."""
    terminal = terminal_of(common)
    project, name = project_and_name(common, artefact)
    session = Session(terminal, project, settings_for(project, Choices(), terminal), Limits())
    session.dry_run()  # what stands in the way of any run is reported as that
    path, count = continue_text(
        project, name, words, session.settings.system, lambda: len(session.dry_run()[0].planned)
    )
    calls = counted(count, "call")
    more = f"About {words:,} words more" if words else "More"
    _done(terminal, project, path, "to be continued", f"{more} will be written after the text of {path}: {calls}.")
    terminal.advise(f"Next: `fabula update {near(project.folder)}`.")


@bundled
def approve(
    common: Common,
    artefact: Annotated[list[str] | None, maybe_artefact("all that wait")] = None,
) -> None:
    """Approve an artefact, or all that wait."""
    terminal = terminal_of(common)
    project, name = project_and_name(common, artefact)
    approved = approved_in(project, name)
    terminal.say(f"Approved: {', '.join(approved)}." if approved else "Nothing waits for approval.")
    terminal.advise("Next: the same `fabula write` command again.")
    terminal.document({"approved": approved})


@bundled
def undo(common: Common, where: Where = "") -> None:
    """Take back what your last command decided; said again, what the one before it did."""
    terminal, project = terminal_of(common), project_of(common, where)
    taken = take_back(project)
    done, before, titles = taken.done, taken.before, taken.titles
    last = done.decisions[-1]
    terminal.say(f"Taken back: {wording_of(done, titles)} ({last.at}).")
    folder = near(project.folder)
    terminal.advise(f"Next: `fabula update {folder}`; what was written before comes from the journal.")
    further = f"; `fabula undo {folder}` once more takes back: {wording_of(before, titles)}" if before else ""
    terminal.advise(f"`fabula redo {folder}` decides it again{further}.")
    terminal.document({"undone": done_data(done)})


@bundled
def redo(common: Common, where: Where = "") -> None:
    """Decide again what `undo` took back, as long as nothing else was decided since."""
    terminal, project = terminal_of(common), project_of(common, where)
    undone, titles = take_again(project)
    folder = near(project.folder)
    terminal.say(f"Decided again: {wording_of(undone, titles)}.")
    terminal.advise(f"Next: `fabula update {folder}`. `fabula undo {folder}` takes it back.")
    terminal.document({"redone": done_data(undone)})


def _done(terminal: Terminal, project: Project, path: str, state: str, sentence: str) -> None:
    terminal.say(sentence)
    terminal.document({"project": str(project.folder), "artefact": path, "state": state})
