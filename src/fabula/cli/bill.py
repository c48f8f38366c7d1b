"""Tables and lines for the terminal that show what a run used and what a dry run expects, by role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fabula.app.bills import Bill, BudgetSpent, Estimate, cost_of, dollars, total
from fabula.cli.progress import counted
from fabula.cli.terminal import Terminal, table

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Usage


def project_line(budget: BudgetSpent) -> str:
    """Return what a project has used in total and what remains of its budget; empty if it is free and has no budget."""
    tokens, usd, left = budget.spent_tokens, budget.spent_usd, []
    if not usd and usd is not None and budget.tokens is None and budget.usd is None:
        return ""
    if budget.tokens is not None:
        left.append(f"{max(budget.tokens - tokens, 0):,} of {budget.tokens:,} tokens")
    if budget.usd is not None:
        left.append(f"{dollars(max(budget.usd - (usd or 0.0), 0.0))} of {dollars(budget.usd)}")
    guessed = f" ({budget.estimated_tokens:,} estimated)" if budget.estimated_tokens else ""
    said = f"The project has used {tokens:,} tokens{guessed} in all, {cost_of(usd)}"
    return f"{said}; its budget leaves {' and '.join(left)}." if left else f"{said}."


def bill_table(roles: Mapping[str, Usage]) -> str:
    """Return a table with a row for each role and a total. A "~" marks token counts that fabula estimated."""
    rows: list[tuple[str, ...]] = [("role", "prompt", "cached", "reply", "seconds", "cost")]
    rows += [_row(role, usage) for role, usage in roles.items()]
    rows.append(_row("all", total(roles)))
    thought = total(roles).reasoning
    reasoned = f"\n{thought:,} of the reply tokens were used for reasoning, which is not part of the story."
    of_it = reasoned if thought else ""
    return table(rows, right=(1, 2, 3, 4, 5)) + of_it


def say_bill(terminal: Terminal, bill: Bill) -> None:
    """Print the calls that were made, and the number of calls replayed from the journal."""
    if bill.calls:
        terminal.say("\n" + bill_table(bill.roles))
        if bill.paid_lines:
            terminal.say(bill.paid_lines)
    if bill.replayed:
        terminal.say(f"Replayed from the journal at no cost: {counted(bill.replayed, 'call')}.")


def _row(name: str, usage: Usage) -> tuple[str, ...]:
    about = "~" if usage.estimated else ""
    figures = (f"{about}{usage.prompt:,}", f"{usage.cached:,}", f"{about}{usage.reply:,}", f"{usage.seconds:,.1f}")
    return (name, *figures, dollars(usage.cost))


def calls_table(expected: DryRun) -> str:
    """Return a table with a row for each call that would be made, and a total."""
    rows = [("call", "role", "by", "prompt", "reply", "cost")]
    rows += [(c.path, c.role, c.performer, f"{c.prompt:,}", f"{c.reply:,}", dollars(c.cost)) for c in expected.planned]
    prompt = sum(call.prompt for call in expected.planned)
    reply = sum(call.reply for call in expected.planned)
    rows.append(("all", "", "", f"{prompt:,}", f"{reply:,}", dollars(expected.cost)))
    return table(rows, right=(3, 4, 5))


def say_dry_run(terminal: Terminal, *runs: DryRun) -> None:
    """Print the calls that would be made, by role, and state that none was made."""
    say_estimate(terminal, Estimate.of(*runs))


def say_estimate(terminal: Terminal, found: Estimate) -> None:
    """Print an estimate: the calls that would be made, by role, and state that none was made."""
    calls = found.calls
    rows = [("role", "by", "calls", "prompt", "reply")]
    for role, who in dict.fromkeys((call.role, call.performer) for call in calls):
        mine = [call for call in calls if (call.role, call.performer) == (role, who)]
        prompt, reply = sum(call.prompt for call in mine), sum(call.reply for call in mine)
        rows.append((role, who, f"{len(mine):,}", f"{prompt:,}", f"{reply:,}"))
    if calls or not found.not_obeyed:
        terminal.say(table(rows, right=(2, 3, 4)) if calls else "No calls would be made.")
    if found.replayed:
        terminal.say(f"Already in the journal, at no cost: {counted(found.replayed, 'call')}.")
    terminal.say(f"Cost: {dollars(found.cost)}.")
    terminal.advise("This is an estimate. No model was called.")
    terminal.document(found)
