"""What a run took, by role and by model, and what a dry run expects: added up, and as JSON data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fabula.engine.events import CallFinished, CallLost
from fabula.models.base import NOTHING_USED, Usage
from fabula.project.casting import full_name
from fabula.project.default_model import remember_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Event
    from fabula.project.folder import Change
    from fabula.project.settings import BudgetTable, Settings


@dataclass
class Bill:
    """A listener that adds up what is really asked; replayed calls cost nothing and are only counted.

    Attributes:
        roles: what each role took.
        paid: what each model took.
    """

    roles: dict[str, Usage] = field(default_factory=dict)
    paid: dict[str, Usage] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    replayed: int = 0

    def __call__(self, event: Event) -> None:
        """Take an event in."""
        if not isinstance(event, CallFinished | CallLost):
            return
        if isinstance(event, CallFinished) and event.replayed:
            self.replayed += 1
            return
        for bill, name in ((self.roles, event.role), (self.paid, event.performer)):
            bill[name] = bill[name] + event.usage if name in bill else event.usage
        self.calls[event.role] = self.calls.get(event.role, 0) + 1

    def remember(self, settings: Settings) -> None:
        """Remember the model of the settings as the one used last, if it has performed."""
        name = full_name(settings.model)
        if any(who.partition("@")[0] == name for who in self.paid):
            remember_model(settings)

    @property
    def total(self) -> Usage:
        """All roles together."""
        return total(self.roles)

    @property
    def tokens(self) -> int:
        """Prompt and reply tokens together."""
        return self.total.prompt + self.total.reply

    @property
    def paid_lines(self) -> str:
        """A line for each model that costs something, or whose tokens we had to count; empty where none does."""
        lines = []
        for who, usage in self.paid.items():
            if usage.cost != 0 or usage.estimated:
                guessed = f" ({usage.estimated:,} tokens estimated: it does not count them)" if usage.estimated else ""
                lines.append(f"Paid to {who}: {dollars(usage.cost)}{guessed}.")
        return "\n".join(lines)

    def as_data(self) -> dict[str, Any]:
        """What was asked and what came from the journal, for JSON."""
        return {
            "asked": sum(self.calls.values()),
            "replayed": self.replayed,
            "bill": {role: usage_data(usage) for role, usage in self.roles.items()},
        }


def dollars(cost: float | None) -> str:
    """US dollars for people: "price unknown", "$0", "$0.0123"."""
    if cost is None:
        return "price unknown"
    return f"${cost:,.4f}" if cost else "$0"


def cost_of(cost: float | None) -> str:
    """What something costs, as a part of a sentence: "price unknown", "cost $0", "cost $0.0123"."""
    return dollars(cost) if cost is None else f"cost {dollars(cost)}"


def amount(expected: DryRun) -> str:
    """What a dry run expects, in words: calls, tokens and, where it is known, the cost."""
    if not expected.planned:
        return "nothing to ask"
    (few, calls), (tokens, least, most) = expected.calls, map(_about, (expected.tokens, *expected.range))
    between = f" ({least:,.0f} to {most:,.0f})" if least < most else ""
    cost = "" if expected.cost == 0 else f", {dollars(expected.cost)}"
    several = f"{few:,} to {calls:,}" if few < calls else f"{calls:,}"
    return f"about {several} {'call' if calls == 1 else 'calls'} to make, {tokens:,.0f} tokens{between}{cost}"


def _about(tokens: float) -> float:
    return float(f"{tokens:.2g}")  # more figures than that are not known


def total(roles: Mapping[str, Usage]) -> Usage:
    """The sum over roles; its cost is `None` where one is unknown."""
    return sum(roles.values(), NOTHING_USED)


def usage_data(usage: Usage) -> dict[str, Any]:
    """Usage as JSON data; an unknown cost is null."""
    return {name: value for name, value in asdict(usage).items() if name != "first"}


def budget_data(spent: Usage, caps: BudgetTable) -> dict[str, Any]:
    """A project's caps and what is spent of them, as JSON data; an unknown cost and no cap are null."""
    return {
        "tokens": caps.tokens,
        "usd": caps.usd,
        "spent_tokens": spent.prompt + spent.reply,
        "spent_usd": spent.cost,
        "estimated_tokens": spent.estimated,
    }


def planned(expected: DryRun, changes: Sequence[Change] = ()) -> dict[str, Any]:
    """A dry run as JSON data; token counts are estimates, an unknown cost is null."""
    return {
        "changed": [{"artefact": change.path, "file": change.file} for change in changes],
        "calls": [
            {"path": c.path, "role": c.role, "by": c.performer, "prompt": c.prompt, "reply": c.reply, "cost": c.cost}
            for c in expected.planned
        ],
        "tokens": expected.tokens,
        "least_calls": expected.calls[0],
        "cost": expected.cost,
        "replayed": expected.replayed,
        "of_files": expected.of_files,
        "notices": expected.notices,
        "seconds": None,
    }
