"""What a run took, by role, and what a dry run expects: as tables and lines for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.app.bills import cost_of, dollars, planned, total
from fabula.cli.progress import counted
from fabula.cli.terminal import table
from fabula.project.folder import files_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.bills import Bill
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Usage
    from fabula.project.folder import Change
    from fabula.project.settings import BudgetTable


def project_line(spent: Usage, caps: BudgetTable) -> str:
    """What a project has taken in all, and what its budget leaves; empty where it costs nothing and has no budget."""
    if not spent.cost and spent.cost is not None and caps.tokens is None and caps.usd is None:
        return ""
    tokens, left = spent.prompt + spent.reply, []
    if caps.tokens is not None:
        left.append(f"{max(caps.tokens - tokens, 0):,} of {caps.tokens:,} tokens")
    if caps.usd is not None:
        left.append(f"{dollars(max(caps.usd - (spent.cost or 0.0), 0.0))} of {dollars(caps.usd)}")
    guessed = f" ({spent.estimated:,} estimated)" if spent.estimated else ""
    said = f"The project has taken {tokens:,} tokens{guessed} in all, {cost_of(spent.cost)}"
    return f"{said}; its budget leaves {' and '.join(left)}." if left else f"{said}."


def bill_table(roles: Mapping[str, Usage]) -> str:
    """A row for each role, and the sum; "~" stands before tokens that we have counted ourselves."""
    rows: list[tuple[str, ...]] = [("role", "prompt", "cached", "reply", "seconds", "cost")]
    rows += [_row(role, usage) for role, usage in roles.items()]
    rows.append(_row("all", total(roles)))
    thought = total(roles).reasoning
    of_it = f"\n{thought:,} of the reply tokens were reasoning, which is no part of the story." if thought else ""
    return table(rows, right=(1, 2, 3, 4, 5)) + of_it


def say_bill(terminal: Terminal, bill: Bill) -> None:
    """Say what was asked and what came from the journal."""
    if bill.calls:
        terminal.say("\n" + bill_table(bill.roles))
        if bill.paid_lines:
            terminal.say(bill.paid_lines)
    if bill.replayed:
        terminal.say(f"From the journal, at no cost: {counted(bill.replayed, 'call')}.")


def _row(name: str, usage: Usage) -> tuple[str, ...]:
    about = "~" if usage.estimated else ""
    figures = (f"{about}{usage.prompt:,}", f"{usage.cached:,}", f"{about}{usage.reply:,}", f"{usage.seconds:,.1f}")
    return (name, *figures, dollars(usage.cost))


def calls_table(expected: DryRun) -> str:
    """A row for each call that would be asked, and the sum."""
    rows = [("call", "role", "by", "prompt", "reply", "cost")]
    rows += [(c.path, c.role, c.performer, f"{c.prompt:,}", f"{c.reply:,}", dollars(c.cost)) for c in expected.planned]
    prompt = sum(call.prompt for call in expected.planned)
    reply = sum(call.reply for call in expected.planned)
    rows.append(("all", "", "", f"{prompt:,}", f"{reply:,}", dollars(expected.cost)))
    return table(rows, right=(3, 4, 5))


def say_dry_run(terminal: Terminal, *runs: DryRun) -> None:
    """Say what would be asked, role by role, and that nothing was."""
    calls = [call for run in runs for call in run.planned]
    costs = [run.cost for run in runs]
    cost = None if None in costs else sum(one for one in costs if one is not None)
    rows = [("role", "by", "calls", "prompt", "reply")]
    for role, who in dict.fromkeys((call.role, call.performer) for call in calls):
        mine = [call for call in calls if (call.role, call.performer) == (role, who)]
        prompt, reply = sum(call.prompt for call in mine), sum(call.reply for call in mine)
        rows.append((role, who, f"{len(mine):,}", f"{prompt:,}", f"{reply:,}"))
    if calls or not any(run.shortfalls for run in runs):
        terminal.say(table(rows, right=(2, 3, 4)) if calls else "Nobody would be asked.")
    if replayed := sum(run.replayed for run in runs):
        terminal.say(f"In the journal, at no cost: {replayed:,} call{'s' * (replayed != 1)}.")
    terminal.say(f"Cost: {dollars(cost)}.")
    terminal.advise("An estimate; nothing was asked.")
    found = [planned(run) for run in runs]
    terminal.document(
        {
            "done": False,
            "changed": [],
            "calls": [call for one in found for call in one["calls"]],
            "tokens": sum(run.tokens for run in runs),
            "least_calls": sum(run.calls[0] for run in runs),
            "cost": cost,
            "replayed": replayed,
            "of_files": [],
            "notices": [],
            "seconds": None,
        }
    )


def changes_list(changes: Sequence[Change]) -> str:
    """A line for each changed file."""
    return "\n".join(f"  {file}" for file in files_of(changes))
