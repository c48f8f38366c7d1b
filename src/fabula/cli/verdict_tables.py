"""Side-by-side verdicts as tables for the terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from fabula.cli.terminal import table
from fabula.evaluators.pairwise.page import questions_of, rows_on
from fabula.evaluators.pairwise.verdicts import choices_in, pair_choices
from fabula.measure.ratings import SAME
from fabula.measure.report.page import difference_cells, estimate_cells
from fabula.stats.comparisons import TIE
from fabula.stats.differences import is_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.evaluators.pairwise.verdicts import PairChoice
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report, Row


_MOST: Final = 12  # differences in the terminal


def differences_table(rows: Iterable[Row]) -> str:
    """The differences between systems, those that are shown first; the rest is counted where it is long."""
    found = [row for row in rows if row.is_difference]
    if not found:
        return ""
    several = len({row.what for row in found}) > 1
    ranked = sorted(found, key=lambda row: not is_shown(row.scored))
    shown = ranked if len(ranked) <= _MOST else ranked[: max(sum(is_shown(row.scored) for row in found), _MOST)]
    cells = [difference_cells(row) for row in shown]
    head = ("difference", "of", "value", "95 %, all at once", "n", "p, corrected")
    lines = [row if several else (row[0], *row[2:]) for row in (head, *cells)]
    right = (2, 4, 5) if several else (1, 3, 4)
    more = f"\n... and {len(found) - len(shown)} more that are not shown to differ" if len(shown) < len(found) else ""
    return table(lines, right=right) + more


def ranking_tables(report: Report) -> str:
    """Strengths and wins for each question, differences, what is known of the judge, and the baselines."""
    parts = [_strengths(report, question) for question in questions_of(report)]
    parts += [differences_table(report.rows), _judge(report), _baselines(report)]
    return "\n\n".join(part for part in parts if part)


def _strengths(report: Report, question: str) -> str:
    head = ("system", "strength", "95 % interval", "wins", "95 % interval", "verdicts")
    strengths, wins = (rows_on(report, question, what=what) for what in ("strength", "wins"))
    rows = [
        (one.of, *estimate_cells(one.scored)[:2], *estimate_cells(other.scored))
        for one, other in zip(strengths, wins, strict=True)
    ]
    prompts = max((row.scored.n for row in strengths), default=0)
    return f"{question}, {prompts} prompt{'s' * (prompts != 1)}\n{table([head, *rows], right=(1, 3, 5))}"


def _judge(report: Report) -> str:
    """One line for each question, one column for each measure of the judge."""
    asked = questions_of(report)
    found = {question: [row for row in rows_on(report, question) if row.of == "judge"] for question in asked}
    head = ("the judge", *(row.what.partition("/")[0] for row in found[asked[0]]))
    rows = [(question, *(_brief(row.scored) for row in found[question])) for question in asked]
    return table([head, *rows])


def _baselines(report: Report) -> str:
    """How often each baseline chooses as the judge does."""
    asked = questions_of(report)
    found = {question: rows_on(report, question, baseline=True) for question in asked}
    head = ("agree with it", *(row.of for row in found[asked[0]]))
    rows = [(question, *(_brief(row.scored) for row in found[question])) for question in asked]
    return table([head, *rows])


def _brief(scored: object) -> str:
    """A number and its interval in little room; a dash where there is none (the report says why)."""
    value, interval, n = estimate_cells(scored)  # type: ignore[arg-type]  # a row's number
    if value == "not scored":
        return "-"
    low, _, high = interval.partition(" to ")
    shown = f"{float(value):z.2f}"
    return f"{shown} [{float(low):z.2f}, {float(high):z.2f}]" if high else f"{shown} (n {n})"


def pair_by_question(report: Report) -> dict[str, PairChoice | None]:
    """What comes of both orders of the one pair that was judged, by question; `None` where there is no verdict."""
    verdicts = choices_in(report.ratings)
    found = {}
    for question in dict.fromkeys(rating.question for rating in report.ratings):
        mine = [verdict for verdict in verdicts if verdict.question == question]
        pairs = pair_choices(mine, report.details["margin"])
        found[question] = pairs[0] if pairs else None
    return found


def verdict_table(report: Report, one: str, other: str) -> str:
    """The verdicts on two stories: in each order, and what comes of both."""
    rows: list[tuple[str, ...]] = [("", f"{one} shown first", f"{other} shown first", "both orders")]
    for question, pair in pair_by_question(report).items():
        mine = [rating for rating in report.ratings if rating.question == question]
        shown = [_rendered([rating for rating in mine if rating.items[0] == first]) for first in (one, other)]
        rows.append((question, *shown, _of_both(pair) if pair else "not scored"))
    return table(rows)


def better(pair: PairChoice) -> str | None:
    """The better of two stories, or "same"; `None` where they were judged in one order only."""
    if not pair.settled:
        return None
    return SAME if pair.score == TIE else pair.items[0] if pair.score > TIE else pair.items[1]


def _of_both(pair: PairChoice) -> str:
    return better(pair) or "not settled: one order only"


def _rendered(ratings: Sequence[Rating]) -> str:
    """What was answered in one order: the answer, with its probability or with how often it was given."""
    if len(ratings) == 1:
        share = ratings[0].shown.partition(", ")[0].partition(" ")[2]
        return str(ratings[0].answer or "not scored") + (f" ({float(share):.0%})" if share else "")
    counts = Counter(str(rating.answer or "not scored") for rating in ratings)
    return ", ".join(f"{answer} {n}" if len(counts) > 1 else answer for answer, n in counts.most_common())
