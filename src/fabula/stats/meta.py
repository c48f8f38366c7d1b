"""How far a judge agrees with people on one question, and whether it beats measures that read nothing.

Verdicts are scores of single stories or choices between two. Either way every story gets a score from each side (its
mean, or the share of its comparisons that it wins), and the scores are compared by story, within prompts, and by
system. Choices are compared pair by pair too. Intervals are by prompt; between systems, by system.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.stats.agreement import Coefficient, agreement, cohen_kappa, of_disagreement
from fabula.stats.baselines import constant, length, random_scores, type_token_ratio
from fabula.stats.correlation import (
    COEFFICIENTS,
    LOWEST,
    by_row,
    correlation,
    levelled,
    pairwise_accuracy,
    without_each,
)
from fabula.stats.correlation import (
    Coefficient as Correlation,
)
from fabula.stats.estimate import Estimate, Figure, Unscored
from fabula.stats.intervals import coefficient_of, leaving_out, mean_of, share_of
from fabula.stats.verdicts import (
    JUDGE,
    PAIR,
    by_rater,
    grouped,
    preferences_of,
    preferred,
    scores_of,
    sources_of,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored
    from fabula.stats.verdicts import Array, Pair, Trivial, Verdict

    Statistic: TypeAlias = Callable[[Array, Array], float | None]

PEOPLE: Final = "people"
_ROUNDING: Final = 1e-12
_FIRST: Final = "scores are given to one story at a time"
_OF_PAIRS: Final[Mapping[str, Coefficient]] = {
    "Fleiss' kappa": "fleiss",
    "Krippendorff's alpha, nominal": "alpha nominal",
}
_OF_SCORES: Final[Mapping[str, Coefficient]] = {
    "Fleiss' kappa": "fleiss",
    "Krippendorff's alpha, ordinal": "alpha ordinal",
    "Krippendorff's alpha, interval": "alpha interval",
    "ICC(1,1)": "icc 1,1",
    "ICC(2,1)": "icc 2,1",
}


@dataclass(frozen=True, slots=True)
class MetaResult:
    """The results on one question.

    Attributes:
        findings: the numbers: of the judge, of each trivial baseline, and of people among themselves.
        sentence: whether the judge beats the best trivial baseline, in words.
        beats: the same as a boolean; `None` if it cannot be decided.
        notes: what is missing, left out or averaged.
    """

    findings: tuple[Figure, ...]
    sentence: str
    beats: bool | None
    notes: tuple[str, ...] = ()


def meta(
    judge: Sequence[Verdict],
    human: Sequence[Verdict],
    texts: Mapping[str, str],
    seed: int = 1,
    raters: Sequence[Verdict] | None = None,
) -> MetaResult:
    """How far the judge agrees with people, compared with the baselines.

    Args:
        judge: its verdicts on one question.
        human: people's, on the same question.
        texts: of the stories by id, for the baselines that read them; where one is missing, it is said so.
        seed: of the baseline that chance makes.
        raters: people's single verdicts, where `human` is what several of them decided together.

    Raises:
        ValueError: no story was judged by both sides.
    """
    pairs, stories = ComparedPairs.of(judge, human), Stories.of(judge, human)
    if not len(stories):
        raise ValueError("No story was judged by both sides.")
    trivial = _trivial(stories.items, texts, seed)
    findings = pairs.findings(trivial) + stories.findings(trivial)
    if not len(pairs):
        findings += [Figure("first position", "stories: accuracy", Unscored(_FIRST, len(stories)))]
    compared = pairs if len(pairs) else stories
    sentence, beats = _beats(compared, trivial, findings)
    people = among(human if raters is None else raters)
    return MetaResult(tuple(findings + people), sentence, beats, tuple(stories.notes()))


def _trivial(items: Sequence[str], texts: Mapping[str, str], seed: int) -> dict[str, Trivial]:
    """The baselines' scores of each story; chance draws on its place, so that what it is called makes no difference."""
    known = [item for item in items if item in texts]
    read = [texts[item] for item in known]
    missing = "it needs the stories; give them with --stories"
    return {
        "constant": dict(zip(items, constant(items), strict=True)),
        "length": dict(zip(known, length(read), strict=True)) if known else missing,
        "type-token ratio": dict(zip(known, type_token_ratio(read), strict=True)) if known else missing,
        "random": dict(zip(items, random_scores([str(place) for place in range(len(items))], seed), strict=True)),
    }


# beside the baselines -------------------------------------------------------------------------------------------------


def _beats(
    compared: ComparedPairs | Stories, trivial: Mapping[str, Trivial], findings: Sequence[Figure]
) -> tuple[str, bool | None]:
    """Whether the judge's accuracy is above that of the best baseline, and by how much."""
    what = "pairs: accuracy" if isinstance(compared, ComparedPairs) else "stories: accuracy"
    accuracy = {f.of: f.scored.value for f in findings if f.what == what and isinstance(f.scored, Estimate)}
    missing = {f.of: f.scored.reason for f in findings if f.what == what and isinstance(f.scored, Unscored)}
    unknown = [name for name, reason in missing.items() if reason != _FIRST]
    if JUDGE not in accuracy:
        return "Whether the judge beats the trivial baselines cannot be said: its accuracy has no value.", None
    best = max((name for name in accuracy if name != JUDGE), key=lambda name: accuracy[name])
    everyone = compared.everyone(trivial)
    ours, theirs = (np.asarray(everyone[name], dtype=np.float64) for name in (JUDGE, best))
    apart = compared.difference(ours, theirs)
    numbers = f"accuracy {accuracy[JUDGE]:.3f} against {accuracy[best]:.3f}"
    left = f" Not compared: {', '.join(unknown)}." if unknown else ""
    if not isinstance(apart, Estimate):
        return f"Whether the judge beats the trivial baselines cannot be said: {apart.reason}.", None
    if apart.value <= _ROUNDING:
        return f"The judge does not beat the trivial baseline {best!r}: {numbers}.{left}", False
    if apart.low is None or apart.high is None:
        return (
            f"The judge is above the best trivial baseline, {best!r}, but without an interval: {numbers}.{left}",
            None,
        )
    interval = f"difference {apart.value:z.3f} [{apart.low:z.3f}, {apart.high:z.3f}]"
    if apart.low <= 0:
        return (
            f"The judge is not shown to beat the trivial baseline {best!r}: {numbers}, {interval} reaches 0.{left}",
            False,
        )
    return f"The judge beats the best trivial baseline, {best!r}: {numbers}, {interval}.{left}", True


# people among themselves ----------------------------------------------------------------------------------------------


def among(human: Sequence[Verdict]) -> list[Figure]:
    """How far people agree among themselves: kappa, alpha and ICC, by prompt where there are several."""
    prompts, raters, table = by_rater(human)
    if len(raters) < PAIR:
        return [Figure(PEOPLE, "agreement", Unscored("there is one rater", len(table)))]
    whole = ~np.isnan(table).any(axis=1)  # rated by all, which ICC needs
    of_pairs = all(verdict.pair is not None for verdict in human)
    units, count = [str(row) for row in range(len(table))], len(table)
    if of_pairs:  # a pair has no first story: it is counted from both sides
        table, whole = np.concatenate([table, 1 - table]), np.concatenate([whole, whole])
        prompts, units = prompts * PAIR, prompts * PAIR  # pairs of one prompt may share stories
    found = []
    for name, coefficient in (_OF_PAIRS if of_pairs else _OF_SCORES).items():
        rows = np.flatnonzero(whole) if coefficient.startswith("icc") else np.arange(len(table))
        groups = [(prompts if len(set(prompts)) > 1 else units)[row] for row in rows]
        scored = agreement(table[rows], coefficient, groups)
        if isinstance(scored, Estimate):
            on = f"{count} pairs, each from both sides" if of_pairs else f"{len(rows)} stories"
            scored = replace(scored, method=f"{name} of {len(raters)} raters on {on}; {scored.method}")
            scored = replace(scored, n=count) if of_pairs else scored
        found.append(Figure(PEOPLE, name, scored))
    return found


# choices between two stories, pair by pair ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedPairs:
    """The pairs of stories that both sides compared; preferences are for the first story of each.

    Attributes:
        shown_first: how often that story was shown to the judge first.
    """

    pairs: tuple[Pair, ...]
    human: Array
    judge: Array
    shown_first: Array
    prompts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    @classmethod
    def of(cls, judge: Sequence[Verdict], human: Sequence[Verdict]) -> ComparedPairs:
        """Those in two sets of verdicts."""
        mine, theirs = preferences_of(judge), preferences_of(human)
        pairs = tuple(pair for pair in theirs if pair in mine)
        homes = sources_of([*judge, *human])
        shown: dict[Pair, list[float]] = defaultdict(list)
        for verdict in judge:
            if verdict.pair is not None:
                shown[verdict.pair].append(verdict.first if verdict.items == verdict.pair else 1 - verdict.first)
        return cls(
            pairs,
            np.array([theirs[pair] for pair in pairs]),
            np.array([mine[pair] for pair in pairs]),
            np.array([np.mean(shown[pair]) for pair in pairs]),
            tuple(units_of(pairs, [homes[pair[0]][0] or homes[pair[1]][0] for pair in pairs])),
        )

    def findings(self, trivial: Mapping[str, Trivial]) -> list[Figure]:
        """The share of pairs on which both say the same, of the judge and the baselines; the judge's kappa and rho."""
        if not len(self):
            return []
        method = "share of pairs with people's preference, half where one side alone ties"
        found = []
        for name, values in self.everyone(trivial).items():
            scored: Scored = (
                Unscored(values, len(self))
                if isinstance(values, str)
                else share_of(self.credit(values), self.prompts, method=method)
            )
            found.append(Figure(name, "pairs: accuracy", scored))
        found.append(Figure(JUDGE, "pairs: kappa", self._kappa()))
        return [*found, Figure(JUDGE, "pairs: spearman", self._rho())]

    def everyone(self, trivial: Mapping[str, Trivial]) -> dict[str, Array | str]:
        """The judge's preferences and those of the baselines, or why one has none."""
        found: dict[str, Array | str] = {JUDGE: self.judge}
        for name, scores in trivial.items():
            if isinstance(scores, str):
                found[name] = scores
            elif missing := [item for pair in self.pairs for item in pair if item not in scores]:
                found[name] = f"the text of {missing[0]!r} is not there; give it with --stories"
            else:
                ahead = [np.sign(scores[first] - scores[second]) for first, second in self.pairs]
                found[name] = (np.array(ahead) + 1) / 2
        return found | {"first position": self.shown_first}

    def credit(self, values: Array) -> Array:
        """For each pair 1 where people prefer the same, 0 the opposite, 0.5 where one side alone sees no difference."""
        mine, theirs = _three(values), _three(self.human)
        return np.asarray(1 - np.abs(mine - theirs))

    def difference(self, one: Array, other: Array) -> Scored:
        """By how much the share of the first is higher."""
        method = "difference of shares on the same pairs"
        return mean_of(self.credit(one) - self.credit(other), self.prompts, method=method, limits=(-1.0, 1.0))

    def _kappa(self) -> Scored:
        """Cohen's kappa of the two sides' choices."""
        both = np.stack([_three(_both_sides(values)) for values in (self.human, self.judge)], axis=1)
        return self._of_pairs(agreement(both, "cohen", [*self.prompts, *self.prompts]), "of better, same, worse")

    def _rho(self) -> Scored:
        """Spearman's rho of the two sides' preferences by pair (Agents' Room, section 7: "by items")."""
        one, other = (levelled(_both_sides(values)) for values in (self.human, self.judge))
        return self._of_pairs(correlation(one, other, "spearman", [*self.prompts, *self.prompts]), "of preferences")

    def _of_pairs(self, found: Scored, what: str) -> Scored:
        if isinstance(found, Estimate):
            found = replace(found, method=f"{what}, each pair from both sides: {found.method}")
        return replace(found, n=len(self))


def _both_sides(values: Array) -> Array:
    """Preferences for the first story of each pair, then for the second."""
    return np.concatenate([values, 1 - values])


def _three(values: Array) -> Array:
    return np.array([preferred(value) for value in values])


# scores of stories, within prompts and by system ----------------------------------------------------------------------


_OF_SYSTEMS: Final[tuple[Correlation, ...]] = ("spearman", "kendall", "pearson", "accuracy")
_STATISTICS: Final[Mapping[str, Statistic]] = {
    "spearman": COEFFICIENTS["spearman"],
    "kendall": COEFFICIENTS["kendall"],
    "pearson": COEFFICIENTS["pearson"],
    "accuracy": pairwise_accuracy,
    "accuracy (legacy_fig3)": lambda h, m: pairwise_accuracy(h, m, "legacy_fig3"),
    "accuracy (legacy_table1)": lambda h, m: pairwise_accuracy(h, m, "legacy_table1"),
}
_FEW_LABELS: Final = 12


@dataclass(frozen=True)
class Stories:
    """The stories that both sides judged, with a score from each, in the order in which people's verdicts name them.

    Attributes:
        scored: verdicts are scores, not choices between two.
    """

    items: tuple[str, ...]
    human: Array
    judge: Array
    prompts: tuple[str, ...]
    systems: tuple[str, ...]
    scored: bool

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def of(cls, judge: Sequence[Verdict], human: Sequence[Verdict]) -> Stories:
        """Those in two sets of verdicts."""
        mine, theirs = scores_of(judge), scores_of(human)
        known = sources_of([*judge, *human])
        items = tuple(item for item in theirs if item in mine)
        return cls(
            items,
            levelled(np.array([theirs[item] for item in items])),
            levelled(np.array([mine[item] for item in items])),
            tuple(known[item][0] for item in items),
            tuple(known[item][1] for item in items),
            all(verdict.pair is None for verdict in (*judge, *human)),
        )

    @property
    def within(self) -> bool:
        """Whether prompts have several stories; else all stories are compared with each other."""
        return 1 < len(set(self.prompts)) < len(self.prompts)

    def groups(self) -> list[NDArray[np.int64]]:
        """Stories that are compared with each other: of one prompt, and people see a difference between them."""
        found = grouped(self.prompts) if self.within else [np.arange(len(self))]
        return [member for member in found if len(member) > 1 and np.ptp(self.human[member]) > 0]

    def units(self) -> list[NDArray[np.int64]]:
        """What belongs together: prompts, or stories where prompts have one story each or are not known."""
        return grouped(self.prompts) if self.within else list(np.arange(len(self))[:, None])

    def notes(self) -> list[str]:
        """What is not compared, and why."""
        if not self.within:
            note = "No two prompts with several stories: all stories are compared with each other."
            return [note] if len(self) else []
        left = len(set(self.prompts)) - len(self.groups())
        return [f"Prompts left out by story: {left} (one story, or people see no difference)."] if left else []

    def everyone(self, trivial: Mapping[str, Trivial]) -> dict[str, Array | str]:
        """The judge's scores and those of the baselines, or why one has none."""
        found: dict[str, Array | str] = {JUDGE: self.judge}
        for name, scores in trivial.items():
            if isinstance(scores, str):
                found[name] = scores
            elif missing := [item for item in self.items if item not in scores]:
                found[name] = f"the text of {missing[0]!r} is not there; give it with --stories"
            else:
                found[name] = np.array([scores[item] for item in self.items])
        return found

    def findings(self, trivial: Mapping[str, Trivial]) -> list[Figure]:
        """By story and by system, of the judge and of the baselines."""
        found = []
        for name, values in self.everyone(trivial).items():
            for what, scored in self._of(values):
                found.append(Figure(name, what, scored))
        if self.scored and len(self):
            found.append(Figure(JUDGE, "stories: kappa", self._kappa()))
        return found

    def _of(self, values: Array | str) -> Iterator[tuple[str, Scored]]:
        for what, statistic in _STATISTICS.items():
            missing = isinstance(values, str)
            yield (
                f"stories: {what}",
                Unscored(str(values), len(self)) if missing else self._by_story(np.asarray(values), what, statistic),
            )
        for what in _OF_SYSTEMS:
            missing = isinstance(values, str)
            yield (
                f"systems: {what}",
                Unscored(str(values), len(self)) if missing else self._by_system(np.asarray(values), what),
            )

    # by story -------------------------------------------------------------------------------------------------------

    def _by_story(self, values: Array, what: str, statistic: Statistic) -> Scored:
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        share = what.startswith("accuracy")
        if not self.within:
            value = statistic(self.human, values)
            if value is None:
                return Unscored("undefined on these stories", len(self))
            without = [statistic(self.human[rows], values[rows]) for rows in leaving_out(self.units())]
            lowest = 0.0 if share else -1.0
            return coefficient_of(value, len(self), without, method=f"{what} over all stories", lowest=lowest)
        each = [statistic(self.human[member], values[member]) for member in self.groups()]
        method = f"mean over prompts of {what}"
        if missing := each.count(None):
            method += f", which counts as 0 on {missing} of {len(each)} where the judge sees no difference"
        known = [found or 0.0 for found in each]
        return share_of(known, method=method) if share else mean_of(known, method=method, limits=(-1.0, 1.0))

    def _by_group(self, values: Array, statistic: Statistic) -> Array:
        """The statistic of each group; 0 where it is undefined since the judge sees no difference."""
        return np.array([statistic(self.human[member], values[member]) or 0.0 for member in self.groups()])

    def difference(self, one: Array, other: Array) -> Scored:
        """By how much the symmetric pairwise accuracy of the first is higher."""
        if not self.groups():
            return Unscored("no two stories of a prompt between which people see a difference", len(self))
        if self.within:
            each = self._by_group(one, pairwise_accuracy) - self._by_group(other, pairwise_accuracy)
            return mean_of(each, method="mean over prompts of the difference in accuracy", limits=(-1.0, 1.0))

        def apart(rows: NDArray[np.int64]) -> float | None:
            first, second = (pairwise_accuracy(self.human[rows], values[rows]) for values in (one, other))
            return None if first is None or second is None else first - second

        value = apart(np.arange(len(self)))
        if value is None:
            return Unscored("undefined on these stories", len(self))
        without = [apart(rows) for rows in leaving_out(self.units())]
        return coefficient_of(value, len(self), without, method="difference in accuracy over all stories")

    def _kappa(self) -> Scored:
        """Cohen's kappa of whole scores: unweighted for two labels, else with quadratic weights."""
        human, judge = np.round(self.human), np.round(self.judge)
        labels = len(set(human.tolist()) | set(judge.tolist()))
        if labels > _FEW_LABELS:
            return Unscored(f"kappa is for a few labels, not for {labels} different scores", len(self))
        weights = "quadratic" if labels > PAIR else None

        value = cohen_kappa(human.tolist(), judge.tolist(), weights)  # type: ignore[arg-type] # a literal
        if value is None:
            return Unscored("both sides gave one and the same score to all stories", len(self))
        method = f"Cohen's kappa{' with quadratic weights' if weights else ''} of mean scores, rounded"
        # Weights go by the place of a score among those given.
        known, places = np.unique(np.stack([human, judge]), return_inverse=True)
        of_each = places.reshape(2, -1) / (len(known) - 1)
        groups = self.prompts if self.within else None
        apart, chance = np.diff(of_each, axis=0)[0] ** 2, 2 * float(of_each.var())
        return of_disagreement(value, len(self), apart, chance, groups, method=method)

    # by system ------------------------------------------------------------------------------------------------------

    def _by_system(self, values: Array, what: Correlation) -> Scored:
        systems = sorted(set(self.systems))
        if "" in systems:
            return Unscored("the ratings do not name the system of every story", len(self))
        if len(systems) < PAIR:
            return Unscored("fewer than two systems", len(systems))
        human, judge = (levelled(self._means(systems, side)) for side in (self.human, values))
        value = by_row(what, human[None], judge[None])[0]
        if not math.isfinite(value):
            return Unscored("one of the two sides sees no difference between the systems", len(systems))
        # By prompts the systems would be fixed, and chance moves their means in every draw: such intervals lie too low.
        # Those who ask whether the judge ranks systems right ask it of other systems too.
        units = [np.array([n]) for n in range(len(systems))]
        without = without_each(human, judge, what, units)
        method = f"{what} of the means of {len(systems)} systems"
        return coefficient_of(float(value), len(systems), without, method=method, lowest=LOWEST[what])

    def _means(self, systems: Sequence[str], values: Array) -> Array:
        """The mean of each system's stories."""
        place = {name: column for column, name in enumerate(systems)}
        columns = np.array([place[name] for name in self.systems])
        return np.asarray(np.bincount(columns, values) / np.bincount(columns), dtype=np.float64)
