"""The share of comparisons in which people prefer the story that the judge scores higher (MAGNET, A.2.3, Table 8)."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.craft.levels import LEVELS
from fabula.craft.measuring import share_of_yes
from fabula.evaluators.rubric.report import EVALUATOR
from fabula.measure.ratings import SAME
from fabula.measure.report import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report

    # A prompt, two stories of it, and whether it is so.
    _Answer: TypeAlias = tuple[str, tuple[str, str], bool]

_PAIR: Final = 2
_ROUNDING: Final = 1e-9  # of means of scores from 0 to 100


def decided(report: Report, people: Sequence[Rating], words: Mapping[str, int]) -> tuple[list[Row], list[str]]:
    """The share of people's choices between two stories with which the judge's mean scores agree, by level and overall.

    It comes with the share of choices for the longer story. People's ratings have the two stories as `items`, a
    question of the report ("chapter/overall"), and the better story or "same" as answer. If several people judged a
    pair on a question, the majority decides. The judge and people agree on "same" only if both say so.

    Args:
        report: the evaluator's report.
        people: ratings of any kind. Ratings that are not side by side on the report's questions are counted and left
            out.
        words: the words of each story, by id.
    """
    scores = report.details["scores"]
    votes: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    left: Counter[str] = Counter()
    for rating in people:
        if len(rating.items) != _PAIR or rating.evaluator == EVALUATOR:
            continue
        first, second = rating.items
        places = {first: 1, second: -1, SAME: 0}
        if {scores.get(item, {}).get(rating.question) for item in rating.items} & {None}:
            left["on stories or questions without scores in this report"] += 1
        elif rating.answer not in places:
            left['neither a story nor "same"'] += 1
        else:
            low, high = sorted(rating.items)
            sign = 1 if first == low else -1
            votes[low, high, rating.question].append(sign * places[str(rating.answer)])
    prompts = {story["id"]: story["prompt"] for story in report.details.get("stories", ())}
    rows = _rows(votes, scores, words, prompts)
    reasons = ", ".join(f"{count} {reason}" for reason, count in left.most_common())
    return rows, [f"Choices that do not count: {reasons}."] if reasons else []


def _rows(
    votes: Mapping[tuple[str, str, str], Sequence[int]],
    scores: Mapping[str, Mapping[str, float]],
    words: Mapping[str, int],
    prompts: Mapping[str, str],
) -> list[Row]:
    found: defaultdict[str, list[_Answer]] = defaultdict(list)
    longer: list[_Answer] = []
    for (low, high, question), said in votes.items():
        wanted, home = _sign(fmean(said)), (prompts.get(low, ""), (low, high))
        same = _sign(scores[low][question] - scores[high][question]) == wanted
        found[question.partition("/")[0]].append((*home, same))
        longer.append((*home, _sign(words.get(low, 0) - words.get(high, 0)) == wanted))
    if not longer:
        return []
    rows = [
        Row("people", f"prefer/{level}", share_of_yes(found[level], f"comparisons of the {level}"))
        for level in LEVELS
        if found[level]
    ]
    everything = [answer for agreed in found.values() for answer in agreed]
    rows.append(Row("people", "prefer", share_of_yes(everything, "comparisons that people decided")))
    longest = share_of_yes(longer, "comparisons in which people prefer the longer story")
    return [*rows, Row("length", "prefer", longest, baseline=True)]


def _sign(value: float) -> int:
    """Which of two means is higher. Means that differ only by rounding are equal."""
    return 0 if abs(value) < _ROUNDING else 1 if value > 0 else -1
