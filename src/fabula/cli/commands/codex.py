"""The output of `fabula codex show`, `set`, `remove` and `read`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fabula.app.codex import READING, codex_of
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.cli.verbs import command
from fabula.story import one_line
from fabula.story.codex import CodexEntry

if TYPE_CHECKING:
    from fabula.app.codex import CodexRow, CodexView
    from fabula.cli.terminal import Terminal
    from fabula.verbs.codex import CodexChange
    from fabula.verbs.home import Project

_WIDE, _QUOTED, _FACTS, _ROWS = 60, 200, 20, 300


@command("codex")
def show(terminal: Terminal, project: Project, found: CodexView) -> None:
    """Print the entries as a table, or a single entry whole."""
    if not found.entries:
        terminal.say("The codex is empty: neither you nor the plan, cards or the world name anybody.")
    elif len(found.entries) == 1:
        terminal.say("\n\n".join(_whole(found.entries[0])))
    else:
        head = ("", "name", "also", "mentions", "first in", "facts")
        terminal.say(table([head, *map(_row, found.entries[:_ROWS])]))
        more = len(found.entries) - _ROWS
        terminal.say(f"... and {more:,} more; --json lists all" if more > 0 else "")
    for problem in found.problems:
        terminal.message(problem)
    where = near(project.folder)
    told = max((fact.told.scene for fact in codex_of(project).world.state.facts()), default=0)
    if found.at is not None and found.at <= told:  # in later scenes, `world` knows nothing new
        who = found.of or (found.entries[0].name if [one.kind for one in found.entries] == ["person"] else "NAME")
        terminal.advise(f"`fabula world {where} --who {shlex.quote(who)} --at {found.at}` tells what {who} knows.")
    if not found.was_read:
        was = any(READING in one.sources for one in found.entries)
        said = "The story has changed since a model read it" if was else "No model has read the story as it is now"
        terminal.advise(f"{said} for names. To see the cost: `fabula codex read --dry-run {where}`.")
    if any(one.proposed for one in found.entries):
        terminal.advise(
            f"Accept a proposed entry with `fabula codex set {where} --name NAME`; refuse it with `remove`."
        )


def _row(one: CodexRow) -> tuple[str, ...]:
    first = one.mentions[0].title if one.mentions else ""
    kind = f"{one.kind}{' (proposed)' * one.proposed}"
    return kind, one.name, _short(", ".join(one.aliases)), f"{one.count:,}", _short(first), str(len(one.facts))


def _whole(one: CodexRow) -> list[str]:
    also = f", also {', '.join(one.aliases)}" if one.aliases else ""
    facts = [
        f"- {row.subject}, {row.slot}: {row.value}{f' ({row.said})' * bool(row.said)}; known to {row.known_to}"
        for row in one.facts[:_FACTS]
    ]
    places = [f"- {mention.title} ({mention.count}): {_short(mention.quote, _QUOTED)}" for mention in one.mentions]
    own = one.own or CodexEntry(one.name)
    secret = f"Secret, known to {', '.join(own.known_to) or 'nobody else'}: {own.secret}" if own.secret else ""
    said = [f"{one.name} ({one.kind or 'kind unknown'}){also}", *one.about, secret, "\n".join(facts)]
    said += [f"Your notes: {own.notes}" if own.notes else "", "\n".join(["Mentioned in:", *places])]
    return list(filter(None, said if places else [*said[:-1], "Mentioned nowhere in the story."]))


def _short(text: str, most: int = _WIDE) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


@command("set_entry")
def set_(terminal: Terminal, project: Project, done: CodexChange) -> None:
    """Print whether the entry changed."""
    terminal.say(f"{done.name} is in {done.file}." if done.changed else f"{done.name} already reads like that.")
    for said in done.remarks:
        terminal.message(said)
    if done.changed:
        terminal.advise(f"To undo this, run `fabula undo {near(project.folder)}`.")


@command("remove_entry")
def remove(terminal: Terminal, project: Project, done: CodexChange) -> None:
    """Print what was removed."""
    terminal.say(f"{done.name} {'is no longer shown' if done.left_out else 'was removed from ' + done.file}.")
    for said in done.remarks:
        terminal.message(said)
    terminal.advise(f"To undo this, run `fabula undo {near(project.folder)}`.")


@command("read_codex")
def read(terminal: Terminal, project: Project, found: CodexView) -> None:
    """Print what was proposed."""
    proposed = sum(one.proposed for one in found.entries)
    terminal.say(f"{counted(proposed, 'entry', 'entries')} proposed.")
    terminal.advise(f"To see the codex, run `fabula codex show {near(project.folder)}`.")
