"""Two stories side by side: which of them a judge prefers, question by question, in both orders."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.app.sources import items_of, path_of
from fabula.base.errors import UsageError
from fabula.base.html import details, html_table, joined, paragraph, quotation
from fabula.measure.ratings import SAME
from fabula.stats.comparisons import TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.bills import Bill
    from fabula.app.item_files import Selection
    from fabula.app.sources import StorySource
    from fabula.evaluators.pairwise.verdicts import PairChoice
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report

OVERALL = "overall"


def two_stories(one: StorySource, other: StorySource, selection: Selection) -> tuple[Item, Item]:
    """The two stories as a pair for one prompt: a judge is to compare them even if they answer different prompts.

    Raises:
        UsageError: one of the sources contains several stories or none, or both are the same story.
    """
    for source in (one, other):
        if (count := len(items_of([source], selection))) > 1:
            raise UsageError(
                f"{source} contains {count} stories. Judge two stories, or rank more with `fabula evaluate pairwise`."
            )
    if one is other or (isinstance(one, str | Path) and isinstance(other, str | Path) and _same(one, other)):
        raise UsageError(f"Both stories are {path_of(one) or 'the same text'}. Specify two different stories.")
    return as_pair(*items_of([one, other], selection))


def as_pair(first: Item, second: Item) -> tuple[Item, Item]:
    """Two stories as a pair for one prompt: a judge is to compare them even if they answer different prompts."""
    prompt = first.prompt if first.prompt == second.prompt else ""
    systems = (first.system, second.system) if first.system != second.system else ("", "")
    return replace(first, prompt=prompt, system=systems[0]), replace(second, prompt=prompt, system=systems[1])


def _same(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).resolve() == Path(other).resolve()
    except (OSError, ValueError):  # a text is no path
        return one == other


@dataclass(frozen=True)
class Judged:
    """A judge's verdicts on two stories.

    Attributes:
        first: the name of the first story.
        second: the name of the second story.
        report: every verdict with its reason.
        bill: the cost.
    """

    first: Item
    second: Item
    report: Report
    bill: Bill

    @property
    def pairs(self) -> dict[str, PairChoice | None]:
        """The combined result of both orders by question; `None` without a verdict."""
        from fabula.evaluators.pairwise.verdicts import choices_in, pair_choices  # noqa: PLC0415 - heavy at start-up

        verdicts = choices_in(self.report.ratings)
        found = {}
        for question in dict.fromkeys(rating.question for rating in self.report.ratings):
            mine = [verdict for verdict in verdicts if verdict.question == question]
            pairs = pair_choices(mine, self.report.details["margin"])
            found[question] = pairs[0] if pairs else None
        return found

    @property
    def verdicts(self) -> dict[str, str | None]:
        """The name of the better story by question, or "same"; `None` if undecided."""
        return {question: better(pair) if pair else None for question, pair in self.pairs.items()}

    @property
    def better(self) -> str | None:
        """The name of the better story overall, or "same"; `None` if undecided or not asked."""
        return self.verdicts.get(OVERALL)

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The verdicts in each order and combined, under a row of headings."""
        one, other = self.first.id, self.second.id
        rows: list[tuple[str, ...]] = [("", f"{one} shown first", f"{other} shown first", "both orders")]
        for question, pair in self.pairs.items():
            mine = [rating for rating in self.report.ratings if rating.question == question]
            shown = [_rendered([rating for rating in mine if rating.items[0] == first]) for first in (one, other)]
            rows.append(
                (question, *shown, (better(pair) or "undecided: judged in one order only") if pair else "not scored")
            )
        return rows

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """The judge's reasons, each after the stories shown as A and B."""
        return [
            (f"A being {rating.items[0]}, B {rating.items[1]}:", rating.reason)
            for rating in self.report.ratings
            if rating.reason
        ]

    def to_dict(self) -> dict[str, Any]:
        """The verdicts as JSON."""
        found = [{"question": question, "better": name} for question, name in self.verdicts.items()]
        return {"report": self.report.as_data(), "verdicts": found, **self.bill.as_data()}

    def _repr_html_(self) -> str:
        head, *rows = self.table
        said = [part for where, reason in self.reasons for part in (paragraph(where), quotation(reason))]
        return joined(html_table(head, rows), details("The judge's reasons", joined(*said)) if said else "")


def better(pair: PairChoice) -> str | None:
    """The better of two stories, or "same"; `None` if they were judged in only one order."""
    if not pair.settled:
        return None
    return SAME if pair.score == TIE else pair.items[0] if pair.score > TIE else pair.items[1]


def _rendered(ratings: Sequence[Rating]) -> str:
    """The answer in one order, with its probability or how often it was given."""
    if len(ratings) == 1:
        share = ratings[0].shown.partition(", ")[0].partition(" ")[2]
        return str(ratings[0].answer or "not scored") + (f" ({float(share):.0%})" if share else "")
    counts = Counter(str(rating.answer or "not scored") for rating in ratings)
    return ", ".join(f"{answer} {n}" if len(counts) > 1 else answer for answer, n in counts.most_common())
