"""What a run cost, by role and by model, and what a dry run expects: totals, also as JSON data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

from typing_extensions import TypedDict

from fabula.base.html import Html, html_table, joined, paragraph
from fabula.engine.dry_run import PlannedCall  # noqa: TC001 - pydantic reads it
from fabula.engine.events import CallFinished, CallLost
from fabula.models.base import NOTHING_USED, Usage
from fabula.project.casting import full_name
from fabula.project.default_model import remember_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Event
    from fabula.project.folder import FileChange
    from fabula.project.settings import BudgetTable, Settings


class UsageData(TypedDict):
    """Tokens, seconds and US dollars; an unknown cost is null."""

    prompt: int
    cached: int
    reply: int
    reasoning: int
    seconds: float
    cost: float | None
    estimated: int


@dataclass(frozen=True, slots=True)
class Billed:
    """The number of calls, how many of them came from the journal, and what each role cost."""

    asked: int
    replayed: int
    bill: dict[str, UsageData]


@dataclass
class Bill:
    """A listener that adds up the calls that are made; replayed calls cost nothing and are only counted.

    Attributes:
        roles: what each role cost.
        paid: what each model cost.
    """

    roles: dict[str, Usage] = field(default_factory=dict)
    paid: dict[str, Usage] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    replayed: int = 0

    def __call__(self, event: Event) -> None:
        """Count an event."""
        if not isinstance(event, CallFinished | CallLost):
            return
        if isinstance(event, CallFinished) and event.replayed:
            self.replayed += 1
            return
        for bill, name in ((self.roles, event.role), (self.paid, event.performer)):
            bill[name] = bill[name] + event.usage if name in bill else event.usage
        self.calls[event.role] = self.calls.get(event.role, 0) + 1

    def remember(self, settings: Settings) -> None:
        """Remember the model in the settings as the one used last, if it was called."""
        name = full_name(settings.model)
        if any(who.partition("@")[0] == name for who in self.paid):
            remember_model(settings)

    @property
    def total(self) -> Usage:
        """The total of all roles."""
        return total(self.roles)

    @property
    def tokens(self) -> int:
        """The total of prompt and reply tokens."""
        return self.total.prompt + self.total.reply

    @property
    def paid_lines(self) -> str:
        """A line for each model that costs something or whose tokens are estimated; empty if there is none."""
        lines = []
        for who, usage in self.paid.items():
            if usage.cost != 0 or usage.estimated:
                guessed = (
                    f" ({usage.estimated:,} tokens estimated, because it does not report them)"
                    if usage.estimated
                    else ""
                )
                lines.append(f"Paid to {who}: {dollars(usage.cost)}{guessed}.")
        return "\n".join(lines)

    def as_data(self) -> dict[str, Any]:
        """The calls that were made and those that came from the journal, for JSON."""
        return {
            "asked": sum(self.calls.values()),
            "replayed": self.replayed,
            "bill": {role: usage_data(usage) for role, usage in self.roles.items()},
        }


def dollars(cost: float | None) -> str:
    """US dollars in words: "price unknown", "$0", "$0.0123"."""
    if cost is None:
        return "price unknown"
    return f"${cost:,.4f}" if cost else "$0"


def cost_of(cost: float | None) -> str:
    """The cost as a part of a sentence: "price unknown", "cost $0", "cost $0.0123"."""
    return dollars(cost) if cost is None else f"cost {dollars(cost)}"


def amount(expected: DryRun) -> str:
    """What a dry run expects, in words: calls, tokens and, if it is known, the cost."""
    if not expected.planned:
        return "no calls to make"
    (few, calls), (tokens, least, most) = expected.calls, map(_about, (expected.tokens, *expected.range))
    between = f" ({least:,.0f} to {most:,.0f})" if least < most else ""
    cost = "" if expected.cost == 0 else f", {dollars(expected.cost)}"
    several = f"{few:,} to {calls:,}" if few < calls else f"{calls:,}"
    return f"about {several} {'call' if calls == 1 else 'calls'} to make, {tokens:,.0f} tokens{between}{cost}"


def _about(tokens: float) -> float:
    return float(f"{tokens:.2g}")  # more figures than that are not known


def total(roles: Mapping[str, Usage]) -> Usage:
    """The sum of all roles; its cost is `None` if the cost of any role is unknown."""
    return sum(roles.values(), NOTHING_USED)


def usage_data(usage: Usage) -> UsageData:
    """Usage as JSON data; an unknown cost is null."""
    return {
        "prompt": usage.prompt,
        "cached": usage.cached,
        "reply": usage.reply,
        "reasoning": usage.reasoning,
        "seconds": usage.seconds,
        "cost": usage.cost,
        "estimated": usage.estimated,
    }


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """A project's caps, and how much of them is spent; a missing cap or an unknown cost is null."""

    tokens: int | None
    usd: float | None
    spent_tokens: int
    spent_usd: float | None
    estimated_tokens: int

    @classmethod
    def of(cls, spent: Usage, caps: BudgetTable) -> Self:
        """The budget with these caps of which `spent` is spent."""
        return cls(caps.tokens, caps.usd, spent.prompt + spent.reply, spent.cost, spent.estimated)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that its author has changed, and that a run would apply."""

    artefact: str
    file: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The calls and cost of work that was not done.

    Attributes:
        calls: the planned calls; over HTTP and in tools only the first 200.
        total_calls: the number of planned calls; at least `least_calls`.
        most: the most calls that an update makes before it asks its author again.
        tokens: estimated tokens of prompts and replies.
        cost: US dollars; null if a price is unknown.
        replayed: calls that the journal answers at no cost.
        changed: edited files that would be applied.
        stale: artefacts that would be written or rewritten.
        restored: artefacts that would get an earlier text back.
        not_obeyed: requests that would not be met, as sentences.
        of_files: remarks on the files, as sentences.
        notices: remarks on the run, as sentences.
        seconds: how long the writing takes, if the model's speed is known.
        done: always false, to distinguish it from a result.
    """

    calls: list[PlannedCall]
    total_calls: int
    least_calls: int
    most: int
    tokens: int
    cost: float | None
    replayed: int
    changed: list[ChangedFile]
    stale: list[str]
    restored: list[str]
    not_obeyed: list[str]
    of_files: list[str]
    notices: list[str]
    seconds: float | None = None
    done: Literal[False] = False

    @classmethod
    def of(cls, *runs: DryRun, changes: Iterable[FileChange] = (), seconds: float | None = None) -> Self:
        """The estimate of several dry runs together."""
        calls = [one for run in runs for one in run.planned]
        costs = [run.cost for run in runs]
        return cls(
            calls=calls,
            total_calls=len(calls),
            least_calls=sum(run.calls[0] for run in runs),
            most=sum(run.most for run in runs),
            tokens=sum(run.tokens for run in runs),
            cost=None if None in costs else sum(one for one in costs if one is not None),
            replayed=sum(run.replayed for run in runs),
            changed=[ChangedFile(change.path, change.file) for change in changes],
            stale=[one for run in runs for one in run.stale],
            restored=[one for run in runs for one in run.restored],
            not_obeyed=[one for run in runs for one in run.shortfalls],
            of_files=[one for run in runs for one in run.of_files],
            notices=[one for run in runs for one in run.notices],
            seconds=seconds,
        )

    def to_dict(self) -> dict[str, Any]:
        """The estimate as commands print it with `--json`."""
        return asdict(self)

    def _repr_html_(self) -> Html:
        rows = [(c.path, c.role, c.performer, f"{c.prompt:,}", f"{c.reply:,}") for c in self.calls]
        calls = f"{self.total_calls:,} call{'s' * (self.total_calls != 1)}"
        said = f"{calls}, about {self.tokens:,} tokens, {dollars(self.cost)}; {self.replayed:,} recorded."
        if not rows:
            return paragraph(said)
        return joined(html_table(("call", "role", "by", "prompt", "reply"), rows, right=(3, 4)), paragraph(said))
