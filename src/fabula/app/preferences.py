"""Training data from preferences: gather pairs from projects and ratings, inspect them and write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from fabula.app.evaluating import RATINGS
from fabula.app.item_files import read_items
from fabula.app.rated_pairs import PairOptions, rated_pairs
from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.measure.ratings import read_ratings
from fabula.project.folder import ProjectFolder
from fabula.training.candidates import candidate_pairs
from fabula.training.examples import (
    CARD,
    DataCard,
    ExampleSource,
    PreferencePair,
    Split,
    held_aside,
    read_card,
    write_data,
)
from fabula.training.histories import history_pairs
from fabula.training.pairs import FoundPairs, Lesson, Teaching, joined, taught_by, without

if TYPE_CHECKING:
    from fabula.measure.items import Item


HOW: Final = (
    "fabula makes pairs from what you do with a text after it is written: change its file or run `fabula edit`, "
    "ask for another version with `fabula text retake` (or `--note`), or undo a version with `fabula undo`. "
    "Then run `fabula update`."
)
OWN: Final = "your own texts: decide for yourself whether to share what is trained on them"


@dataclass(frozen=True)
class Gathered:
    """The pairs of several sources, and the sources that gave none.

    Attributes:
        pairs: the pairs that are used.
        left_out: the other pairs, and everything that gave no pair, with reasons.
        before: what all pairs would teach.
        teaching: what the remaining pairs would teach.
        sources: what the pairs were made from.
        empty: sources that gave no pairs.
    """

    pairs: tuple[PreferencePair, ...]
    left_out: tuple[Mapping[str, Any], ...]
    before: Teaching
    teaching: Teaching
    sources: tuple[ExampleSource, ...]
    empty: tuple[str, ...]

    @property
    def counts(self) -> dict[str, Any]:
        """The number of pairs of each kind and agent, and of those left out, by reason."""
        return {
            "pairs": len(self.pairs),
            "kinds": dict(Counter(pair.kind for pair in self.pairs)),
            "agents": dict(Counter(pair.agent for pair in self.pairs)),
            "groups": len({pair.group for pair in self.pairs}),
            "left_out": dict(Counter(str(one["reason"]) for one in self.left_out)),
        }


async def gather(
    places: Sequence[Path],
    lessons: Iterable[Lesson] = (),
    stories: Sequence[Path] = (),
    rated: PairOptions | None = None,
    told: Callable[[str], object] = lambda _: None,
) -> Gathered:
    """The pairs of projects and ratings, without those that teach only `lessons`.

    Args:
        places: projects, files of ratings, and folders that contain `ratings.jsonl`.
        lessons: what a pair must not teach alone.
        stories: the rated stories, in the formats of `fabula measure`.
        rated: which ratings count.
        told: called with the name of each place before it is read.

    Raises:
        FabulaError: a place is not one of these, or cannot be read.
    """
    found: dict[str, FoundPairs] = {}
    items: tuple[Item, ...] = ()
    for name, place in _named(places).items():
        told(name)
        if (ratings := ratings_at(place)) is None:
            project = ProjectFolder.open(place)
            mine, judged = history_pairs(project, name), candidate_pairs(project, name)
            found[name] = FoundPairs((*mine.pairs, *judged.pairs), (*mine.left_out, *judged.left_out))
        else:
            items = items or (read_items(stories) if stories else ())
            found[name] = await rated_pairs(read_ratings(ratings), items, name, rated or PairOptions())
    pairs, twice = unique([pair for one in found.values() for pair in one.pairs])
    groups = joined(pairs, [pair.group for pair in pairs])
    pairs = [replace(pair, group=group) for pair, group in zip(pairs, groups, strict=True)]
    left, gone = without(pairs, lessons)
    out = [dict(one) for each in found.values() for one in each.left_out] + twice
    out += [_line(pair, f"teaches only {gone[pair.id]}") for pair in pairs if pair.id in gone]
    sources = tuple(ExampleSource(name, name, OWN, len({p.group for p in one.pairs})) for name, one in found.items())
    empty = tuple(name for name, one in found.items() if not one.pairs)
    return Gathered(tuple(left), tuple(out), taught_by(pairs), taught_by(left), sources, empty)


def ratings_at(place: Path) -> Path | None:
    """The file of ratings that a place is or contains; `None` for a project."""
    if place.is_file():
        return place
    inner = place / RATINGS
    return inner if inner.is_file() and not (place / "brief.md").is_file() else None


def _line(pair: PreferencePair, reason: str) -> dict[str, Any]:
    """The line for a pair that is left out."""
    return {"id": pair.id, "kind": pair.kind, **pair.source, "reason": reason}


def write_pairs(folder: Path, gathered: Gathered, made: Mapping[str, Any], share: float, seed: int = 0) -> DataCard:
    """Write a folder of pairs. The given share of the groups is set aside for development.

    Raises:
        UsageError: the folder contains other training data.
        ProjectError: the folder cannot be written.
    """
    check_folder(folder)
    lines: dict[Split, list[PreferencePair]] = {split: [] for split in get_args(Split)}
    aside = held_aside((pair.group for pair in gathered.pairs), share, seed)
    for pair in gathered.pairs:
        lines["development" if pair.group in aside else "train"].append(pair)
    counts = gathered.counts | {split: len(pairs) for split, pairs in lines.items()}
    counts |= {"teach": gathered.teaching.as_data(), "teach_before": gathered.before.as_data()}
    card = DataCard("pairs", {**made, "development": share, "seed": seed}, gathered.sources, counts)
    write_data(folder, card, lines, gathered.left_out)
    return card


def check_folder(folder: Path) -> None:
    """Refuse a folder that contains anything but pairs.

    Raises:
        UsageError: the folder contains something else.
    """
    named, folder = folder, folder.resolve()
    if (folder / CARD).is_file():
        if read_card(folder).kind != "pairs":
            raise UsageError(f"{named} contains training data of another kind. Choose another folder with --out DIR.")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{named} contains other files. Choose another folder with --out DIR.")


def _named(places: Sequence[Path]) -> dict[str, Path]:
    """Places by unique names: the names of the places, with a number if several have the same name."""
    named: dict[str, Path] = {}
    for whole, folder in {one.resolve(): one for one in places}.items():
        name = own = readable(whole.stem if whole.is_file() else whole.name) or "project"
        number = 1
        while name in named:
            number += 1
            name = f"{own} ({number})"
        named[name] = folder
    return named


def unique(pairs: Sequence[PreferencePair]) -> tuple[list[PreferencePair], list[dict[str, Any]]]:
    """The pairs without duplicates (the first stays) and without pairs decided both ways; and the pairs left out."""
    first: dict[tuple[object, ...], PreferencePair] = {}
    for pair in pairs:
        first.setdefault((pair.messages, pair.chosen, pair.rejected), pair)
    kept, gone = [], []
    for pair in pairs:
        if (pair.messages, pair.rejected, pair.chosen) in first:
            gone.append(_line(pair, "decided both ways"))
        elif first[pair.messages, pair.chosen, pair.rejected] is not pair:
            gone.append(_line(pair, "occurs twice"))
        else:
            kept.append(pair)
    return kept, gone
