"""How far a judge agrees with people on one question, and whether it beats measures that read nothing.

Verdicts are scores of single stories or choices between two. Either way every story gets a score from each side (its
mean, or the share of its comparisons that it wins), and the scores are compared by story, within prompts, and by
system. Choices are compared pair by pair too. Intervals are by prompt; between systems, by system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.stats.agreement import Coefficient, agreement
from fabula.stats.baselines import constant, length, random_scores, type_token_ratio
from fabula.stats.estimate import Estimate, Figure, Unscored
from fabula.stats.meta_pairs import ComparedPairs
from fabula.stats.meta_stories import Stories
from fabula.stats.verdicts import JUDGE, PAIR, by_rater

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.stats.verdicts import Trivial, Verdict

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
