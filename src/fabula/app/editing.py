"""What authors see of their own work: what a run would rewrite, what the last run changed, and who wrote what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from fabula.app.deciding import authored
from fabula.story.comparing import Piece, compare, word_pieces

if TYPE_CHECKING:
    from fabula.app.bills import Estimate
    from fabula.app.workspace import ArtefactVersion
    from fabula.engine.dry_run import PlannedCall
    from fabula.engine.journal import Journal


_PAUSE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class WrittenAgain:
    """A text that a run would write or rewrite, and the expected cost.

    Attributes:
        name: the name of the artefact; empty for calls that belong to no text.
        file: its file in the project; empty if there is none yet.
        calls: how many calls are made for it.
        tokens: the tokens of prompts and replies.
        cost: the cost in US dollars; `None` if a price is unknown.
        follows: whether it is assembled from other texts without calling a model.
    """

    name: str
    file: str
    calls: int
    tokens: int
    cost: float | None
    follows: bool


def written_again(expected: Estimate, places: Mapping[str, str]) -> list[WrittenAgain]:
    """The texts that a run would write, in order of their first call; calls that belong to no text come last."""
    names = sorted({*places, *expected.stale}, key=len, reverse=True)
    calls: dict[str, list[PlannedCall]] = defaultdict(list)
    for call in expected.calls:
        calls[next((one for one in names if call.path == one or call.path.startswith(f"{one}/")), "")].append(call)
    for name in expected.stale:
        calls.setdefault(name, [])
    found = [_again(name, places.get(name, ""), calls[name]) for name in calls]
    return sorted(found, key=lambda one: not one.name)


def _again(name: str, file: str, calls: Sequence[PlannedCall]) -> WrittenAgain:
    costs = [call.cost for call in calls]
    cost = None if None in costs else sum(one or 0.0 for one in costs)
    return WrittenAgain(name, file, len(calls), sum(one.prompt + one.reply for one in calls), cost, not calls)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text that the last run changed, with the numbers of its newest version and of the one before."""

    name: str
    file: str
    old: int
    new: int


def last_rewritten(journal: Journal) -> list[Rewritten]:
    """The texts that the last run changed and their author has not changed since; those of the story come first."""
    runs = journal.runs()
    found = []
    for path, file in authored(journal).items() if runs else ():
        versions = journal.artefacts.versions(path)
        before = [one for one in versions if one.run != runs[-1]["id"]]
        if before and versions[-1].run == runs[-1]["id"] and versions[-1].text != before[-1].text:
            found.append(Rewritten(path, file, before[-1].number, versions[-1].number))
    return sorted(found, key=lambda one: not one.file.startswith("story/"))


@dataclass(frozen=True, slots=True)
class VersionStage:
    """A version, and how many versions its author saved while writing it, each within a few minutes of the last."""

    made: ArtefactVersion
    before: int = 0


def stages(versions: Sequence[ArtefactVersion]) -> list[VersionStage]:
    """The versions of a text, oldest first, without those that were saved while the author was still writing."""
    found: list[VersionStage] = []
    for made in versions:
        last = found[-1] if found else None
        if last is not None and last.made.source == made.source == "edited" and _soon(last.made.at, made.at):
            found[-1] = VersionStage(made, last.before + 1)
        else:
            found.append(VersionStage(made))
    return found


def _soon(before: str, after: str) -> bool:
    """Whether one moment came soon after the other."""
    return datetime.fromisoformat(after) - datetime.fromisoformat(before) <= _PAUSE


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A pair of matching pieces from two versions of a text."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...]


def beside(old: str, new: str, *, lines: bool = False) -> list[DiffRow]:
    """Two texts in rows, paragraph next to paragraph, with the words marked that only one of them contains."""
    rows: list[DiffRow] = []
    left: list[Piece] = []
    right: list[Piece] = []
    for piece in (piece for one in compare(old, new, lines=lines) for piece in word_pieces(one.old, one.new)):
        if piece.kind == "gone":
            left.append(piece)
        elif piece.kind == "new":
            right.append(piece)
        else:
            *paragraphs, rest = piece.text.split("\n" if lines else "\n\n")
            for paragraph in paragraphs:
                same = [Piece("same", paragraph)] if paragraph else []
                rows.append(DiffRow((*left, *same), (*right, *same)))
                left, right = [], []
            same = [Piece("same", rest)] if rest else []
            left, right = [*left, *same], [*right, *same]
    return [row for row in [*rows, DiffRow(tuple(left), tuple(right))] if row.left or row.right]
