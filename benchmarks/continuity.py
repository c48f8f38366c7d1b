"""What the detectors find without a model, how often rightly, and how fast."""

from __future__ import annotations

import gzip
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.base.errors import UsageError
from fabula.continuity import check, split
from fabula.continuity.inject import inject
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity import Candidate, NumberedScene
    from fabula.continuity.inject import Label

TITLE: Final = "contradictions found without a model"
KINDS: Final = ("name", "number", "colour")
_BESIDE: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
_STOP: Final = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "by", "to", "from", "with", "being", "was", "is", "had", "has", "have"}
    | {"his", "her", "its", "their", "as", "that", "and", "or"}
)
_COVERED: Final = 0.3
_PRECISE, _SECONDS, _FOUND, _PER_10K = 0.6, 30.0, 22.0, 2.0
_WORDS: Final = 40_000


@dataclass(frozen=True)
class Sizes:
    """The ground truth's folder, the seeds of injected errors, and how many errors of a kind a story gets."""

    data: Path | None = None
    seeds: Sequence[int] = (101, 102, 103)
    errors: int = 2
    words: int = _WORDS


def bench(sizes: Sizes | None = None) -> Table:
    """All measures.

    Raises:
        UsageError: the ground truth is not there.
    """
    sizes = sizes or Sizes()
    folder = sizes.data or Path(os.environ.get("FABULA_DATA") or _BESIDE)
    if not folder.is_dir():
        raise UsageError(f"The ground truth is not in {folder}. Set FABULA_DATA to its folder.")
    texts = stories(folder)
    rows = [*scripts(folder), *names(folder), *injected(texts, sizes), speed(texts, sizes.words)]
    notes = (
        (
            "A gold error is covered where a candidate has its two scenes, and its quotes with what stands just before "
            "them hold 0.3 of the content words of fact and event together; read by hand, about the same are covered."
        ),
        (
            "A tight candidate is right where one of its sentences overlaps an injected error of its kind; what the "
            "stories themselves get wrong counts against it."
        ),
    )
    return Table("continuity", TITLE, tuple(rows), notes)


def lines(path: Path) -> list[Any]:
    """The objects of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def stories(folder: Path) -> list[str]:
    """The long stories: natural text for injections."""
    return [row["story"] for row in lines(folder / "constory_silver.jsonl.gz")] + [
        row["text"] for row in lines(folder / "magnet_stories.jsonl.gz")
    ]


def scripts(folder: Path) -> Iterator[Row]:
    """Gold errors of the annotated scripts that a candidate covers."""
    covered, total, made = 0, 0, 0
    for script in sorted((folder / "atlas_scripts").iterdir()):
        scenes = split((script / "script.json").read_text(encoding="utf-8")).scenes
        found = check(scenes).candidates
        gold = [row for row in json.loads((script / "annotations.json").read_text(encoding="utf-8"))
                if row["verdict"] != "rejected"]  # fmt: skip
        total, made = total + len(gold), made + len(found)
        covered += sum(any(covers(scenes, one, row) for one in found) for row in gold)
    yield Row(f"gold errors covered, of {total}", (float(covered),), "", "2 scripts", least=_FOUND)
    yield Row("candidates for them", (float(made),), "", "2 scripts")


def covers(scenes: Sequence[NumberedScene], one: Candidate, gold: dict[str, Any]) -> bool:
    """Whether a candidate has the scenes of a gold error and speaks of it."""
    if (one.before.scene, one.after.scene) != (gold["x"], gold["y"]):
        return False
    shown = f"{one.subject} {' '.join(one.values)} {_around(scenes, one)}"
    wanted = _content(f"{gold['fact']} {gold['event']}")
    return len(wanted & _content(shown)) >= _COVERED * len(wanted)


def _around(scenes: Sequence[NumberedScene], one: Candidate) -> str:
    """Both passages with the line that stands above each: a speaker's name."""
    texts = {scene.number: scene.text for scene in scenes}
    return " ".join(texts[p.scene][max(0, p.start - 30) : p.end] for p in (one.before, one.after))


def _content(text: str) -> set[str]:
    words = ("".join(c if c.isalnum() else " " for c in text.lower())).split()
    return {word[:6] for word in words if word not in _STOP and len(word) > 1}


def names(folder: Path) -> Iterator[Row]:
    """Labelled naming errors that the detector of name variants finds, and how much else it raises."""
    hits, labels, made, words = 0, 0, 0, 0
    for row in lines(folder / "constory_silver.jsonl.gz"):
        scenes = split(row["story"]).scenes
        found = check(scenes, detectors=["name"]).candidates
        made, words = made + len(found), words + count_words(row["story"])
        wrong = [e for e in row["errors"] if e["subtype"].endswith("nomenclature_confusions")]
        labels += len(wrong)
        hits += sum(any(_both(one, error) for one in found) for error in wrong)
    yield Row(f"labelled naming errors found, of {labels}", (float(hits),), "", "14 stories", least=4.0)
    yield Row("name candidates per 10,000 words", (made * 1e4 / words,), "", f"{words:,} words", most=_PER_10K)


def _both(one: Candidate, error: dict[str, Any]) -> bool:
    """Whether the rare form stands in either passage that the label quotes."""
    said = f"{error['quote']} {error['pair']}".lower()
    return any(value.lower() in said for value in one.values[1:])


def injected(texts: Sequence[str], sizes: Sizes) -> Iterator[Row]:
    """Precision and recall of tight candidates on injected errors, by kind, a value for each seed."""
    rounds = [[_counted(text, seed, sizes.errors) for text in texts] for seed in sizes.seeds]
    for kind in KINDS:
        right, made, hit, errors = ([sum(c[kind][i] for c in one) for one in rounds] for i in range(4))
        if all(made) and all(errors):
            each = f"{len(texts)} stories, {sizes.errors} errors of a kind"
            precise = tuple(r / m for r, m in zip(right, made, strict=True))
            yield Row(f"{kind}: precision of tight candidates", precise, "", each, least=_PRECISE)
            yield Row(
                f"{kind}: recall of tight candidates", tuple(h / e for h, e in zip(hit, errors, strict=True)), "", each
            )


def _counted(text: str, seed: int, n: int) -> dict[str, tuple[int, int, int, int]]:
    """By kind: right candidates, all candidates, errors found, all errors."""
    made = inject(text, KINDS, n=n, seed=seed)
    scenes = split(made.text).scenes
    found = check(scenes, tight=True).candidates
    starts = {scene.number: scene.start or 0 for scene in scenes}
    counted = {}
    for kind in KINDS:
        own = [one for one in found if one.detector == kind]
        errors = [label for label in made.errors if label.kind == kind]
        right = sum(any(_overlap(one, label, starts) for label in errors) for one in own)
        counted[kind] = (
            right,
            len(own),
            sum(any(_overlap(one, e, starts) for one in own) for e in errors),
            len(errors),
        )
    return counted


def _overlap(one: Candidate, label: Label, starts: dict[int, int]) -> bool:
    return any(
        starts[part.scene] + part.start < label.place.end and label.place.start < starts[part.scene] + part.end
        for part in (one.before, one.after)
    )


def speed(texts: Sequence[str], words: int, rounds: int = 3) -> Row:
    """Seconds for a story of that length, put together from the natural ones."""
    text = " ".join("\n\n".join(texts).split(" ")[:words])
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        check(split(text).scenes)
        took.append(time.perf_counter() - start)
    return Row(f"all detectors over {words:,} words", tuple(took), "s", "run", most=_SECONDS)
