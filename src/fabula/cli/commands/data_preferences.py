"""`fabula data preferences`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.preferences import HOW, check_folder, gather, ratings_at, write_pairs
from fabula.app.rated_pairs import PairOptions
from fabula.base.errors import UnknownNameError, UsageError
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.stats.estimate import estimate_cells
from fabula.training.examples import LEAST
from fabula.training.pairs import LESSONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.preferences import Gathered
    from fabula.training.pairs import Lesson, Teaching

_KINDS: Final = {
    "edit": "edit",
    "rewrite": "rewritten passage",
    "retake": "retake",
    "note": "note",
    "refused": "refused edit",
    "approval": "approval",
    "candidates": "choice of a judge",
    "ratings": "rated pair",
}
_RATED: Final = "Ratings"


@dataclass(frozen=True, slots=True)
class Rated:
    """Which ratings to use, and which stories they rate."""

    stories: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="The rated stories. Repeatable.", rich_help_panel=_RATED),
    ] = None
    question: Annotated[
        str, typer.Option(metavar="NAME", help="Use only this question; default: all.", rich_help_panel=_RATED)
    ] = ""
    margin: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Minimum lead in the share of votes for a pair.", rich_help_panel=_RATED),
    ] = 0.0
    preset: Annotated[
        Literal["faithful", "improved"],
        typer.Option(help="Preset of end-to-end whose prompt produced the rated stories.", rich_help_panel=_RATED),
    ] = "improved"


@bundled
def preferences(
    common: Output,
    rated: Rated,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Projects, and ratings.jsonl files.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the pairs.")],
    *,
    leave_out: Annotated[
        str, typer.Option(metavar="length,position,near", help="Leave out pairs that teach only this property.")
    ] = "",
    development: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of texts whose pairs are reserved for measurement.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of this choice.")] = 0,
) -> None:
    """Make preference pairs from your decisions in projects and from ratings."""
    terminal, folder, lessons = terminal_of(common), Path(out), lessons_of(leave_out)
    check_folder(folder)
    wanted = PairOptions(rated.question, rated.margin, rated.preset)
    stories = [Path(story) for story in rated.stories or ()]
    places = [Path(source) for source in sources]
    if not any(ratings_at(place) for place in places):
        refuse("no ratings are among the sources", rated)
    gathered = asyncio.run(
        gather(places, lessons, stories, wanted, lambda name: terminal.advise(f"Reading {name} ..."))
    )
    if not gathered.pairs:
        raise UsageError(_nothing(gathered))
    made = {"command": "fabula data preferences", "leave_out": list(lessons)}
    card = write_pairs(folder, gathered, made, development, seed)
    terminal.say(_rendered(gathered, card.counts, folder, lessons))
    for name in gathered.empty:
        terminal.message(f"{name} gave no pair. {HOW}")
    if len(gathered.pairs) < LEAST:
        terminal.message(
            f"This is a small number of pairs. Training needs at least {LEAST}, and useful learning "
            "starts with hundreds."
        )
    else:
        terminal.advise(f"Next: `fabula train {near(folder)} --base MODEL --out DIR`.")
    terminal.document({"out": str(folder), **card.counts})


def lessons_of(named: str) -> tuple[Lesson, ...]:
    """Return the lessons in a comma-separated list.

    Raises:
        UnknownNameError: a lesson does not exist.
    """
    asked = [name.strip() for name in named.split(",") if name.strip()]
    for name in asked:
        if name not in LESSONS:
            raise UnknownNameError("lesson", name, LESSONS)
    return tuple(lesson for lesson in LESSONS if lesson in asked)


def _nothing(gathered: Gathered) -> str:
    """The message if there is no pair."""
    if not gathered.left_out:
        return f"No decision gives a pair. {HOW}"
    reasons = "; ".join(f"{reason} ({n})" for reason, n in gathered.counts["left_out"].items())
    return f"No pair is left: {reasons}. {HOW}"


def _rendered(gathered: Gathered, counts: Mapping[str, Any], folder: Path, lessons: Sequence[Lesson]) -> str:
    """The result, as a person reads it."""
    teaching = gathered.teaching
    kinds = ", ".join(_of_kind(kind, n) for kind, n in counts["kinds"].items())
    lines = [f"{counted(counts['pairs'], 'pair')} of {counted(counts['groups'], 'text')} in {near(folder)}: {kinds}."]
    lines.append(f"{counts['train']:,} for training, {counts['development']:,} for measurement.")
    if counts["left_out"]:
        lines += ["", "Left out, with the reason (left-out.jsonl):"]
        lines += [f"  {n:>4}  {reason}" for reason, n in counts["left_out"].items()]
    lines += ["", _teaching(teaching)]
    if more := [lesson for lesson in teaching.only if lesson not in lessons]:
        named = ",".join(more)
        lines += ["", f"These pairs may teach only {' and '.join(more)}. To balance them, use `--leave-out {named}`."]
    return "\n".join(lines)


def _of_kind(kind: str, n: int) -> str:
    return counted(n, "choice of a judge", "choices of a judge") if kind == "candidates" else counted(n, _KINDS[kind])


def _teaching(teaching: Teaching) -> str:
    rows = [("what rules that read nothing say", "value", "95 % interval", "n")]
    rows.append(("chosen text: words more", *estimate_cells(teaching.words)))
    rows += [(f"the rule '{name}' is right", *estimate_cells(share)) for name, share in teaching.rules.items()]
    rows.append(("a judge saw the chosen one first", *estimate_cells(teaching.first)))
    rows.append(("texts that hardly differ", str(teaching.near), "", str(teaching.pairs)))
    return table(rows, right=(1, 3))
