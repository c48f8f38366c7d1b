"""`fabula status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.app.beginning import check
from fabula.app.bills import budget_data, cost_of, total, usage_data
from fabula.app.standing import shortfalls, texts, waiting, words_asked
from fabula.app.titles import Titles
from fabula.app.writing import paid_in, settings_as_last_time
from fabula.base.errors import FabulaError
from fabula.base.files import read_text
from fabula.cli.asked import as_options, performing
from fabula.cli.bill import bill_table, project_line
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Common, Limits, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import Session, near
from fabula.cli.terminal import table
from fabula.engine.journal import spent_by_role
from fabula.project.folder import MAX_STORY
from fabula.project.settings import difference
from fabula.project.telling import imported_from
from fabula.story import Story

if TYPE_CHECKING:
    from fabula.app.standing import Text
    from fabula.cli.terminal import Terminal
    from fabula.craft.length import WordRange
    from fabula.engine.dry_run import DryRun
    from fabula.project.folder import Change, Project
    from fabula.project.settings import Settings


@bundled
def status(common: Common, where: Where = "") -> None:
    """Show where a project stands: texts, changes, what is spent, what comes next."""
    terminal, project = terminal_of(common), project_of(common, where)
    settings, brief = settings_as_last_time(project), project.brief
    coming, problem = _coming(terminal, project, settings)
    words = Story.parse(read_text(project.story_file, MAX_STORY)).words if project.story_file.exists() else 0
    with project.journal as journal:
        changes = project.changes(journal)
        rows, titles = texts(journal, changes, coming), Titles.in_(journal)
        runs, spent, waits = journal.runs(), spent_by_role(journal.calls), waiting(journal)
        source = imported_from(journal)
        in_all = paid_in(journal, settings)
        missed = [] if problem else shortfalls(journal, brief, settings, words)
    asked = None if problem else words_asked(brief, settings)
    kept = as_options(difference(settings.as_tables, project.settings.as_tables))
    who = settings.model if problem else performing(settings)
    terminal.say(f"{brief.title or near(project.folder)}: {settings.system} ({settings.preset}), {who}")
    if kept:
        terminal.say(f"Beyond fabula.toml, as last time: {' '.join(kept)}.")
    terminal.say(_story_line(words, asked, runs, waits, source))
    if rows:
        terminal.say("\n" + _texts_table(rows, titles))
    if missed:
        terminal.say("\nNot as asked:\n" + "\n".join(f"  {sentence}" for sentence in missed))
    if coming is not None and coming.of_files:
        terminal.say("\nYour files:\n" + "\n".join(f"  {sentence}" for sentence in coming.of_files))
    if spent:
        terminal.say("\nSpent so far:\n" + bill_table(spent))
    if said := project_line(in_all, settings.budget):
        terminal.say(said)
    terminal.say("\n" + _next(near(project.folder), coming, problem, changes, started=bool(runs)))
    terminal.document(
        {
            "project": str(project.folder),
            "title": brief.title,
            "settings": settings.as_tables | {"system": settings.system},
            "as_last_time": kept,
            "words": words,
            "words_asked": None if asked is None else [asked.low, asked.high],
            "artefacts": [
                {
                    "path": row.path,
                    "file": row.file,
                    "title": titles(row.path),
                    "words": row.words,
                    "words_asked": row.asked,
                    "versions": row.versions,
                    "state": ", ".join(row.states),
                }
                for row in rows
            ],
            "changed": [change.file for change in changes],
            "not_as_asked": missed,
            "of_files": coming.of_files if coming else [],
            "waits": waits,
            "to_ask": None if coming is None else len(coming.planned),
            "problem": problem,
            "runs": len(runs),
            "last_run": {name: runs[-1][name] for name in ("at", "ended", "error")} if runs else None,
            "spent": {role: usage_data(usage) for role, usage in spent.items()},
            "total": usage_data(total(spent)),
            "budget": budget_data(in_all, settings.budget),
        }
    )


def _texts_table(rows: list[Text], titles: Titles) -> str:
    """A row for each text; the words asked are left out where nothing is known of them."""
    shown = [("text", "name", "words", "asked", "versions", "state")]
    for row in rows:
        asked = "" if row.asked is None else f"{row.asked[0]:,}-{row.asked[1]:,}"
        shown.append((titles(row.path), row.path, f"{row.words:,}", asked, str(row.versions), ", ".join(row.states)))
    if any(row.asked for row in rows):
        return table(shown, right=(2, 3, 4))
    return table([(*row[:3], *row[4:]) for row in shown], right=(2, 3))


def _coming(terminal: Terminal, project: Project, settings: Settings) -> tuple[DryRun | None, str]:
    """What a run would ask now; where that cannot be shown, why."""
    try:
        check(settings, terminal.environ)
        return Session(terminal, project, settings, Limits()).dry_run()[0], ""
    except FabulaError as error:
        return None, str(error)


def _story_line(words: int, asked: WordRange | None, runs: list[dict[str, Any]], waits: str, source: str) -> str:
    if not runs:
        return f"story.md has {words:,} words, imported from {source}." if source else "Nothing is written yet."
    last = runs[-1]
    wanted = "" if asked is None else f" ({asked.low:,} to {asked.high:,} asked)"
    if waits:
        how = f"the last run waits: {last['error']}"
    elif "waits" in last["settings"]:
        how = "the last run waited for you, and can go on"
    elif last["ended"] is None:
        how = "the last run was cut off, or is still at work"
    else:
        shown = "the last run was stopped" if last["error"] == "stopped" else f"the last run stopped: {last['error']}"
        how = shown if last["error"] else "the last run finished"
    return (
        f"story.md has {words:,} words{wanted}; {how.rstrip('.')}."
        if words
        else f"No whole story yet{wanted}; {how.rstrip('.')}."
    )


def _next(folder: str, coming: DryRun | None, problem: str, changes: list[Change], *, started: bool) -> str:
    if coming is None:
        return f"Next: put right what stands in the way. {problem}"
    if coming.planned:
        command = "update" if started else "write"
        what = f"{counted(len(coming.planned), 'call')}, about {coming.tokens:,} tokens, {cost_of(coming.cost)}"
        stale = "; it writes what is stale again" if coming.stale and started else ""
        return f"Next: `fabula {command} {folder}` ({what}){stale}."
    if changes:
        return f"Next: `fabula update {folder}` takes your changes over; nothing has to be asked."
    if coming.restored:
        return f"Next: `fabula update {folder}` brings earlier texts back from the journal; nothing has to be asked."
    return f"Everything is up to date. Next: edit a text, or `fabula export {folder} --format epub`."
