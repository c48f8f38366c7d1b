"""The report on the outcomes of tests: tests, dimensions, scores, systems, and notes for the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.measuring import difference_rows, mean_rows, prompt_of, share_of_yes, stories_data
from fabula.craft.trivial import order_rows
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.shares import wilson
from fabula.story import slug

if TYPE_CHECKING:
    from fabula.evaluators.ttcw.bank import Bank, CreativityTest
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


SCORE: Final = "score"
OWN_WORDING: Final = (
    "The questions are fabula's own wording of the fourteen tests, not the published one, so no score of the paper is "
    "comparable. `fabula lab reproduce --fetch ttcw-tests` fetches the published tests, and --tests FILE uses them."
)
_LEAST_CONSISTENT: Final = 0.5  # the report warns of a judge whose order consistency is below this


@dataclass(frozen=True, slots=True)
class Result:
    """A test's outcome for a story.

    Attributes:
        value: by reference, the mean of the labels from the story's side, -2 to 2; plainly, the share of replies that
            say yes; `None` if there is none.
        passed: whether the test is passed; `None` if there is no value.
        reason: why there is no value.
        ratings: all answers.
    """

    item: Item
    test: CreativityTest
    by_reference: bool
    value: float | None
    passed: bool | None
    reason: str
    ratings: tuple[Rating, ...]

    @property
    def answered(self) -> int:
        """The number of answers that could be read."""
        return sum(rating.answer is not None for rating in self.ratings)


def report_of(
    items: Sequence[Item],
    bank: Bank,
    results: Sequence[Result],
    passes: Mapping[str, tuple[int | None, Mapping[str, int | None]]],
    how: Mapping[str, Any],
) -> Report:
    """The report on all stories; `passes` holds each story's score and its passed tests by dimension."""
    of_item = {item.id: [result for result in results if result.item.id == item.id] for item in items}
    scores = {name: score for name, (score, _) in passes.items() if score is not None}
    sides = _side_rows(results)
    rows = [row for name, found in of_item.items() for row in _story_rows(found, *passes[name])]
    measured = {SCORE: [_score(scores, item) for item in items]}
    apart, said = difference_rows(items, measured, float(len(bank.tests)))
    if len(items) > 1 and any(item.system for item in items):
        rows += mean_rows(items, measured, (0.0, float(len(bank.tests))), called="")
    rows += apart + sides
    rows += _baseline_rows(items, scores, len(bank.tests))
    return Report(
        "ttcw",
        how,
        tuple(rows),
        tuple(rating for result in results for rating in result.ratings),
        (*_notes(items, results, sides, how), *said),
        {
            "tests": [
                {"id": test.id, "dimension": test.dimension, "name": test.name, "question": test.question}
                for test in bank.tests
            ],
            "stories": stories_data(items),
        },
    )


def _story_rows(found: Sequence[Result], score: int | None, by_dimension: Mapping[str, int | None]) -> list[Row]:
    """Score, dimensions and single tests of one story."""
    name = found[0].item.id
    rows = [Row(name, SCORE, _passes(found, score))]
    for dimension, passed in by_dimension.items():
        theirs = [result for result in found if slug(result.test.dimension) == dimension]
        rows.append(Row(name, dimension, _passes(theirs, passed)))
    for result in found:
        rows.append(Row(name, f"passed/{result.test.id}", _passed(result)))
        if result.by_reference:
            rows.append(Row(name, f"mean/{result.test.id}", _mean(result)))
    return rows


def _passes(found: Sequence[Result], passed: int | None) -> Scored:
    """The number of passed tests, with an interval; n is the number of tests with an outcome.

    The interval is Wilson's for a share, times n. It shows how far the number may differ from that of many such tests.
    """
    lost = sum(result.passed is None for result in found)
    n = len(found) - lost
    if passed is None:
        return Unscored(f"none of {len(found)} tests has an answer that can be read")
    low, high = wilson(passed, n)
    method = f"tests passed of {len(found)}, Wilson interval over tests"
    if lost:
        method += f"; {lost} could not be read and count as not passed"
    return Estimate(passed, n, low * n, high * n, method)


def _passed(result: Result) -> Scored:
    if result.passed is None:
        return Unscored(result.reason, result.answered)
    rule = "mean of labels >= 0" if result.by_reference else "more than half of the answers say yes"
    return Estimate(float(result.passed), result.answered, method=f"1 where passed: {rule}")


def _mean(result: Result) -> Scored:
    if result.value is None:
        return Unscored(result.reason, result.answered)
    method = "mean of labels -2 to 2 from the story's side; above 0 the story is better than its reference"
    return Estimate(result.value, result.answered, method=method)


def _side_rows(results: Sequence[Result]) -> list[Row]:
    """How far labels depend on position; empty if no test was asked by reference.

    The rows are the share of labels for the story shown first, and the share of tests that both orders decide alike.
    """
    orders = [(result.item, _by_order(result)) for result in results if result.by_reference]
    if not orders:
        return []
    decided = [
        (prompt_of(item), item.id, (value > 0) == story_first)
        for item, found in orders
        for story_first, value in found.items()
        if value
    ]
    both = [(item, found[True], found[False]) for item, found in orders if len(found) == 2]  # noqa: PLR2004 - both orders
    agree = [(prompt_of(item), item.id, (a > 0, a < 0) == (b > 0, b < 0)) for item, a, b in both]
    first = share_of_yes(decided, "labels for the story shown first, of those that are no tie")
    kept = share_of_yes(agree, "tests in which both orders favour the same story")
    return [Row("all", "first position", first), Row("all", "order consistency", kept)]


def _score(scores: Mapping[str, int], item: Item) -> Scored:
    if item.id not in scores:
        return Unscored("no test has an answer that can be read")
    return Estimate(scores[item.id], 1, method="tests passed")


def _by_order(result: Result) -> dict[bool, float]:
    """The mean label, from the story's side, of each order that has labels: story first or reference first."""
    found: dict[bool, list[float]] = {}
    for rating in result.ratings:
        if isinstance(rating.answer, int | float):
            found.setdefault(rating.items[0] == result.item.id, []).append(float(rating.answer))
    return {candidate_first: fmean(values) for candidate_first, values in found.items()}


def _baseline_rows(items: Sequence[Item], scores: Mapping[str, int], tests: int) -> list[Row]:
    """Baselines: a judge that always says the same, and measures that read nothing; empty for a single story.

    Only people's verdicts show whether the judge beats them: `fabula lab meta`.
    """
    if len(items) < 2:  # noqa: PLR2004 - one story is in no order
        return []
    method = (
        f"tests passed of {tests} by any story, where every plain answer is yes and every label a tie "
        "(in both orders, any one label)"
    )
    constant = Row("all", "constant", Estimate(tests, tests, method=method), baseline=True)
    return [constant, *order_rows(items, scores, SCORE)]


def _notes(items: Sequence[Item], results: Sequence[Result], sides: Sequence[Row], how: Mapping[str, Any]) -> list[str]:
    notes = [OWN_WORDING] if str(how["tests"]).startswith("own-") else []
    lost = [result for result in results if result.passed is None]
    if lost:
        stories = len({result.item.id for result in lost})
        notes.append(
            f"{len(lost)} of {len(results)} tests (in {stories} of {len(items)} stories) have no outcome, because an "
            "answer could not be read. They count as not passed, and n counts those with one."
        )
    kept = next((row.scored for row in sides if row.what == "order consistency"), None)
    if isinstance(kept, Estimate) and kept.value < _LEAST_CONSISTENT:
        notes.append(
            f"In {1 - kept.value:.0%} of the tests the judge changed its mind when the stories were swapped. Such a "
            "test has a mean near 0 and is passed by the paper's rule: a judge that always says the same label passes "
            "all of them. Use a stronger judge."
        )
    if len(items) == 1:
        notes.append("There is only one story. Compare its score with those of other stories judged in the same way.")
    return notes
