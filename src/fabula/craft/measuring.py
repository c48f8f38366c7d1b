"""From measures of single stories to rows of a report, and to the means of their systems: what all measures share."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.engine.methods import values_of
from fabula.measure.report import DIFFERENCE, Report, Row
from fabula.stats.differences import MOST, as_said, differences
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import mean_of, share_among

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

    Limits: TypeAlias = tuple[float, float]

ALL: Final = "all"
MEAN: Final = "mean/"
_PAIR: Final = 2
_NAMED: Final = 4  # measures of one note
_REASONS: Final = 2  # why stories have no number, of one mean


def checked(items: Sequence[Item]) -> None:
    """Check that there are stories, and that each has its own id.

    Raises:
        UsageError: there is none, or two have one id.
    """
    if not items:
        raise UsageError("There are no stories to measure. Give at least one.")
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise UsageError(f"Two stories have the id {twice[0]!r}. Give each story its own id.")


def check_numbers(config: object, *, from_1: Sequence[str] = (), from_0: Sequence[str] = ()) -> None:
    """Find numbers of a `Config` that are out of range before anything is asked.

    Raises:
        UsageError: a setting in `from_1` is below 1, or one in `from_0` below 0.
    """
    values = values_of(config)
    for name in from_1:
        if values[name] is not None and values[name] < 1:
            raise UsageError(f"{name} = {values[name]} is too few. Give 1 or more.")
    for name in from_0:
        if values[name] < 0:
            raise UsageError(f"{name} = {values[name]} is below 0. Give 0 or more.")


def check_samples(samples: int, temperature: float) -> None:
    """Check that several samples can differ.

    Raises:
        UsageError: they would all be the same.
    """
    if samples > 1 and not temperature:
        raise UsageError(
            f"{samples} samples at temperature 0 would all be the same. Give --set temperature=1 with them."
        )


def by_system(items: Sequence[Item]) -> dict[str, list[int]]:
    """The indices of each system's stories, systems in the order met; "all" where no system is known."""
    found: dict[str, list[int]] = {}
    known = any(item.system for item in items)
    for index, item in enumerate(items):
        found.setdefault(item.system or ("no system named" if known else ALL), []).append(index)
    return found


def prompt_of(item: Item) -> str:
    """What an interval is by: the story's prompt, or the story itself where that is not known."""
    return f"prompt {item.prompt}" if item.prompt else f"story {item.id}"


def story_rows(items: Sequence[Item], measured: Mapping[str, Sequence[Scored]]) -> list[Row]:
    """A row for every story and measure; `measured` has one number a story under each measure's name."""
    return [Row(item.id, what, scored[index]) for index, item in enumerate(items) for what, scored in measured.items()]


def mean_rows(
    items: Sequence[Item],
    measured: Mapping[str, Sequence[Scored]],
    limits: Limits | Callable[[str], Limits] = (0.0, math.inf),
    called: str = MEAN,
) -> list[Row]:
    """A row "mean/MEASURE" (or as `called`) for every system: the mean over its stories, with its interval by prompt.

    Stories that are not scored stay out of the mean, and its method counts them. No measure is outside the
    limits, which may be those of each.
    """
    return [
        Row(
            system,
            called + what,
            _mean(items, [(i, scored[i]) for i in members], limits(what) if callable(limits) else limits),
        )
        for system, members in by_system(items).items()
        for what, scored in measured.items()
    ]


def _mean(items: Sequence[Item], members: Sequence[tuple[int, Scored]], limits: Limits) -> Scored:
    there = [(index, scored) for index, scored in members if isinstance(scored, Estimate)]
    missing = [scored.reason for _, scored in members if isinstance(scored, Unscored)]
    if not there:
        reasons = Counter(missing).most_common()
        shown = "; ".join(f"{reason} ({count} stories)" for reason, count in reasons[:_REASONS])
        return Unscored(f"{shown}; ..." if len(reasons) > _REASONS else shown, 0)
    what = there[0][1].method
    method = f"mean over {len(there)} stories" + (f", {len(missing)} not scored" if missing else "")
    return mean_of(
        [scored.value for _, scored in there],
        [prompt_of(items[index]) for index, _ in there],
        method=f"{method}: {what}",
        limits=limits,
    )


def difference_rows(
    items: Sequence[Item], measured: Mapping[str, Sequence[Scored]], most: float = math.inf
) -> tuple[list[Row], list[str]]:
    """A row "ONE - OTHER", "difference/MEASURE" for every two systems, and which are shown to differ.

    Paired by prompt, and corrected for how many pairs of systems and measures there are. No difference is larger than
    `most`.
    """
    systems = {name: members for name, members in by_system(items).items() if any(item.system for item in items)}
    if len(systems) < _PAIR:
        return [], []
    if len(systems) > MOST:
        return [], [f"Differences are left out: {len(systems)} systems are more than {MOST}."]
    rows, said, tested = [], [], False
    for what, scored in measured.items():
        values: dict[str, dict[str, list[float]]] = {name: {} for name in systems}
        for name, members in systems.items():
            for index in members:
                if isinstance(one := scored[index], Estimate):
                    values[name].setdefault(prompt_of(items[index]), []).append(one.value)
        found = differences(values, what, most, len(measured))
        tested |= any(one.tested for one in found)
        rows += [Row(one.of, DIFFERENCE + what, one.scored) for one in found]
        said += [as_said(found, what)] if any(one.shown for one in found) else []
    if tested and not said:
        said.append("No difference between two systems is shown on any measure.")
    return rows, said


def measured_report(
    evaluator: str,
    how: Mapping[str, Any],
    items: Sequence[Item],
    measured: Mapping[str, Sequence[Scored]],
    limits: Limits | Callable[[str], Limits],
    *,
    most: float = math.inf,
    rows: Sequence[Row] = (),
    beside: Sequence[Row] = (),
    ratings: Sequence[Rating] = (),
    notes: Sequence[str] = (),
) -> Report:
    """The report on numbers of stories: of each, of each system, between systems, and what has no number.

    Args:
        evaluator: whose report it is.
        how: the numbers were made.
        items: the stories.
        measured: one number a story under each measure's name.
        limits: of means, as for `mean_rows`.
        most: that a difference can be.
        rows: what else is known of systems.
        beside: baselines.
        ratings: behind the numbers.
        notes: what else a reader must know.
    """
    apart, said = difference_rows(items, measured, most)
    numbers = (*story_rows(items, measured), *mean_rows(items, measured, limits), *rows, *apart, *beside)
    said = [*unscored_note(measured), *notes, *said]
    return Report(evaluator, how, numbers, tuple(ratings), tuple(said), {"stories": stories_data(items)})


def share_of_yes(answers: Iterable[tuple[Hashable, ...]], what: str) -> Scored:
    """The share of a yes among answers; each stands behind what it belongs to, its prompt or its story, or both.

    Args:
        answers: for instance ("lamp", True).
        what: what was answered, for the method.
    """
    *groups, said = zip(*answers, strict=True) if (answers := list(answers)) else ((),)
    if not said:
        return Unscored(f"there are no {what}")
    return share_among([float(bool(one)) for one in said], *groups, method=f"share of {what}")


def unscored_note(measured: Mapping[str, Sequence[Scored]]) -> tuple[str, ...]:
    """How many stories have no number and why; measures that lack it alike share a note."""
    alike: dict[tuple[int, int, str], list[str]] = {}
    for what, scored in measured.items():
        missing = Counter(one.reason for one in scored if isinstance(one, Unscored)).most_common()
        if len(missing) > _PAIR:  # a reason for each story, as of replies that could not be read
            missing = [(f"{len(missing)} reasons; most often: {missing[0][0]}", sum(count for _, count in missing))]
        for why, count in missing:
            alike.setdefault((count, len(scored), why), []).append(what)
    return tuple(f"{_listed(names)}: {count} of {of} not scored ({why})." for (count, of, why), names in alike.items())


def lost_note(reasons: Iterable[str], of: int, what: str) -> list[str]:
    """How many of so many calls gave nothing, and why most often; empty reasons are of calls that did."""
    found = Counter(filter(None, reasons)).most_common()
    lost = sum(count for _, count in found)
    return [f"{lost} of {of} {what}; most often: {found[0][0]}"] if found else []


def stories_data(items: Sequence[Item]) -> list[dict[str, Any]]:
    """What a report says of each story, for JSON."""
    return [{"id": item.id, "system": item.system, "prompt": item.prompt, "words": item.story.words} for item in items]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
