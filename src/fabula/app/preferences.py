"""Training data from preferences: pairs gathered from projects and ratings, looked at, and written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.project.folder import Project
from fabula.training.examples import CARD, DataCard, Source, Split, in_development, read_card, write_data
from fabula.training.histories import history_pairs
from fabula.training.pairs import Found, Teaching, taught_by, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fabula.training.examples import Pair
    from fabula.training.pairs import Lesson

FEW: Final = 8
HOW: Final = (
    "Pairs come of what you do with a text after it was written: change its file or say `fabula edit`, ask for another "
    "take with `fabula retake` (or `--note`), or take one back with `fabula undo`; then say `fabula update`."
)
OWN: Final = "your own texts; ask yourself before you share what is trained on them"


@dataclass(frozen=True)
class Gathered:
    """The pairs of several sources, and what gave none.

    Attributes:
        pairs: those that are left.
        left_out: the others, and what gave no pair, with reasons.
        before: what all pairs would teach.
        teaching: what those that are left would teach.
        sources: what they were made from.
        empty: sources that gave no pair.
    """

    pairs: tuple[Pair, ...]
    left_out: tuple[Mapping[str, Any], ...]
    before: Teaching
    teaching: Teaching
    sources: tuple[Source, ...]
    empty: tuple[str, ...]

    @property
    def counts(self) -> dict[str, Any]:
        """How many pairs there are of each kind and agent, and how many were left out, by reason."""
        return {
            "pairs": len(self.pairs),
            "kinds": dict(Counter(pair.kind for pair in self.pairs)),
            "agents": dict(Counter(pair.agent for pair in self.pairs)),
            "groups": len({pair.group for pair in self.pairs}),
            "left_out": dict(Counter(str(one["reason"]) for one in self.left_out)),
        }


def gather(
    folders: Sequence[Path], lessons: Iterable[Lesson] = (), told: Callable[[str], object] = lambda _: None
) -> Gathered:
    """The pairs of projects, without what only teaches the lessons; each project is named to `told` before it is read.

    Raises:
        FabulaError: a folder is no project, or its journal cannot be read.
    """
    named = _named(folders)
    found: list[Found] = []
    for name, folder in named.items():
        told(name)
        found.append(history_pairs(Project.open(folder), name))
    pairs, twice = _unique([pair for one in found for pair in one.pairs])
    before = taught_by(pairs)
    left, gone = without(pairs, lessons)
    out = [dict(one) for each in found for one in each.left_out] + twice
    out += [
        {"id": pair.id, "kind": pair.kind, **pair.source, "reason": f"teaches only {gone[pair.id]}"}
        for pair in pairs
        if pair.id in gone
    ]
    return Gathered(
        tuple(left),
        tuple(out),
        before,
        taught_by(left),
        tuple(Source(name, name, OWN, 1) for name in named),
        tuple(name for name, one in zip(named, found, strict=True) if not one.pairs),
    )


def write_pairs(folder: Path, gathered: Gathered, made: Mapping[str, Any], share: float, seed: int = 0) -> DataCard:
    """Write a folder of pairs; the groups of `share` stand aside for development.

    Raises:
        UsageError: the folder holds other training data.
        ProjectError: it cannot be written.
    """
    check_folder(folder)
    lines: dict[Split, list[Pair]] = {split: [] for split in get_args(Split)}
    for pair in gathered.pairs:
        lines["development" if in_development(pair.group, share, seed) else "train"].append(pair)
    counts = gathered.counts | {split: len(pairs) for split, pairs in lines.items()}
    counts |= {"teach": gathered.teaching.as_data(), "teach_before": gathered.before.as_data()}
    card = DataCard("pairs", {**made, "development": share, "seed": seed}, gathered.sources, counts)
    write_data(folder, card, lines, gathered.left_out)
    return card


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than pairs.

    Raises:
        UsageError: it does.
    """
    if (folder / CARD).is_file():
        if read_card(folder).kind != "pairs":
            raise UsageError(f"{folder} holds training data of another kind. Give --out another name.")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} holds other files. Give --out another name.")


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    """The folders by a name of each: its own, with a number where several have the same."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(one.resolve() for one in folders):
        name = own = readable(folder.name) or "project"
        number = 1
        while name in named:
            number += 1
            name = f"{own} ({number})"
        named[name] = folder
    return named


def _unique(pairs: Sequence[Pair]) -> tuple[list[Pair], list[dict[str, Any]]]:
    """Pairs without those that stand there twice, or were decided both ways, and these."""
    first: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        first.setdefault((pair.messages, pair.chosen, pair.rejected), pair)
    kept, gone = [], []
    for pair in pairs:
        if (pair.messages, pair.rejected, pair.chosen) in first:
            gone.append({"id": pair.id, "kind": pair.kind, **pair.source, "reason": "decided both ways"})
        elif first[pair.messages, pair.chosen, pair.rejected] is not pair:
            gone.append({"id": pair.id, "kind": pair.kind, **pair.source, "reason": "stands there twice"})
        else:
            kept.append(pair)
    return kept, gone
