"""How far a judge agrees with people on one question, and whether it beats measures that read nothing.

Verdicts are scores of single stories or choices between two. Either way every story gets a score from each side (its
mean, or the share of its comparisons that it wins), and the scores are compared by story, within prompts, and by
system. Choices are compared pair by pair too. Intervals come from drawing prompts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.stats.agreement import fleiss_kappa, icc, krippendorff_alpha
from fabula.stats.baselines import constant, length, random_scores, type_token_ratio
from fabula.stats.bootstrap import Resampling, bootstrap
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.meta_pairs import Pairs
from fabula.stats.meta_stories import Stories
from fabula.stats.verdicts import JUDGE, PAIR, Figure, by_rater, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.stats.verdicts import Array, Trivial, Verdict

PEOPLE: Final = "people"
_FIRST: Final = "scores are given to one story at a time"
_FEW_LABELS: Final = 12


@dataclass(frozen=True, slots=True)
class Meta:
    """What is found on one question.

    Attributes:
        findings: the numbers: of the judge, of each trivial baseline, and of people among themselves.
        sentence: whether the judge beats the best trivial baseline, in words.
        beats: the same as a value; `None` where it cannot be said.
        notes: what is missing, left out or averaged.
    """

    findings: tuple[Figure, ...]
    sentence: str
    beats: bool | None
    notes: tuple[str, ...] = ()


def meta(judge: Sequence[Verdict], human: Sequence[Verdict], texts: Mapping[str, str], resampling: Resampling) -> Meta:
    """How far the judge goes with the people, beside the baselines.

    Args:
        judge: its verdicts on one question.
        human: people's, on the same question.
        texts: of the stories by id, for the baselines that read them; where one is missing, it is said so.
        resampling: of the bootstrap.

    Raises:
        ValueError: no story was judged by both sides.
    """
    pairs, stories = Pairs.of(judge, human), Stories.of(judge, human)
    if not len(stories):
        raise ValueError("No story was judged by both sides.")
    trivial = _trivial(stories.items, texts, resampling.seed)
    findings = pairs.findings(trivial, resampling) + stories.findings(trivial, resampling)
    if not len(pairs):
        findings += [Figure("first position", "stories: accuracy", Unscored(_FIRST, len(stories)))]
    compared = pairs if len(pairs) else stories
    sentence, beats = _beats(compared, trivial, findings, resampling)
    return Meta(tuple(findings + _among(human, resampling)), sentence, beats, tuple(stories.notes()))


def _trivial(items: Sequence[str], texts: Mapping[str, str], seed: int) -> dict[str, Trivial]:
    """The baselines' scores of each story; those that read nothing draw on its id."""
    known = [item for item in items if item in texts]
    read = [texts[item] for item in known]
    missing = "it needs the stories; give them with --stories"
    return {
        "constant": dict(zip(items, constant(items), strict=True)),
        "length": dict(zip(known, length(read), strict=True)) if known else missing,
        "type-token ratio": dict(zip(known, type_token_ratio(read), strict=True)) if known else missing,
        "random": dict(zip(items, random_scores(items, seed), strict=True)),
    }


# beside the baselines -------------------------------------------------------------------------------------------------


def _beats(
    compared: Pairs | Stories, trivial: Mapping[str, Trivial], findings: Sequence[Figure], resampling: Resampling
) -> tuple[str, bool | None]:
    """Whether the judge's accuracy is above that of the best baseline, and by how much."""
    what = "pairs: accuracy" if isinstance(compared, Pairs) else "stories: accuracy"
    accuracy = {f.of: f.scored.value for f in findings if f.what == what and isinstance(f.scored, Estimate)}
    missing = {f.of: f.scored.reason for f in findings if f.what == what and isinstance(f.scored, Unscored)}
    unknown = [name for name, reason in missing.items() if reason != _FIRST]
    if JUDGE not in accuracy:
        return "Whether the judge beats the trivial baselines cannot be said: its accuracy has no value.", None
    best = max((name for name in accuracy if name != JUDGE), key=lambda name: accuracy[name])
    everyone = compared.everyone(trivial)
    ours, theirs = (np.asarray(everyone[name], dtype=np.float64) for name in (JUDGE, best))
    apart = compared.difference(ours, theirs, resampling)
    numbers = f"accuracy {accuracy[JUDGE]:.3f} against {accuracy[best]:.3f}"
    left = f" Not compared: {', '.join(unknown)}." if unknown else ""
    if not isinstance(apart, Estimate):
        return f"Whether the judge beats the trivial baselines cannot be said: {apart.reason}.", None
    if apart.value <= 0:
        return f"The judge does not beat the trivial baseline {best!r}: {numbers}.{left}", False
    if apart.low is None or apart.high is None:
        return (
            f"The judge is above the best trivial baseline, {best!r}, but without an interval: {numbers}.{left}",
            None,
        )
    interval = f"difference {apart.value:.3f} [{apart.low:.3f}, {apart.high:.3f}]"
    if apart.low <= 0:
        return (
            f"The judge is not shown to beat the trivial baseline {best!r}: {numbers}, {interval} reaches 0.{left}",
            False,
        )
    return f"The judge beats the best trivial baseline, {best!r}: {numbers}, {interval}.{left}", True


# people among themselves ----------------------------------------------------------------------------------------------


def _among(human: Sequence[Verdict], resampling: Resampling) -> list[Figure]:
    """How far people agree among themselves: kappa, alpha and ICC, drawn by prompt."""
    prompts, raters, table = by_rater(human)
    if len(raters) < PAIR:
        return [Figure(PEOPLE, "agreement", Unscored("there is one rater", len(table)))]
    of_pairs = all(verdict.pair is not None for verdict in human)
    units = grouped(prompts)
    if len(units) < PAIR:
        units = list(np.arange(len(table))[:, None])
    whole = table[~np.isnan(table).any(axis=1)]
    measures: dict[str, Callable[[Array], float | None]] = {"Fleiss' kappa": _fleiss}
    if of_pairs:
        measures["Krippendorff's alpha, nominal"] = lambda rows: krippendorff_alpha(rows, "nominal")
    else:
        measures["Krippendorff's alpha, ordinal"] = lambda rows: krippendorff_alpha(rows, "ordinal")
        measures["Krippendorff's alpha, interval"] = lambda rows: krippendorff_alpha(rows, "interval")
        measures["ICC(1,1)"] = lambda rows: icc(_complete(rows), "1,1")
        measures["ICC(2,1)"] = lambda rows: icc(_complete(rows), "2,1")
    found = []
    for name, measure in measures.items():

        def drawn(
            chosen: Sequence[NDArray[np.int64]], measure: Callable[[Array], float | None] = measure
        ) -> float | None:
            return measure(table[np.concatenate(chosen)])

        method = f"{name} of {len(raters)} raters on {len(table)} {'pairs' if of_pairs else 'stories'}, drawn by prompt"
        if name.startswith("ICC"):
            method += f"; {len(whole)} that all of them rated"
        scored = bootstrap(units, drawn, resamples=resampling.resamples, seed=resampling.seed, method=method)
        found.append(Figure(PEOPLE, name, replace(scored, n=len(table))))
    return found


def _fleiss(table: Array) -> float | None:
    """Fleiss' kappa; `None` where there are too many different values to be labels."""
    used = np.unique(table[~np.isnan(table)])
    if len(used) > _FEW_LABELS:
        return None
    return fleiss_kappa((table[:, :, None] == used).sum(axis=1))


def _complete(table: Array) -> Array:
    """The rows that every rater rated."""
    return table[~np.isnan(table).any(axis=1)]
