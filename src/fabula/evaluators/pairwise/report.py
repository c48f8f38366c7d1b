"""From verdicts to a report: strengths of systems, measures of the judge, and trivial baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabula.base.errors import UsageError
from fabula.craft.measuring import lost_note
from fabula.evaluators.pairwise.verdicts import (
    PairChoice,
    PairwiseChoice,
    choices_in,
    counted_comparisons,
    is_side_by_side,
    pair_choices,
    shown_comparisons,
)
from fabula.measure.report import DIFFERENCE, Report, Row
from fabula.stats.agreement import agreement
from fabula.stats.baselines import constant, orderings
from fabula.stats.comparisons import TIE, Comparison, first_position_rate, order_consistency, tie_share
from fabula.stats.differences import MOST, as_said
from fabula.stats.equal_length import at_equal_length
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import share_of
from fabula.stats.power import WANTED, least_shown, prompts_needed, variance_parts
from fabula.stats.ranking import rank_systems
from fabula.stats.verdicts import preferred
from fabula.story import count_words

if TYPE_CHECKING:
    from fabula.evaluators.pairwise.config import Config
    from fabula.measure.ratings import Rating


def ranked(
    ratings: Sequence[Rating], texts: Mapping[str, str], config: Config, how: Mapping[str, Any] | None = None
) -> Report:
    """The report on side-by-side ratings of any raters.

    For each question there are rows with the strength of each system (log, centred at 0) and the share of its
    verdicts that it won. Rows on all verdicts have the ties, the wins of the first position, the order consistency,
    the wins of the longer story, and Spearman's rho of length and wins. Other rows show how often trivial baselines
    choose as the judge does.

    Args:
        ratings: those that are not side by side are left out and counted in a note.
        texts: of the stories, by id, as far as they are known; length and type-token ratio need them.
        config: how verdicts become strengths: `ties`, `prior`, `margin`; `seed` of the random baseline.
        how: further facts for the reader.

    Raises:
        UsageError: no rating compares two stories of different systems, or an answer names neither of them.
    """
    asked = [rating for rating in ratings if is_side_by_side(rating)]
    if not asked:
        raise UsageError(
            f"None of the {len(ratings)} ratings compares two stories of different systems. "
            'A side-by-side rating has two `items`, and an `answer` that is one of them or "same".'
        )
    verdicts = choices_in(asked)
    names = sorted({name for rating in asked for name in (rating.systems or rating.items)})
    words = {item: count_words(text) for item, text in texts.items()}
    tables = []
    questions = list(dict.fromkeys(rating.question for rating in asked))
    for question in questions:
        mine = [verdict for verdict in verdicts if verdict.question == question]
        tables.append(_Table(question, names, mine, words, texts, config, len(questions)))
    return Report(
        "pairwise",
        how=_how(asked, verdicts, config) | dict(how or {}),
        rows=tuple(row for table in tables for row in table.rows()),
        ratings=tuple(ratings),
        notes=(
            *_notes(ratings, asked),
            *(note for table in tables for note in table.notes()),
        ),
        details={
            "names": names,
            "questions": questions,
            "margin": config.margin,
            "wins": {table.question: table.wins for table in tables},
        },
    )


class _Table:
    """The results on one question."""

    def __init__(
        self,
        question: str,
        names: Sequence[str],
        verdicts: Sequence[PairwiseChoice],
        words: Mapping[str, int],
        texts: Mapping[str, str],
        config: Config,
        questions: int,
    ) -> None:
        self.question, self.names, self.texts = question, names, texts
        self.seed = config.paper.seed
        self.pairs = pair_choices(verdicts, config.margin)
        self.shown = shown_comparisons(verdicts, words)
        self.counted = counted_comparisons(self.pairs, words, ties=config.paper.ties == "half")
        # One system without a verdict leaves the others theirs.
        there = {name for one in self.counted for name in (one.first, one.second)}
        self.judged = [name for name in names if name in there] or list(names)
        self.tests = questions * max(len(self.judged) * (len(self.judged) - 1) // 2, 1)
        self.power = power_rows(question, self.judged, self.counted, self.tests)
        self.ranking = rank_systems(self.judged, self.counted, prior=config.paper.prior, questions=questions)

    def rows(self) -> list[Row]:
        """Strengths and wins from the strongest system on, then the judge, then the baselines."""
        found: list[Row] = []
        shares = [self._share(name) for name in self.judged]
        for n in sorted(range(len(self.judged)), key=lambda n: (-_value(shares[n]), self.judged[n])):
            found.append(Row(self.judged[n], f"strength/{self.question}", self.ranking.strengths[n]))
            found.append(Row(self.judged[n], f"wins/{self.question}", shares[n]))
        for name in self.names:
            if name not in self.judged:
                none = Unscored("there is no verdict on it that counts")
                found += [Row(name, f"{what}/{self.question}", none) for what in ("strength", "wins")]
        found += [Row(one.of, DIFFERENCE + self.question, one.scored) for one in self.ranking.differences]
        found += [*equal_length_rows(self.question, self.judged, self.counted), *self.power]
        found += panel_rows(self.question, self.pairs)
        judge = {
            "ties": tie_share(self.shown),
            "first position wins": first_position_rate(self.shown),
            "order consistency": order_consistency(self.shown),
            "longer wins": self.ranking.longer_wins,
            "length and wins, rho": self.ranking.length,
        }
        found += [Row("judge", f"{what}/{self.question}", scored) for what, scored in judge.items()]
        rows = _baseline_rows(self.question, self.pairs, self.texts, self.seed)
        first = Row("first position", f"agreement/{self.question}", judge["first position wins"], baseline=True)
        return [*found, *rows, first]

    @property
    def wins(self) -> list[list[float]]:
        """How often each system wins over each other one, in the order of all names."""
        at = {name: n for n, name in enumerate(self.judged)}
        counted = self.ranking.wins.tolist()
        return [
            [counted[at[one]][at[other]] if one in at and other in at else 0 for other in self.names]
            for one in self.names
        ]

    def _share(self, name: str) -> Scored:
        mine = [c for c in self.counted if name in (c.first, c.second)]
        values = [c.score_of(name) for c in mine]
        method = "share of its verdicts won" + (", ties half" if TIE in values else "")
        return share_of(values, [c.prompt for c in mine], method=method)

    def notes(self) -> list[str]:
        """Notes for the reader, each with its question."""
        return [
            f"{self.question}: {note}"
            for note in (*self.ranking.notes, *self._unsettled(), *self._doubts(), *self._apart(), *self._terms())
        ]

    def _unsettled(self) -> list[str]:
        open_ = [pair for pair in self.pairs if not pair.settled]
        if not open_:
            return []
        dropped = sum(pair.weighed for pair in open_)
        how = [f"{len(open_) - dropped} count as single verdicts"] * (dropped < len(open_))
        how += [f"{dropped} weighed ones do not count"] * (dropped > 0)
        which = f"{len(open_)} of {len(self.pairs)} pairs have verdicts in one order only and are not settled"
        return [f"{which}: {', '.join(how)}."]

    def _apart(self) -> list[str]:
        """A note on which systems are shown to differ."""
        if len(self.names) > MOST:
            return [f"Differences are left out: {len(self.names)} systems are more than {MOST}."]
        said = as_said(self.ranking.differences, "strength")
        return [said] if said else []

    def _terms(self) -> list[str]:
        """Notes on what the prompts can show, and on the sources of variance."""
        if not self.counted:
            return []
        return [
            *power_note(self.power, self.judged, self.counted, self.tests),
            *variance_note(self.counted, self.pairs),
        ]

    def _doubts(self) -> list[str]:
        consistency = order_consistency(self.shown)
        if isinstance(consistency, Estimate) and consistency.value < 0.5:  # noqa: PLR2004 - half of the pairs
            agree = f"the two orders agree on {consistency.value:.0%} of pairs"
            return [f"{agree}, so the verdicts depend more on the order of showing than on the stories."]
        return []


def _value(scored: Scored) -> float:
    return scored.value if isinstance(scored, Estimate) else -1.0


def _method(verdicts: Sequence[PairwiseChoice], config: Config) -> str:
    """How the verdicts were actually read."""
    weighed = sum(verdict.chances is not None for verdict in verdicts)
    by_chances = f"weighed by probabilities, averaged over both orders; a winner leads by more than {config.margin:g}"
    if not weighed:
        return "as they were given, without probabilities"
    if weighed == len(verdicts):
        return by_chances
    return f"{weighed} of {len(verdicts)} {by_chances}; the others as they were given, without probabilities"


def _how(ratings: Sequence[Rating], verdicts: Sequence[PairwiseChoice], config: Config) -> dict[str, Any]:
    """How the numbers were made."""
    return {
        "judge": ", ".join(sorted({rating.rater for rating in ratings})),
        "verdicts": _method(verdicts, config),
        "strength": "log strength of a Bradley-Terry model by maximum likelihood, centred at 0",
        "ties": "half a win for each side" if config.paper.ties == "half" else "count for nobody",
        "prior": config.paper.prior,
        "intervals": "95 %, by prompt; of strengths a t interval with the sandwich variance, of shares Wilson's",
        "order consistency": "share of pairs on which the verdicts in the two orders prefer the same story, or both "
        "say the same",
        "agreement of baselines": "share of settled pairs on which the baseline says the same as the judge, half where "
        "one of them alone ties (as `fabula lab meta` has it)",
    }


def _notes(ratings: Sequence[Rating], asked: Sequence[Rating]) -> list[str]:
    notes = []
    if len(ratings) > len(asked):
        notes.append(f"{len(ratings) - len(asked)} ratings are of single stories or of one system and were left out.")
    notes += lost_note((rating.unscored for rating in asked), len(asked), "verdicts are missing")
    raters = {rating.rater for rating in asked}
    if len(raters) > 1:
        notes.append(f"The verdicts of {len(raters)} raters are pooled.")
    return notes


# beside the judge -----------------------------------------------------------------------------------------------------


def _baseline_rows(question: str, pairs: Sequence[PairChoice], texts: Mapping[str, str], seed: int) -> list[Row]:
    """For each baseline, the share of the judge's settled pairs on which it agrees; half if only one of them ties."""
    known = sorted(texts)
    said = [texts[item] for item in known]
    scores = {**orderings(said, seed), "constant": constant(said)}
    return [
        Row(
            name,
            f"agreement/{question}",
            _agreement(pairs, dict(zip(known, values, strict=True))),
            baseline=True,
        )
        for name, values in scores.items()
    ]


def _agreement(pairs: Sequence[PairChoice], scores: Mapping[str, float]) -> Scored:
    settled = [pair for pair in pairs if pair.settled]
    if pairs and not settled:
        return Unscored("no pair was judged in both orders", len(pairs))
    if not settled:
        return Unscored("the judge said nothing of a pair")
    known = [pair for pair in settled if pair.items[0] in scores and pair.items[1] in scores]
    if not known:
        return Unscored("the stories' texts are not known", len(settled))
    return share_of(
        [_credit(pair, scores) for pair in known],
        [pair.prompt for pair in known],
        method="share of settled pairs on which it says the same as the judge, half where one alone ties",
    )


def _credit(pair: PairChoice, scores: Mapping[str, float]) -> float:
    """1 if both prefer the same story or none, 0 if they prefer opposite stories, else a half."""
    one, other = (scores[item] for item in pair.items)
    return 1 - abs(preferred(pair.score) - (TIE if one == other else float(one > other)))


# analyses that reviewers ask for --------------------------------------------------------------------------------------
# Equal length, power, parts of the variance, and a panel's agreement.


_ASKED: Final = 0.05  # a difference in the share of wins whose prompts are named
_SEVERAL: Final = 2


def equal_length_rows(question: str, names: Sequence[str], counted: Sequence[Comparison]) -> list[Row]:
    """The share of wins of each system at equal length, and the effect of length on a verdict."""
    found = at_equal_length(names, counted)
    rows = [Row(name, f"wins at equal length/{question}", one) for name, one in zip(names, found.wins, strict=True)]
    return [*rows, Row("judge", f"longer by one deviation, log odds/{question}", found.length)]


def power_rows(question: str, names: Sequence[str], counted: Sequence[Comparison], tests: int) -> list[Row]:
    """For every two systems, the least difference in the share of wins that this many prompts show with 80 % power."""
    rows = []
    for one, other in _pairs(names):
        pilot = _by_prompt(one, other, counted)
        least = least_shown(pilot, len(pilot), tests)
        if least is not None and least < TIE:
            how = f"difference from an even share of wins that {len(pilot)} prompts show with {WANTED:.0%}, simulated"
            rows.append(
                Row(f"{one} - {other}", f"least difference/{question}", Estimate(least, len(pilot), method=how))
            )
    return rows


def power_note(rows: Sequence[Row], names: Sequence[str], counted: Sequence[Comparison], tests: int) -> list[str]:
    """A note on what the prompts show about the two most similar systems, and on the prompts that 5 points need."""
    known = {row.of: row.scored.value for row in rows if isinstance(row.scored, Estimate)}
    pilots = {f"{one} - {other}": _by_prompt(one, other, counted) for one, other in _pairs(names)}
    spread = {of: np.std(pilot) for of, pilot in pilots.items() if len(set(pilot)) > 1}
    if not spread:  # verdicts that are alike on every prompt say nothing of others
        return []
    of = max(spread, key=lambda of: (known.get(of, TIE), spread[of]))
    needed = prompts_needed(pilots[of], _ASKED, tests)
    more = "" if needed is None else f" For {100 * _ASKED:.0f} points about {needed:,} prompts are needed."
    shown = (
        f"show a difference of {100 * known[of]:.0f} points" if of in known else "are too few to show any difference"
    )
    return [f"{len(pilots[of])} prompts {shown} in wins ({of}) with {WANTED:.0%}, by the variance found here.{more}"]


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs of systems, unless there are too many."""
    return list(combinations(names, 2)) if len(names) <= MOST else []


def _by_prompt(one: str, other: str, counted: Sequence[Comparison]) -> list[float]:
    """The first system's share of wins on each prompt less one half."""
    found: dict[str, list[float]] = defaultdict(list)
    for c in counted:
        if {c.first, c.second} == {one, other}:
            found[c.prompt].append(c.score_of(one) - TIE)
    return [fmean(scores) for scores in found.values()]


def variance_note(counted: Sequence[Comparison], pairs: Sequence[PairChoice]) -> list[str]:
    """A note on the variance of verdicts: between prompts, between stories on a prompt, and between their verdicts."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in pairs:
        scores[pair.names].extend(_scores(pair))
    means = {names: fmean(found) for names, found in scores.items() if found}
    rows = [
        (score - means[pair.names], f"{pair.prompt} {pair.names}", f"{pair.prompt} {pair.items}")
        for pair in pairs
        for score in _scores(pair)
    ]
    parts = variance_parts(*zip(*rows, strict=True)) if counted and rows else None
    if parts is None or not sum(parts):
        return []
    prompts, stories, verdicts = (part / sum(parts) for part in parts)
    said = (
        f"Of the variance of a verdict {prompts:.0%} is between prompts, {stories:.0%} between stories on one prompt "
        f"(seeds), and {verdicts:.0%} between verdicts on the same stories (orders, samples, judges)."
    )
    return [said]


def _scores(pair: PairChoice) -> list[float]:
    return [score if verdict.items == pair.items else 1 - score for verdict, score in pair.counted]


def panel_rows(question: str, pairs: Sequence[PairChoice]) -> list[Row]:
    """How far several judges agree on the pairs that at least two of them have judged; empty for one judge."""
    raters = sorted({pair.rater for pair in pairs})
    if len(raters) < _SEVERAL:
        return []
    items = {key: n for n, key in enumerate(dict.fromkeys((pair.prompt, pair.items) for pair in pairs))}
    table = np.full((len(items), len(raters)), np.nan)
    for pair in pairs:
        table[items[pair.prompt, pair.items], raters.index(pair.rater)] = pair.score
    found = agreement(table, "alpha nominal", [prompt for prompt, _ in items])
    return [Row("judges", f"agreement, alpha/{question}", found)]
