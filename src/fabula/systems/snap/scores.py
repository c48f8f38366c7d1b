"""The scores of candidate plans as a table that a person edits, and that weights are learned from (section 4.4)."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from fabula.base.errors import UnknownNameError, UsageError
from fabula.engine.events import TABLE
from fabula.engine.run import retaken
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.craft.conversation.lines import SubPlan
    from fabula.engine.run import Run

    Matrix: TypeAlias = NDArray[np.float64]

SCORES: Final = "scores"
CRITERIA: Final = ("coherence", "connectivity", "personality")
COLUMNS: Final = ("cell", "plan", *CRITERIA, "sum", "chosen", "steps")
_KNOWN: Final = ("story", *COLUMNS)
_DIGITS: Final = 6  # of a score; what is written is what counts
_WIDE: Final = 200  # characters of a headline that are shown
_MARK: Final = "yes"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A plan's line in a table.

    Attributes:
        where: file and line, for messages.
        scores: coherence, connectivity and personality; none below 0.
        cell: whose plan it is, with its story; empty where the table does not say.
        plan: number of the candidate; 0 where the table does not say.
        steps: headlines of the plan.
        chosen: whether it is marked as chosen.
        agent: of those whose plans a cell has, whose this one is; empty where it has one agent's.
    """

    where: str
    scores: tuple[float, float, float]
    cell: str = ""
    plan: int = 0
    steps: str = ""
    chosen: bool = False
    agent: str = ""

    @property
    def rivals(self) -> tuple[str, str]:
        """What it has in common with the plans that it is chosen among."""
        return (self.cell, self.agent)


async def kept_scores(
    run: Run, plans: Sequence[Sequence[SubPlan]], make: Callable[[Run], Awaitable[str]]
) -> tuple[ScoreRow, ...]:
    """The lines of the plans' table, as it is kept beside the plan: made, or the author's, who may leave plans out.

    Raises:
        UsageError: an edited table cannot be read, or is of other plans.
    """
    place = f"{run.at}/{SCORES}"
    file = f"plan/{slug(place)}.{TABLE}"

    def read(text: str) -> tuple[ScoreRow, ...]:
        return tuple(sorted(read_scores(text, file), key=lambda row: row.plan))

    def checked() -> tuple[ScoreRow, ...]:
        if _are_of(rows, plans):
            return rows
        raise UsageError(
            f"{file} is not a table of the {len(plans)} plans: each line has a plan's number and its "
            "steps as they were written, at least one and none twice. Correct the file, or have the plans scored "
            f"anew: `fabula text retake {place}`."
        )

    given = await run.given(SCORES, folder="plan", suffix=TABLE)
    if given is not None:
        rows = read(given)
    else:  # the calls belong to the plan's own line of work, which goes on from the choice
        # New scores may be drawn for the same plans (`fabula text retake`): such takes are added to those of the plans.
        made = await make(retaken(run, SCORES))

        async def keep(own: Run) -> str:
            del own
            return made

        rows = await run.keep(SCORES, keep, folder="plan", suffix=TABLE, read=read)
    return run.context.unless_made_up(checked, (ScoreRow(file, (0.0, 0.0, 0.0), plan=1),))


def _are_of(rows: Sequence[ScoreRow], plans: Sequence[Sequence[SubPlan]]) -> bool:
    """Whether the lines of a table are some of these plans, each at most once."""
    numbers = [row.plan for row in rows]
    known = all(1 <= row.plan <= len(plans) and row.steps == headlines(plans[row.plan - 1]) for row in rows)
    return bool(rows) and known and len(set(numbers)) == len(numbers)


def min_max(scores: Matrix) -> Matrix:
    """Each column of `scores` (plans x criteria) normalised to 0..1; a column of equal values becomes 0 (ours)."""
    low, high = scores.min(axis=0), scores.max(axis=0)
    spread = high - low
    return (scores - low) / np.where(spread > 0, spread, 1.0)  # type: ignore[no-any-return] # numpy's own types


def headlines(plan: Sequence[SubPlan]) -> str:
    """A plan on one line, by its headlines; it begins with a mark, so no spreadsheet takes it for a formula."""
    return one_line(" ".join(f"#{number}. {step.title[:_WIDE]}" for number, step in enumerate(plan, 1)))


def rounded(scores: Sequence[Sequence[float]]) -> Matrix:
    """Scores as a table holds them (plans x criteria)."""
    return np.array([[round(score, _DIGITS) for score in own] for own in scores], dtype=np.float64)


def write_scores(cell: str, plans: Sequence[Sequence[SubPlan]], scores: Matrix, sums: Sequence[float]) -> str:
    """The table of a cell's candidates as CSV; the first of those with the largest sum is marked as chosen."""
    chosen = int(np.argmax(sums))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, (plan, own, total) in enumerate(zip(plans, scores, sums, strict=True)):
        numbers = (f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") for value in own)
        mark = _MARK if number == chosen else ""
        writer.writerow((cell, number + 1, *numbers, f"{total:.4f}", mark, headlines(plan)))
    return out.getvalue().rstrip("\n")


def read_scores(text: str, name: str) -> tuple[ScoreRow, ...]:
    """The rows of a table in CSV; `name` is what messages call it.

    Columns are those of `COLUMNS` and `story`, in any order; the three scores must be there. Blank lines are skipped.

    Raises:
        UsageError: a line cannot be read; says which, and why.
        UnknownNameError: a column has another name.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise UsageError(f"{name}, line {reader.line_num}: {error}. Correct the line; it is not valid CSV.") from error
    if not lines:
        raise UsageError(f"{name} is empty. Give a table with a line {','.join(CRITERIA)} and one line for each plan.")
    head = [cell.strip().lower() for cell in lines[0][1]]
    _check_columns(head, name)
    if twice := sorted({column for column in head if head.count(column) > 1}):
        raise UsageError(f"{name} has the column {twice[0]!r} twice. Remove one.")
    return tuple(_row_of(line, head, cells, name) for line, cells in lines[1:])


def row_of(where: str, fields: object) -> ScoreRow:
    """A row that is an object of JSON, with the columns of `read_scores` as its fields; `where` it stands.

    Raises:
        UsageError: it cannot be read; says why.
        UnknownNameError: a field has another name.
    """
    if not isinstance(fields, dict):
        raise UsageError(f"{where}: this is not a JSON object. Give one with {', '.join(CRITERIA)}.")
    _check_columns(fields, where)
    return _row(where, fields)


def _check_columns(names: Sequence[str] | Mapping[str, Any], name: str) -> None:
    for column in names:
        if column not in _KNOWN:
            raise UnknownNameError(f"column in {name}:", column, _KNOWN)
    if missing := [column for column in CRITERIA if column not in names]:
        raise UsageError(f"{name} has no column {', '.join(missing)}. Give all of {', '.join(CRITERIA)}.")


def _row_of(line: int, head: Sequence[str], cells: Sequence[str], name: str) -> ScoreRow:
    where = f"{name}, line {line}"
    if len(cells) != len(head):
        raise UsageError(
            f"{where} has {len(cells)} cells under {len(head)} columns. Correct the line; quote its commas."
        )
    return _row(where, dict(zip(head, cells, strict=True)))


def _row(where: str, fields: Mapping[str, Any]) -> ScoreRow:
    coherence, connectivity, personality = (_score(where, name, fields[name]) for name in CRITERIA)
    plan = str(fields.get("plan") or "0").strip()
    if not (plan.isascii() and plan.isdigit() and len(plan) < 8):  # noqa: PLR2004 - no cell has ten million plans
        raise UsageError(f"{where}: plan is {plan!r}. Give the plan's number, or leave it empty.")
    place = "/".join(str(fields[part]).strip() for part in ("story", "cell") if fields.get(part) not in (None, ""))
    return ScoreRow(
        where,
        (coherence, connectivity, personality),
        place,
        int(plan),
        one_line(str(fields.get("steps") or "")),
        chosen=str(fields.get("chosen") or "").strip().lower() in (_MARK, "true"),
    )


def _score(where: str, name: str, value: object) -> float:
    try:
        score = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        score = math.nan
    if not math.isfinite(score) or score < 0:
        raise UsageError(f"{where}: {name} is {value!r}. Give a number of 0 or more, with a point before its decimals.")
    return score
