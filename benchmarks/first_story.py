"""The first story: what a small model makes of the three sample briefs, by rules; whether it reads well, read yourself.

`python -m benchmarks first_story` writes three briefs with three seeds, which takes an hour. `python -m
benchmarks.first_story --model NAME --briefs lighthouse --seeds 1 --out DIR` writes some and keeps them in a folder;
with `--read PROJECT ...` it writes nothing and looks at projects that are there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from fabula.app.standing import lengths_asked, words_asked
from fabula.app.writing import Options, write_in
from fabula.base.errors import ModelUnavailableError
from fabula.models.known import installed, models_home
from fabula.project.folder import ProjectFolder
from fabula.story import Brief, count_words
from fabula.story.sentences import sentences
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = "first story: time, calls, lengths and repeats of a small model's stories"
MODEL: Final = "qwen2.5-coder-1.5b"
BRIEFS: Final = Path(__file__).parents[1] / "examples" / "briefs"
SEEDS: Final = (1, 2, 3)
_COPY: Final = 8  # words in a row that stand twice
_LEAST: Final = 4  # words of a sentence that says something
_LONGEST: Final = 480.0  # seconds a story may take on two cores


@dataclass(frozen=True, slots=True)
class Looked:
    """What rules can say of a story."""

    name: str
    seconds: float
    calls: int
    drawn_again: int
    words: int
    asked: tuple[int, int]
    lengths_missed: int
    twice: int
    copied: int
    names: float


def looked_at(folder: Path) -> Looked:
    """What rules can say of the story in a project."""
    project = ProjectFolder.open(folder)
    with project.journal as journal:
        calls = [one.usage for one in journal.calls.payments()]
        paths = [call.path for call in journal.calls.find(prompts=True)]
        lengths = lengths_asked(journal)
        texts, places = (
            {path: journal.artefacts.newest(path) or "" for path in journal.artefacts.paths()},
            journal.artefacts.places(),
        )
    parts = [texts[path] for path in sorted(lengths, key=lambda path: places.get(path, path)) if path in texts]
    story = "\n\n".join(parts)
    want = words_asked(project.brief, project.settings)
    people = {word for word in re.findall(r"\b[A-Z][a-z]{2,}\b", project.brief.text) if word in _people(project.brief)}
    return Looked(
        name=folder.name,
        seconds=sum(usage.seconds for usage in calls),
        calls=len(calls),
        drawn_again=len([path for path in paths if "/again/" in path or "/extend/" in path]),
        words=count_words(story),
        asked=(want.low, want.high) if want else (0, 0),
        lengths_missed=sum(not low <= count_words(texts[path]) <= high for path, (low, high) in lengths.items()),
        twice=_twice(story),
        copied=_copied(story),
        names=len([name for name in people if name in story]) / len(people) if people else 1.0,
    )


def _people(brief: Brief) -> set[str]:
    """Words that the brief writes large in the middle of a sentence: its names."""
    return set(re.findall(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b", brief.text)) - {"Sunday", "August"}


def _twice(story: str) -> int:
    said = [words for one in sentences(story) if len(words := tuple(re.findall(r"\w+", one.lower()))) >= _LEAST]
    return len(said) - len(set(said))


def _copied(story: str) -> int:
    """How often eight words in a row stand again."""
    found = list(ngrams(re.findall(r"\w+", story.lower()), _COPY))
    return len(found) - len(set(found))


def write(model: str, brief: str, seed: int, out: Path) -> Path:
    """The project of one story, written anew."""
    folder = out / f"{brief}-{seed}"
    if folder.exists():
        shutil.rmtree(folder)
    project = ProjectFolder.create(
        folder, Brief.read(BRIEFS / f"{brief}.md"), {"model": f"embedded:{model}", "seed": seed}
    )
    asyncio.run(write_in(project, project.settings, Options(environ=os.environ)))
    return folder


def bench() -> Table:
    """Three briefs with three seeds.

    Raises:
        ModelUnavailableError: the model is not here.
    """
    if not installed(MODEL, models_home(os.environ)):
        raise ModelUnavailableError(f"Fetch it first: `fabula models pull {MODEL}`.", model=MODEL)
    with tempfile.TemporaryDirectory() as home:
        return table([looked_at(write(MODEL, brief, seed, Path(home))) for brief in _briefs() for seed in SEEDS])


def _briefs() -> list[str]:
    return sorted(path.stem for path in BRIEFS.glob("*.md"))


def table(found: Sequence[Looked]) -> Table:
    """The figures over all stories, and a line for each story."""
    figures = (
        Row("time of the model", tuple(one.seconds for one in found), "s", "story", most=_LONGEST),
        Row("calls", tuple(float(one.calls) for one in found), "", "story"),
        Row("drawn again or continued", tuple(float(one.drawn_again) for one in found), "", "story"),
        Row("sentences that stand twice", tuple(float(one.twice) for one in found), "", "story", most=0),
        Row("eight words in a row that stand again", tuple(float(one.copied) for one in found), "", "story"),
        Row("parts outside their length", tuple(float(one.lengths_missed) for one in found), "", "story"),
    )
    notes = (_line(one) for one in found)
    return Table("first_story", TITLE, figures, tuple(notes))


def _line(one: Looked) -> str:
    return (
        f"{one.name}: {one.seconds:.0f} s, {one.calls} calls, {one.drawn_again} of them drawn again or continued; "
        f"{one.words} words of {one.asked[0]} to {one.asked[1]}, {one.lengths_missed} parts outside their length; "
        f"{one.twice} sentences twice, {one.copied} copies of {_COPY} words; {one.names:.0%} of the brief's names"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Write or read single stories; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_story", description=__doc__)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--briefs", nargs="*", default=_briefs())
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("first-stories"))
    parser.add_argument("--read", type=Path, nargs="*", default=[], metavar="PROJECT")
    asked = parser.parse_args(words)
    folders = asked.read or [
        write(asked.model, brief, seed, asked.out) for brief in asked.briefs for seed in asked.seeds
    ]
    print(table([looked_at(folder) for folder in folders]).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
