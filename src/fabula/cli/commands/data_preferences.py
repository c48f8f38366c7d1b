"""`fabula data preferences`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, get_args

import typer

from fabula.app.preferences import FEW, HOW, check_folder, gather, write_pairs
from fabula.base.errors import UnknownNameError, UsageError
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.measure.report.page import estimate_cells
from fabula.training.pairs import LESSONS, Lesson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.preferences import Gathered
    from fabula.training.pairs import Teaching

_KINDS: Final = {
    "edit": "edit",
    "rewrite": "rewritten passage",
    "retake": "retake",
    "note": "note",
    "approval": "approval",
    "candidates": "candidate",
    "ratings": "rating",
}


@bundled
def preferences(
    common: Common,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Projects.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the pairs.")],
    *,
    leave_out: Annotated[
        str, typer.Option(metavar="length,position,near", help="Leave out pairs that teach only this.")
    ] = "",
    development: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of texts whose pairs stand aside to be measured with.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of that choice.")] = 0,
) -> None:
    """Make pairs of texts, a preferred one and another, from what you did with the texts of your projects."""
    terminal, folder, lessons = terminal_of(common), Path(out), lessons_of(leave_out)
    check_folder(folder)
    gathered = gather(
        [Path(source) for source in sources], lessons, lambda name: terminal.advise(f"Reading {name} ...")
    )
    if not gathered.pairs:
        raise UsageError(_nothing(gathered))
    card = write_pairs(
        folder, gathered, {"command": "fabula data preferences", "leave_out": list(lessons)}, development, seed
    )
    terminal.say(_rendered(gathered, folder, lessons))
    for name in gathered.empty:
        terminal.message(f"{name} gave no pair. {HOW}")
    if len(gathered.pairs) < FEW:
        terminal.message(f"These are few: training needs {FEW} pairs at least, and learns something from hundreds.")
    terminal.advise(f"Next: `fabula train dpo {near(folder)} --base MODEL --out DIR`.")
    terminal.document({"out": str(folder), **card.counts})


def lessons_of(named: str) -> tuple[Lesson, ...]:
    """The lessons that are named, with commas between them.

    Raises:
        UnknownNameError: there is no such lesson.
    """
    asked = [name.strip() for name in named.split(",") if name.strip()]
    for name in asked:
        if name not in LESSONS:
            raise UnknownNameError("lesson", name, LESSONS)
    return tuple(lesson for lesson in get_args(Lesson) if lesson in asked)


def _nothing(gathered: Gathered) -> str:
    """What to say where there is no pair."""
    if not gathered.left_out:
        return f"There is no decision that gives a pair. {HOW}"
    reasons = "; ".join(f"{reason} ({n})" for reason, n in gathered.counts["left_out"].items())
    return f"No pair is left: {reasons}. {HOW}"


def _rendered(gathered: Gathered, folder: Path, lessons: Sequence[Lesson]) -> str:
    """What was found, as a person reads it."""
    counts = gathered.counts
    kinds = ", ".join(counted(n, _KINDS.get(kind, kind)) for kind, n in counts["kinds"].items())
    lines = [f"{counted(counts['pairs'], 'pair')} of {counted(counts['groups'], 'text')} in {near(folder)}: {kinds}."]
    if counts["left_out"]:
        lines += ["", "Left out, with the reason (left-out.jsonl):"]
        lines += [f"  {n:>4}  {reason}" for reason, n in counts["left_out"].items()]
    lines += ["", *_teaching(gathered.teaching)]
    if gathered.teaching.only and not set(gathered.teaching.only) <= set(lessons):
        said = " and ".join(gathered.teaching.only)
        lines += [
            "",
            f"These pairs may teach {said} alone. `--leave-out {','.join(gathered.teaching.only)}` balances them.",
        ]
    return "\n".join(lines)


def _teaching(teaching: Teaching) -> list[str]:
    rows = [("what trivial rules say", "value", "95 % interval", "n")]
    rows.append(("chosen text: words more", *estimate_cells(teaching.words)))
    rows += [(f"decided by {name!r}", *estimate_cells(share)) for name, share in teaching.rules.items()]
    rows.append(("chosen text seen first by a judge", *estimate_cells(teaching.first)))
    rows.append(("texts that hardly differ", str(teaching.near), "", str(teaching.pairs)))
    return [table(rows, right=(1, 3))]
