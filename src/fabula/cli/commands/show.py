"""`fabula show`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.past_calls import RemovedText, asked_call, removed_texts
from fabula.app.planning import PLAN_FILE, PlanFound, PlanView, order_of_time, plan_of
from fabula.base.errors import PlanError, UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli.commands.book import say_contents
from fabula.cli.opening import project_and_artefact, project_and_name, terminal_of
from fabula.cli.options import ProjectOptions, bundled, maybe_artefact
from fabula.cli.session import near
from fabula.cli.terminal import Terminal, table
from fabula.cli.verbs import opened
from fabula.engine.journal import Call, CallFilter
from fabula.project.folder import MAX_FILE
from fabula.story.plan_file import read_plan
from fabula.story.timeline import timeline_svg, timeline_text

if TYPE_CHECKING:
    from fabula.verbs.versions import VersionList


_WIDEST: Final = 160  # a longer line is hard to follow
_UNKNOWN: Final = "order of time not known for all scenes"


@bundled
def show(
    common: ProjectOptions,
    artefact: Annotated[list[str] | None, maybe_artefact("the story")] = None,
    *,
    contents: Annotated[
        bool, typer.Option("--contents", help="List the volumes, chapters and scenes of the story.")
    ] = False,
    prompts: Annotated[bool, typer.Option("--prompts", help="Show the prompts and the replies.")] = False,
    versions: Annotated[
        bool, typer.Option("--versions", help="List the versions of a text and their authors.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changed between versions.")] = False,
    removed: Annotated[
        bool, typer.Option("--removed", help="Show what the rules removed from replies, and why.")
    ] = False,
    timeline: Annotated[
        bool,
        typer.Option(
            "--timeline",
            help="Show the order of telling next to the chronological order, and where the characters are; also "
            "accepts FILE.yaml.",
        ),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE.svg", help="With --timeline: file for the drawing.")
    ] = "",
) -> None:
    """Print the story, an artefact, its versions or prompts, or the timeline of a plan."""
    terminal = terminal_of(common)
    wanted = {
        "--contents": contents,
        "--prompts": prompts,
        "--versions": versions,
        "--diff": diff,
        "--removed": removed,
        "--timeline": timeline,
    }
    if len(chosen := [option for option, given in wanted.items() if given]) > 1:
        raise UsageError(
            f"{' and '.join(chosen)} cannot be combined because each prints its own output. Use only one of them."
        )
    if timeline:
        _timeline(terminal, _plan(common, terminal, artefact or ()), out)
        return
    if out:
        raise UsageError("--out requires --timeline. To write the story to a file, use `fabula export`.")
    if versions or diff:
        found, name = project_and_artefact(common, artefact or ())
        _versions(terminal, opened(terminal, found).versions(name, texts=True), diff=diff)
        return
    project, name = project_and_name(common, artefact)
    with project.journal as journal:
        path = project.artefact(journal, name) if name else ""
        if removed:
            _removed(terminal, path, removed_texts(journal, path))
            return
        if prompts:
            calls = journal.calls.find(CallFilter(under=path), prompts=True)
            terminal.say("\n\n".join(_call(call) for call in calls) or "No model was called.")
            terminal.document({"artefact": path, "calls": [asdict(asked_call(call)) for call in calls]})
            return
    door = opened(terminal, project)
    if contents:
        if name:
            raise UsageError("--contents lists all parts of the story. Leave the name of the text out.")
        listed = door.contents()
        say_contents(terminal, listed)
        terminal.document(listed)
        return
    if name:
        text = door.text(name)
        terminal.say(text.text)
        terminal.document(text)
        return
    story = door.story()
    terminal.say((f"{story.title}\n\n" if story.title else "") + story.text)
    terminal.document(story)


def _removed(terminal: Terminal, path: str, removals: Sequence[RemovedText]) -> None:
    """Print what rules removed, grouped by rule with its reason."""
    by_rule: dict[str, list[RemovedText]] = {}
    for one in removals:
        by_rule.setdefault(one.rule, []).append(one)
    parts = [f"{rule} ({len(found)}): {found[0].why}\n\n{_pieces(found)}" for rule, found in by_rule.items()]
    terminal.say("\n\n".join(parts) or "No rule removed anything.")
    if removals:
        terminal.advise(
            "To see the full replies, run `fabula show NAME --prompts`. To restore a piece, use `fabula edit`."
        )
    terminal.document({"artefact": path, "removed": [asdict(one) for one in removals]})


def _pieces(removals: Sequence[RemovedText]) -> str:
    shown = []
    for one in removals:
        place = one.path if one.artefact in ("", one.path) else f"{one.path} (of {one.artefact})"
        shown.append(f"  {place}\n{indent(one.text.strip(), '    ')}")
    return "\n\n".join(shown)


def _call(call: Call) -> str:
    head = f"=== {call.path}  role {call.role}, by {call.performer}, {call.at}"
    asked = "\n".join(f"--- {who}\n{text}" for who, text in call.messages)
    return f"{head}\n{asked}\n--- reply ({call.reply.finish})\n{call.reply.text}"


# the timeline -------------------------------------------------------------------------------------------------------


def _timeline(terminal: Terminal, found: PlanFound, out: str) -> None:
    """Print a plan's timeline, and draw it to `out` if given."""
    if out and Path(out).suffix.lower() != ".svg":
        raise UsageError(f"The timeline is drawn as SVG. Choose a file name that ends in .svg, not {Path(out).name!r}.")
    plan = found.plan
    order, source, wrong = order_of_time(plan, found.said)
    if wrong:
        terminal.message(f"Note: the project's chronological order no longer matches the plan and is ignored. {wrong}")
    note = _UNKNOWN if source == "assumed" else ""
    if out:
        write_atomically(Path(out), timeline_svg(plan, order, note))
    terminal.say(timeline_text(plan, order, min(get_terminal_size((100, 24)).columns, _WIDEST)))
    if note:
        terminal.message(
            f"Note: {note}, so the order of telling fills the gaps. Add a `time` or `after` to the scenes in the plan."
        )
    if out:
        terminal.message(f"Drawn to {near(Path(out))}.")
    else:
        terminal.advise("`--out FILE.svg` draws it.")
    terminal.document(PlanView.of(found))


def _plan(common: ProjectOptions, terminal: Terminal, names: Sequence[str]) -> PlanFound:
    """The plan in the named file, or else the project's plan."""
    file = names[0] if len(names) == 1 else ""
    if file.endswith((".yaml", ".yml")) and (Path(file).is_file() or file != PLAN_FILE):
        if common.folder:
            raise UsageError(f"{file} and -C {common.folder} cannot be used together. Use only one.")
        return PlanFound(read_plan(Path(file)), read_text(Path(file), MAX_FILE))
    project, named = project_and_name(common, names)
    if named not in ("", "plan", PLAN_FILE):
        raise UsageError(
            f"--timeline shows a plan, but {named!r} is not a plan. Specify a .yaml file, or leave the argument out."
        )
    found = plan_of(project)
    if found.changed:
        try:
            read_plan(project.folder / PLAN_FILE)
        except PlanError as error:
            terminal.message(f"This is the plan of the last run, because the file has a problem.\n{error}")
        else:
            terminal.advise(
                f"{PLAN_FILE} has changed since. To apply the change, run `fabula update {near(project.folder)}`."
            )
    return found


def _versions(terminal: Terminal, found: VersionList, *, diff: bool) -> None:
    """Print the versions of an artefact, or their differences."""
    if diff:
        terminal.say(_diffs(found) or f"{found.artefact} has one version.")
    else:
        rows = [("version", "words", "source", "at")]
        for one in found.versions:
            source = f"yours, from {one.note}" if one.source == "imported" else one.source
            rows.append((str(one.number), f"{one.words:,}", source, one.at))
        terminal.say(table(rows, right=(0, 1)))
        if found.notes:
            terminal.say(
                "\nYour notes, which apply until you undo them or edit the "
                "text:\n" + "\n".join(f"- {n}" for n in found.notes)
            )
        terminal.advise(f"To restore a version, run `fabula edit {found.artefact} --to N`.")
    terminal.document(found)


def _diffs(found: VersionList) -> str:
    parts = []
    for old, new in pairwise(found.versions):
        names = f"version {old.number} ({old.source})", f"version {new.number} ({new.source})"
        before, after = ((one.text or "").splitlines() for one in (old, new))
        parts.append("\n".join(unified_diff(before, after, *names, lineterm="")))
    return "\n\n".join(parts)
