"""The outcome of a test from its answers, by one rule for `fabula evaluate ttcw` and `fabula lab meta`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabula.measure.ratings import Rating


EVALUATOR: Final = "ttcw"
REFERENCE: Final = "reference:"  # begins the id of a reference among a rating's items


def value_of(orders: Iterable[Sequence[Rating]]) -> float | None:
    """The mean over the orders of the mean label of each; `None` if an order has no readable label."""
    means = []
    for answers in orders:
        values = [float(rating.answer) for rating in answers if isinstance(rating.answer, int | float)]
        if not values:
            return None
        means.append(fmean(values))
    return fmean(means) if means else None


def passed(value: float, *, plain: bool) -> bool:
    """Whether a test is passed: by reference, the mean label is not below 0; plainly, more than half say yes."""
    return value > 0.5 if plain else value >= 0  # noqa: PLR2004 - half of the replies


@dataclass(frozen=True, slots=True)
class TestVerdict:
    """A rater's verdict on one test of one story.

    Attributes:
        test: its id: "fluency/narrative-pacing".
        passed: `None` if an order has no readable answer.
    """

    rater: str
    item: str
    system: str
    prompt: str
    test: str
    passed: bool | None


def outcomes_in(ratings: Sequence[Rating]) -> list[TestVerdict]:
    """The outcome of each test for each story and rater, as in `fabula evaluate ttcw`, from its ratings.

    Ratings without an answer are also needed, because they show which order could not be read.
    """
    found: dict[tuple[str, str, str], dict[tuple[str, ...], list[Rating]]] = {}
    for rating in ratings:
        own = next((item for item in rating.items if not item.startswith(REFERENCE)), "")
        if own and rating.evaluator == EVALUATOR:
            orders = found.setdefault((rating.rater, own, rating.question), {})
            orders.setdefault(rating.items, []).append(rating)
    return [_verdict(*names, orders) for names, orders in found.items()]


def _verdict(rater: str, item: str, test: str, orders: dict[tuple[str, ...], list[Rating]]) -> TestVerdict:
    head = next(iter(orders.values()))[0]
    system = head.systems[head.items.index(item)] if head.systems else ""
    value = value_of(orders.values())
    plain = len(head.items) == 1
    outcome = None if value is None else passed(value, plain=plain)
    return TestVerdict(rater, item, system, head.prompt, test, outcome)
