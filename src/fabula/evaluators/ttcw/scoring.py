"""From the outcomes of single tests to a report: tests, dimensions, scores, systems, and what a reader must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.evaluators.ttcw.asking import AGAIN, EVALUATOR
from fabula.evaluators.ttcw.trivial import baseline_rows
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.shares import wilson
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.evaluators.ttcw.asking import Result
    from fabula.evaluators.ttcw.bank import Bank
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored

SCORE: Final = "score"
_MOST_LOST: Final = 0.5  # a judge that changes its mind with the side more often than this is not to be trusted


def report_of(items: Sequence[Item], bank: Bank, results: Sequence[Result], how: Mapping[str, Any]) -> Report:
    """The report on all stories."""
    of_item = {item.id: [result for result in results if result.item.id == item.id] for item in items}
    rows = [row for found in of_item.values() for row in _story_rows(found, bank)]
    scores = {name: sum(bool(result.passed) for result in found) for name, found in of_item.items() if _any(found)}
    resamples = int(how["resamples"])
    rows += _system_rows(items, scores, resamples)
    rows += _side_rows(results)
    rows += baseline_rows(items, scores, len(bank.tests), resamples)
    return Report(
        EVALUATOR,
        how,
        tuple(rows),
        tuple(rating for result in results for rating in result.ratings),
        tuple(_notes(items, results, how)),
        {
            "tests": [
                {"id": test.id, "dimension": test.dimension, "name": test.name, "question": test.question}
                for test in bank.tests
            ],
            "stories": [{"id": item.id, "system": item.system, "prompt": item.prompt} for item in items],
        },
    )


def _any(found: Sequence[Result]) -> bool:
    return any(result.passed is not None for result in found)


def _story_rows(found: Sequence[Result], bank: Bank) -> list[Row]:
    """Score, dimensions and single tests of one story."""
    name = found[0].item.id
    parts = {part: [r for r in found if slug(r.test.dimension) == part] for part in bank.dimensions}
    rows = [Row(name, SCORE, passes(found)), *(Row(name, part, passes(theirs)) for part, theirs in parts.items())]
    for result in found:
        rows.append(Row(name, f"passed/{result.test.id}", _passed(result)))
        if result.by_reference:
            rows.append(Row(name, f"mean/{result.test.id}", _mean(result)))
    return rows


def passes(found: Sequence[Result]) -> Scored:
    """How many tests are passed, of those that have an outcome; n is how many have one.

    The interval is Wilson's for a share, times n: how far the number may lie from that of many tests of this kind.
    """
    lost = sum(result.passed is None for result in found)
    n = len(found) - lost
    if not n:
        return Unscored(f"none of {len(found)} tests has an answer that can be read")
    passed = sum(bool(result.passed) for result in found)
    low, high = wilson(passed, n)
    told = f"tests passed of {len(found)}, Wilson interval over tests"
    if lost:
        told += f"; {lost} could not be read and count as not passed"
    return Estimate(passed, n, low * n, high * n, told)


def _passed(result: Result) -> Scored:
    if result.passed is None:
        return Unscored(result.reason, result.answered)
    rule = "order-corrected mean >= 0" if result.by_reference else "more than half of the answers say yes"
    return Estimate(float(result.passed), result.answered, method=f"1 where passed: {rule}")


def _mean(result: Result) -> Scored:
    if result.value is None:
        return Unscored(result.reason, result.answered)
    method = "mean of labels -2 to 2, corrected for order; above 0 the story is better than its reference"
    return Estimate(result.value, result.answered, method=method)


def _system_rows(items: Sequence[Item], scores: Mapping[str, int], resamples: int) -> list[Row]:
    """The mean score of each system, over its stories."""
    rows = []
    systems = dict.fromkeys(item.system for item in items if item.system)
    for system in systems if len(items) > 1 else ():
        theirs = [item for item in items if item.system == system and item.id in scores]
        method = f"mean tests passed over {len(theirs)} stories, bootstrap by prompt, {resamples} resamples"
        prompts = [item.prompt or item.id for item in theirs]
        values = [float(scores[item.id]) for item in theirs]
        rows.append(Row(system, SCORE, bootstrap_mean(values, prompts, resamples=resamples, method=method)))
    return rows


def _side_rows(results: Sequence[Result]) -> list[Row]:
    """How the judge's labels depend on the side: the share of verdicts for what was shown first, and of kept minds."""
    labels = [_first_shown(result) for result in results if result.by_reference]
    decided = [value for pair in labels for value in pair.values() if value]
    both = [pair for pair in labels if len(pair) == 2]  # noqa: PLR2004 - both orders
    if not labels:
        return []
    agree = sum(_sign(pair["candidate-first"]) == -_sign(pair["reference-first"]) for pair in both)
    return [
        Row(
            "all",
            "first position",
            _share(
                sum(v > 0 for v in decided), len(decided), "labels for the story shown first, of those that are no tie"
            ),
        ),
        Row("all", "order consistency", _share(agree, len(both), "tests in which both orders favour the same story")),
    ]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _first_shown(result: Result) -> dict[str, float]:
    """Of each order that has labels: how much better what was shown first is by their mean."""
    found: dict[str, list[float]] = {}
    for rating in result.ratings:
        if isinstance(rating.answer, int | float):
            first = rating.items[0] == result.item.id
            place = "candidate-first" if first else "reference-first"
            found.setdefault(place, []).append(float(rating.answer) if first else -float(rating.answer))
    return {place: sum(values) / len(values) for place, values in found.items()}


def _share(hits: int, n: int, what: str) -> Scored:
    if not n:
        return Unscored(f"there are no {what}")
    low, high = wilson(hits, n)
    return Estimate(hits / n, n, low, high, f"share of {what}, Wilson interval")


def _notes(items: Sequence[Item], results: Sequence[Result], how: Mapping[str, Any]) -> list[str]:
    notes = []
    lost = [result for result in results if result.passed is None]
    if lost:
        stories = len({result.item.id for result in lost})
        notes.append(
            f"{len(lost)} of {len(results)} tests (in {stories} of {len(items)} stories) have no outcome, because an "
            "answer could not be read. They count as not passed; n says how many had one."
        )
    answers = [rating for result in results for rating in result.ratings]
    guessed = sum(rating.answer is not None and rating.call.endswith(AGAIN) for rating in answers)
    if guessed:
        notes.append(
            f"{guessed} of {len(answers)} answers held no verdict, and the judge was asked what they amount to. Where "
            "this is often so, the judge is too weak for these tests, and its score says little. Take a stronger one."
        )
    sides = {row.what: row.scored for row in _side_rows(results)}
    kept = sides.get("order consistency")
    if isinstance(kept, Estimate) and kept.value < _MOST_LOST:
        notes.append(
            f"In {1 - kept.value:.0%} of the tests the judge changed its mind when the stories changed places. Such a "
            "test has a mean near 0 and is passed by the paper's rule: a judge that always says the same label passes "
            "all of them. Take a stronger judge."
        )
    if how["method"] != "plain" and how["orders"] != "both":
        notes.append("Each test was asked in one order only, so a liking of the judge for one side is in the numbers.")
    if len(items) == 1:
        notes.append("One story: compare its score with those of others that were judged in the same way, not alone.")
    return notes
