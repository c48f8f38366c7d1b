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
    """The two stories as if they answered one prompt, since it was asked to compare them.

    Raises:
        UsageError: one of them holds several or none, or both are the same.
    """
    for source in (one, other):
        if (count := len(items_of([source], selection))) > 1:
            raise UsageError(
                f"{source} holds {count} stories. Judge two stories, or rank many with `fabula evaluate pairwise`."
            )
    if one is other or (isinstance(one, str | Path) and isinstance(other, str | Path) and _same(one, other)):
        raise UsageError(f"Both stories are {path_of(one) or 'the same text'}. Give two stories.")
    return as_pair(*items_of([one, other], selection))


def as_pair(first: Item, second: Item) -> tuple[Item, Item]:
    """Two stories as if they answered one prompt, since it was asked to compare them."""
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
    """What a judge says of two stories.

    Attributes:
        first: of the stories.
        second: of the stories.
        report: with every verdict and its reason.
        bill: what was asked.
    """

    first: Item
    second: Item
    report: Report
    bill: Bill

    @property
    def pairs(self) -> dict[str, PairChoice | None]:
        """What comes of both orders, by question; `None` where there is no verdict."""
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
        """The name of the better story by question, or "same"; `None` where nothing is settled."""
        return {question: better(pair) if pair else None for question, pair in self.pairs.items()}

    @property
    def better(self) -> str | None:
        """The name of the better story over all, or "same"; `None` where that is not settled, or was not asked."""
        return self.verdicts.get(OVERALL)

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The verdicts in each order and what comes of both, below a row of headings."""
        one, other = self.first.id, self.second.id
        rows: list[tuple[str, ...]] = [("", f"{one} shown first", f"{other} shown first", "both orders")]
        for question, pair in self.pairs.items():
            mine = [rating for rating in self.report.ratings if rating.question == question]
            shown = [_rendered([rating for rating in mine if rating.items[0] == first]) for first in (one, other)]
            rows.append((question, *shown, (better(pair) or "not settled: one order only") if pair else "not scored"))
        return rows

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Each reason that the judge gave, after which story was shown as A and which as B."""
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
    """The better of two stories, or "same"; `None` where they were judged in one order only."""
    if not pair.settled:
        return None
    return SAME if pair.score == TIE else pair.items[0] if pair.score > TIE else pair.items[1]


def _rendered(ratings: Sequence[Rating]) -> str:
    """What was answered in one order: the answer, with its probability or with how often it was given."""
    if len(ratings) == 1:
        share = ratings[0].shown.partition(", ")[0].partition(" ")[2]
        return str(ratings[0].answer or "not scored") + (f" ({float(share):.0%})" if share else "")
    counts = Counter(str(rating.answer or "not scored") for rating in ratings)
    return ", ".join(f"{answer} {n}" if len(counts) > 1 else answer for answer, n in counts.most_common())
