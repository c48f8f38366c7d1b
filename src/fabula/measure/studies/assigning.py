"""Assignment of tasks to raters: a Latin square with balanced sides and all random draws from one seed.

Agents' Room, section 6.1: nobody rates two tasks with the same prompt, and the display order is random. Rater j gets
pair (i + j) mod P of the P pairs for prompt i. P raters therefore cover every pair of every prompt exactly once. A row
of this square is the most that one rater may see; it can be divided among several raters or repeated with others to
measure agreement.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.measure.studies.study import Design, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.measure.studies.study import Study

    Cell: TypeAlias = tuple[str, tuple[str, ...]]  # a prompt, and the ids of what is shown together

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are easily confused
_NAME: Final = 5


@dataclass(frozen=True, slots=True)
class AssignmentOptions:
    """How to distribute the tasks.

    Attributes:
        raters: the number of raters; by default, as many as needed.
        overlap: the number of raters for each shared task.
        shared: the number of shared tasks; by default, all tasks are shared.
        most: the maximum number of tasks per rater; by default, there is no limit.
        seed: the seed of all random draws.
    """

    raters: int | None = None
    overlap: int = 1
    shared: int | None = None
    most: int | None = None
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Shares:
    """The tasks of all raters, and the time and money that they cost.

    Attributes:
        tasks: the tasks of all raters.
        cells: the number of pairs of texts for the same prompt (or of single texts) that could be rated.
        covered: the number of cells that at least one rater rates.
        shared: the number of cells that several raters rate.
        hours: the total hours of reading and answering for all raters.
        longest: the hours of the rater with the most work.
        cost: the total pay at the form's hourly rate; 0 if nobody is paid.
    """

    tasks: tuple[Task, ...]
    cells: int
    covered: int
    shared: int
    hours: float
    longest: float
    cost: float

    @property
    def raters(self) -> int:
        """How many have tasks."""
        return len({task.rater for task in self.tasks})


def share_out(study: Study, wanted: AssignmentOptions) -> Shares:
    """The distribution of a study's tasks to raters.

    Raises:
        UsageError: there is nothing to compare, or there are not enough tasks for that many raters.
    """
    rows = _rows(study)
    cells = sum(map(len, rows))
    if not cells:
        raise UsageError(
            "There is nothing to rate: no prompt has items from two systems. Add stories that several systems wrote "
            "from the same prompts."
        )
    parts = [part for row in _repeated(rows, wanted) for part in _divided(row, wanted.most)]
    if wanted.raters is not None and wanted.raters > len(parts):
        raise UsageError(
            f"There are only enough tasks for {len(parts)} raters, not {wanted.raters}. Use fewer raters, assign "
            f"several raters to each task with --overlap {wanted.overlap + 1}, or assign fewer tasks to each rater "
            "with --most."
        )
    parts = parts[: wanted.raters]
    tasks = tuple(_tasks(study, parts, wanted.seed))
    counts = Counter((task.prompt, tuple(sorted(task.items))) for task in tasks)
    minutes: defaultdict[str, float] = defaultdict(float)
    for task in tasks:
        minutes[task.rater] += study.minutes(task)
    hours = sum(minutes.values()) / 60
    several = sum(count > 1 for count in counts.values())
    longest = max(minutes.values()) / 60
    return Shares(tasks, cells, len(counts), several, hours, longest, hours * study.form.pay_an_hour)


def design_of(shares: Shares, wanted: AssignmentOptions, made: str, expires: str) -> Design:
    """The record of how tasks were assigned, for the assignments file."""
    return Design(
        seed=wanted.seed,
        overlap=wanted.overlap,
        shared=shares.shared,
        raters=shares.raters,
        made=made,
        expires=expires,
    )


def _rows(study: Study) -> list[list[Cell]]:
    """The rows of the square, each with one cell of every prompt (as far as it has so many)."""
    by_prompt: defaultdict[str, list[str]] = defaultdict(list)
    for entry in study.entries.values():
        by_prompt[entry.prompt].append(entry.id)
    if study.form.kind in ("findings", "comments"):  # several of one story say more to a rater who knows it
        return [[(prompt, (item,)) for prompt, items in by_prompt.items() for item in items]]
    cells = {prompt: _cells(study, prompt, items) for prompt, items in by_prompt.items()}
    depth = max(map(len, cells.values()), default=0)
    return [
        [found[(i + j) % len(found)] for i, found in enumerate(cells.values()) if j < len(found)] for j in range(depth)
    ]


def _cells(study: Study, prompt: str, items: Sequence[str]) -> list[Cell]:
    """All pairs of items of two systems; of a study of single texts the items."""
    if not study.form.two_sided:
        return [(prompt, (item,)) for item in items]
    systems: Mapping[str, str] = {item: study.entries[item].system or item for item in items}
    return [(prompt, (one, other)) for one, other in combinations(items, 2) if systems[one] != systems[other]]


def _repeated(rows: Sequence[list[Cell]], wanted: AssignmentOptions) -> Iterator[list[Cell]]:
    """Each row, and after it what other raters get of it again, so that shared cells have as many raters as wanted.

    Fewer raters than it takes for all do so fewer rows, and those as often as was wanted.
    """
    left = sum(map(len, rows)) if wanted.shared is None else wanted.shared
    for row in rows:
        again = row[:left]
        left -= len(again)
        yield row
        for _ in range(wanted.overlap - 1 if again else 0):
            yield again


def _divided(row: list[Cell], most: int | None) -> Iterator[list[Cell]]:
    """A row in parts of equal size, none of them too long for one rater."""
    parts = -(-len(row) // (most or max(len(row), 1)))
    for part in range(parts):
        yield row[part::parts]


def _tasks(study: Study, parts: Sequence[list[Cell]], seed: int) -> Iterator[Task]:
    """The tasks of each rater in a drawn order; of each two systems' texts either stands left in half of the tasks."""
    rng = random.Random(f"{seed}/study")  # noqa: S311 - draws that can be made again are wanted, not secrets
    sides = _sides(study, parts, rng)
    names = _names(len(parts), seed)
    for number, part in enumerate(parts):
        order = list(range(len(part)))
        rng.shuffle(order)
        for place, at in enumerate(order):
            prompt, items = part[at]
            shown = items[::-1] if sides[number, at] else items
            key = sha256(f"{seed}/{names[number]}/{place}".encode()).hexdigest()[:12]
            yield Task(rater=names[number], key=key, place=place, prompt=prompt, items=shown)


def _sides(study: Study, parts: Sequence[list[Cell]], rng: random.Random) -> dict[tuple[int, int], bool]:
    """Which tasks are shown the other way round: half of those of each two systems; raters of one cell take turns."""
    found: dict[tuple[int, int], bool] = {}
    places = [(number, at) for number, part in enumerate(parts) for at in range(len(part))]
    rng.shuffle(places)
    cells: dict[Cell, bool] = {}
    pairs: dict[tuple[str, ...], bool] = {}
    for number, at in places:
        cell = parts[number][at]
        pair = tuple(study.entries[item].system for item in cell[1])
        before = cells.get(cell, pairs.get(pair, rng.random() < 0.5))  # noqa: PLR2004 - a coin
        if cell not in cells:
            pairs[pair] = not before
        found[number, at] = cells[cell] = not before
    return found


def _names(count: int, seed: int) -> list[str]:
    """Numbers of raters that say nothing of who they are, nor of their tasks."""
    found: dict[str, None] = {}
    at = 0
    while len(found) < count:
        digest = sha256(f"{seed}/rater/{at}".encode()).digest()
        found["".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_NAME])] = None
        at += 1
    return list(found)
