"""`fabula status`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.base.errors import FabulaError
from fabula.cli.asked import check
from fabula.cli.bill import bill_table, dollars, total, usage_data
from fabula.cli.opening import authored, project_of, terminal_of
from fabula.cli.options import Common, Limits, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.cli.terminal import table
from fabula.engine.making import notes_of
from fabula.story import Story, count_words

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.engine.journal import Journal
    from fabula.project.folder import Change, Project
    from fabula.project.settings import Settings


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    file: str
    words: int
    versions: int
    state: str


@bundled
def status(common: Common, where: Where = "") -> None:
    """Show where a project stands: texts, changes, what is spent, what comes next."""
    terminal, project = terminal_of(common), project_of(common, where)
    settings, brief = project.settings, project.brief
    with project.journal as journal:
        changes = project.changes(journal)
        rows = [_row(journal, path, file, changes) for path, file in authored(journal).items()]
        runs, spent = journal.runs(), journal.spent()
    coming, problem = _coming(terminal, project, settings)
    words = Story.parse(project.story_file.read_text(encoding="utf-8")).words if project.story_file.exists() else 0
    terminal.say(f"{brief.title or near(project.folder)}: {settings.system} ({settings.preset}), {settings.model}")
    terminal.say(_story_line(words, runs))
    if rows:
        text_rows = [("text", "words", "versions", "state")]
        text_rows += [(row.file, f"{row.words:,}", str(row.versions), row.state) for row in rows]
        terminal.say("\n" + table(text_rows, right=(1, 2)))
    if spent:
        terminal.say("\nSpent so far:\n" + bill_table(spent))
    terminal.say("\n" + _next(near(project.folder), coming, problem, changes, started=bool(runs)))
    terminal.document(
        {
            "project": str(project.folder),
            "title": brief.title,
            "settings": settings.model_dump(mode="json", exclude_defaults=True) | {"system": settings.system},
            "words": words,
            "artefacts": [
                {"path": r.path, "file": r.file, "words": r.words, "versions": r.versions, "state": r.state}
                for r in rows
            ],
            "changed": [change.file for change in changes],
            "to_ask": None if coming is None else len(coming.planned),
            "problem": problem,
            "runs": len(runs),
            "last_run": {name: runs[-1][name] for name in ("at", "ended", "error")} if runs else None,
            "spent": {role: usage_data(usage) for role, usage in spent.items()},
            "total": usage_data(total(spent)),
        }
    )


def _row(journal: Journal, path: str, file: str, changes: list[Change]) -> _Row:
    versions = journal.versions(path)
    text = versions[-1].text if versions else ""
    override = journal.override(path)
    if any(change.path == path for change in changes):
        state = "changed by you, not taken over yet"
    elif override is not None:
        state = override[1]
    elif journal.approved(path, text):
        state = "approved"
    else:
        state = ""
    if notes := notes_of(journal, path):
        state = f"{state}, " * bool(state) + counted(len(notes), "note") + f": {notes[-1]}"
    return _Row(path, file, count_words(text), len(versions), state)


def _coming(terminal: Terminal, project: Project, settings: Settings) -> tuple[DryRun | None, str]:
    """What a run would ask now; where that cannot be shown, why."""
    try:
        check(settings, terminal.environ)
        return Session(terminal, project, settings, Limits()).dry_run()[0], ""
    except FabulaError as error:
        return None, str(error)


def _story_line(words: int, runs: list[dict[str, Any]]) -> str:
    if not runs:
        return "Nothing is written yet."
    last = runs[-1]
    if last["ended"] is None:
        how = "the last run was cut off, or is still at work"
    else:
        shown = "the last run was stopped" if last["error"] == "stopped" else f"the last run stopped: {last['error']}"
        how = shown if last["error"] else "the last run finished"
    return f"story.md has {words:,} words; {how}." if words else f"No whole story yet; {how}."


def _next(folder: str, coming: DryRun | None, problem: str, changes: list[Change], *, started: bool) -> str:
    if coming is None:
        return f"Next: put right what stands in the way. {problem}"
    if coming.planned:
        command = "update" if started else "write"
        what = f"{counted(len(coming.planned), 'call')}, about {coming.tokens:,} tokens, cost {dollars(coming.cost)}"
        return f"Next: `fabula {command} {folder}` ({what})."
    if changes:
        return f"Next: `fabula update {folder}` takes your changes over; nothing has to be asked."
    return f"Everything is up to date. Next: edit a text, or `fabula export {folder} --format epub`."
