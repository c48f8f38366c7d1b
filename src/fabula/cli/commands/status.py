"""`fabula status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.app.bills import cost_of, dollars
from fabula.app.checking import OUT, PAGE
from fabula.cli.asked import as_options, performing
from fabula.cli.bill import bill_table, project_line
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.typed import as_typed_here
from fabula.cli.verbs import command
from fabula.project.folder import BRIEF

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.app.workspace import Artefact
    from fabula.cli.terminal import Terminal
    from fabula.verbs.home import Project
    from fabula.verbs.status import Status


@command("status")
def status(terminal: Terminal, project: Project, found: Status) -> None:
    """Show the state of the texts, the cost so far, and the next step."""
    folder, settings = near(project.folder), project.settings()
    who = settings.model if found.problem else performing(settings)
    terminal.say(f"{found.title or folder}: {settings.system} ({settings.preset}), {who}")
    if found.runs and (kept := as_options(found.as_last_time)):
        terminal.say(f"From the last run, not in fabula.toml: {' '.join(kept)}.")
    terminal.say(_story_line(found))
    if rows := [one for one in found.artefacts if one.name != BRIEF]:
        terminal.say("\n" + _texts_table(rows))
    if found.not_as_asked:
        _say_all(terminal, "Not as asked", found.not_as_asked)
    if found.estimate and found.estimate.of_files:
        _say_all(terminal, "Your files", map(as_typed_here, found.estimate.of_files))
    if found.spent:
        terminal.say("\nSpent so far:\n" + bill_table(found.spent))
    if said := project_line(found.budget):
        terminal.say(said)
    if found.evaluations and (used := found.evaluations.prompt + found.evaluations.reply):
        cost = found.evaluations.cost
        how = " at no cost" if cost == 0 else f" for {dollars(cost)}" if cost else f", {dollars(cost)}"
        terminal.say(f"Checks and evaluations have used {used:,} tokens{how}. No budget of the project counts them.")
    if found.open_findings is not None:
        count = counted(found.open_findings, "open finding")
        settled = len(project.last_check().settled)
        count += f", {settled} settled (the text has changed since)" * bool(settled)
        terminal.say(f"The last check: {count}. See {near(project.folder / OUT / PAGE)}.")
    terminal.say(terminal.wrapped("\n" + _next(folder, found, behind=project.is_behind())))


def _say_all(terminal: Terminal, title: str, sentences: Iterable[str]) -> None:
    terminal.say(terminal.wrapped("\n".join([f"\n{title}:", *(f"  {sentence}" for sentence in sentences)])))


def _texts_table(rows: list[Artefact]) -> str:
    """A row for each text; the column of words asked is left out if it is empty."""
    shown = [("text", "name", "words", "asked", "versions", "state")]
    for row in rows:
        asked = "" if row.asked is None else f"{row.asked[0]:,}-{row.asked[1]:,}"
        shown.append((row.title, row.name, f"{row.words:,}", asked, str(row.version), ", ".join(row.states)))
    if any(row.asked for row in rows):
        return table(shown, right=(2, 3, 4))
    return table([(*row[:3], *row[4:]) for row in shown], right=(2, 3))


def _story_line(found: Status) -> str:
    last, words = found.last_run, found.words
    if last is None:
        source = found.imported_from
        return f"story.md has {words:,} words, imported from {source}." if source else "Nothing has been written yet."
    wanted = "" if found.words_asked is None else " ({:,} to {:,} asked)".format(*found.words_asked)
    if found.waits:
        how = f"the last run waits: {last.error}"
    elif last.waited:
        how = "the last run waited for you, and can continue"
    elif last.ended is None:
        how = "the last run was cut off, or is still working"
    else:
        shown = "the last run was stopped" if last.error == "stopped" else f"the last run stopped: {last.error}"
        how = shown if last.error else "the last run finished"
    return (
        f"story.md has {words:,} words{wanted}; {how.rstrip('.')}."
        if words
        else f"The story is not complete yet{wanted}; {how.rstrip('.')}."
    )


def _next(folder: str, found: Status, *, behind: bool) -> str:
    coming, started = found.estimate, bool(found.runs)
    if coming is None:
        return f"Next: correct this problem. {found.problem}"
    if coming.total_calls:
        doing = "update" if started else "write"
        what = f"{counted(coming.total_calls, 'call')}, about {coming.tokens:,} tokens, {cost_of(coming.cost)}"
        stale = "; it rewrites the stale texts" if coming.stale and started else ""
        return f"Next: `fabula {doing} {folder}` ({what}){stale}."
    if coming.changed:
        return f"Next: run `fabula update {folder}` to apply your changes. No call is needed."
    if coming.restored:
        return f"Next: run `fabula update {folder}` to restore earlier texts from the journal. No call is needed."
    if behind:
        return f"Next: run `fabula update {folder}` to write the files that are behind. No call is needed."
    return f"Everything is up to date. Next: edit a text, or run `fabula export {folder} --format epub`."
