"""From verdicts to a report: strengths of systems, what is known of the judge, and trivial baselines beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fabula.base.errors import UsageError
from fabula.evaluators.pairwise.beside import baseline_rows
from fabula.evaluators.pairwise.tally import (
    counted_comparisons,
    is_side_by_side,
    judged_pairs,
    shown_comparisons,
    verdicts_in,
)
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.comparisons import (
    first_position_rate,
    order_consistency,
    tie_share,
)
from fabula.stats.estimate import Estimate
from fabula.stats.ranking import rank_systems
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.evaluators.pairwise.tally import Verdict
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored
    from fabula.stats.ranking import Comparison


@dataclass(frozen=True, slots=True)
class Counting:
    """How verdicts become strengths; the fields are those of the evaluator's `Config`."""

    ties: Literal["half", "none"] = "half"
    prior: float = 0.0
    resamples: int = 1000
    seed: int = 1


def ranked(
    ratings: Sequence[Rating], texts: Mapping[str, str], counting: Counting, how: Mapping[str, Any] | None = None
) -> Report:
    """The report on side-by-side ratings of any raters.

    Rows: for each question the strength of each system (log, centred at 0) and the share of its verdicts that it won;
    of all verdicts the ties, the wins of the first position, the order consistency, the wins of the longer story and
    Spearman's rho of length and wins; and how often trivial baselines choose as the judge does.

    Args:
        ratings: whatever is not side by side among them is left out and counted in a note.
        texts: of the stories, by id, as far as they are known; length and type-token ratio need them.
        counting: how verdicts become strengths.
        how: what else a reader must know.

    Raises:
        UsageError: no rating compares two stories of different systems, or an answer names neither.
    """
    asked = [rating for rating in ratings if is_side_by_side(rating)]
    if not asked:
        raise UsageError(
            f"None of the {len(ratings)} ratings compares two stories of different systems. "
            'A side-by-side rating has two `items`, and an `answer` that is one of them or "same".'
        )
    verdicts = verdicts_in(asked)
    names = sorted({name for rating in asked for name in (rating.systems or rating.items)})
    words = {item: count_words(text) for item, text in texts.items()}
    tables = []
    for question in dict.fromkeys(rating.question for rating in asked):
        mine = [verdict for verdict in verdicts if verdict.question == question]
        tables.append(_Table(question, names, mine, words, texts, counting))
    return Report(
        "pairwise",
        how=_how(asked, counting) | dict(how or {}),
        rows=tuple(row for table in tables for row in table.rows()),
        ratings=tuple(ratings),
        notes=(*_notes(ratings, asked), *(note for table in tables for note in table.notes())),
        details={
            "names": names,
            "questions": [table.question for table in tables],
            "wins": {table.question: table.ranking.wins.tolist() for table in tables},
        },
    )


class _Table:
    """What is found on one question."""

    def __init__(
        self,
        question: str,
        names: Sequence[str],
        verdicts: Sequence[Verdict],
        words: Mapping[str, int],
        texts: Mapping[str, str],
        counting: Counting,
    ) -> None:
        self.question, self.names, self.texts = question, names, texts
        self.counting = counting
        self.dials = {"resamples": counting.resamples, "seed": counting.seed}
        self.pairs = judged_pairs(verdicts)
        self.shown = shown_comparisons(verdicts, words)
        self.counted = counted_comparisons(verdicts, words, ties=counting.ties == "half")
        self.ranking = rank_systems(
            names, self.counted, prior=counting.prior, resamples=counting.resamples, seed=counting.seed
        )

    def rows(self) -> list[Row]:
        """Strengths and wins from the strongest system on, then the judge, then the baselines."""
        found: list[Row] = []
        shares = [self._share(name) for name in self.names]
        for n in sorted(range(len(self.names)), key=lambda n: (-_value(shares[n]), self.names[n])):
            found.append(Row(self.names[n], f"strength/{self.question}", self.ranking.strengths[n]))
            found.append(Row(self.names[n], f"wins/{self.question}", shares[n]))
        judge = self._judge()
        found += [Row("judge", f"{what}/{self.question}", scored) for what, scored in judge.items()]
        rows = baseline_rows(self.question, self.pairs, self.texts, self.counting.resamples, self.counting.seed)
        first = Row("first position", f"agreement/{self.question}", judge["first position wins"], baseline=True)
        return [*found, *rows, first]

    def _judge(self) -> dict[str, Scored]:
        return {
            "ties": tie_share(self.shown, **self.dials),
            "first position wins": first_position_rate(self.shown, **self.dials),
            "order consistency": order_consistency(self.shown, **self.dials),
            "longer wins": self.ranking.longer_wins,
            "length and wins, rho": self.ranking.length,
        }

    def _share(self, name: str) -> Scored:
        mine = [c for c in self.counted if name in (c.first, c.second)]
        return _mean([c.score_of(name) for c in mine], mine, self.dials)

    def notes(self) -> list[str]:
        """What a reader must know, each with the question that it is about."""
        return [f"{self.question}: {note}" for note in (*self.ranking.notes, *self._doubts())]

    def _doubts(self) -> list[str]:
        consistency = order_consistency(self.shown, resamples=1)
        if isinstance(consistency, Estimate) and consistency.value < 0.5:  # noqa: PLR2004 - half of the pairs
            told = f"the two orders agree on {consistency.value:.0%} of pairs"
            return [f"{told}, so the verdicts tell more of the order of showing than of the stories."]
        return []


def _mean(values: Sequence[float], of: Sequence[Comparison], dials: Mapping[str, int]) -> Scored:
    return bootstrap_mean(
        values,
        [c.prompt for c in of],
        resamples=dials["resamples"],
        seed=dials["seed"],
        method="share of its verdicts won, ties half",
    )


def _value(scored: Scored) -> float:
    return scored.value if isinstance(scored, Estimate) else -1.0


def _how(ratings: Sequence[Rating], counting: Counting) -> dict[str, Any]:
    """How the numbers were made."""
    return {
        "judge": ", ".join(sorted({rating.rater for rating in ratings})),
        "strength": "log strength of a Bradley-Terry model by maximum likelihood, centred at 0",
        "ties": "half a win for each side" if counting.ties == "half" else "count for nobody",
        "prior": counting.prior,
        "intervals": f"bootstrap by prompt, {counting.resamples} resamples, seed {counting.seed}",
        "order consistency": "share of pairs on which the verdicts in the two orders prefer the same story, or both "
        "say the same",
        "agreement of baselines": "share of pairs with a winner in which the baseline chooses it; a tie counts half",
    }


def _notes(ratings: Sequence[Rating], asked: Sequence[Rating]) -> list[str]:
    notes = []
    if len(ratings) > len(asked):
        notes.append(f"{len(ratings) - len(asked)} ratings are of single stories or of one system and were left out.")
    reasons = Counter(rating.unscored for rating in asked if rating.unscored)
    if reasons:
        (why, _), *_ = reasons.most_common(1)
        notes.append(f"{reasons.total()} of {len(asked)} verdicts could not be had; most often: {why}")
    raters = {rating.rater for rating in asked}
    if len(raters) > 1:
        notes.append(f"The verdicts of {len(raters)} raters are counted together.")
    return notes
