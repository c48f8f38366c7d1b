"""The data sets that fabula reads: what they are, whose, under which licence, and where they are published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self, TypeAlias

from fabula.base.errors import UnknownNameError

Holds: TypeAlias = Literal["stories and prompts", "stories", "dialogues", "numbers"]


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of a set at its public address.

    Attributes:
        name: what it is called in the folder.
        url: where it is, over https.
        limit: the most bytes that are taken; more is not this file.
        sha256: of the file; empty where it is not known, and then pinned in `SHA256SUMS` at the first fetch.
    """

    name: str
    url: str
    limit: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A set of data.

    Attributes:
        name: as users type it.
        title: what it holds.
        licence: under which it is published.
        source: who publishes it, and where.
        files: what can be fetched; empty for a set that fabula reads but does not fetch.
        note: what a user should know besides.
        splits: its parts, where it is published in several.
        holds: what its texts are; "numbers" for a set that `fabula lab reproduce` alone reads.
        marks: names, or patterns of names, of files that show that a folder holds it.
        clones: folders of a clone of what is published, in which it may lie in the place of one of its name.
    """

    name: str
    title: str
    licence: str
    source: str
    files: tuple[PublicFile, ...] = ()
    note: str = ""
    splits: tuple[str, ...] = ()
    holds: Holds = "numbers"
    marks: tuple[str, ...] = ()
    clones: tuple[str, ...] = ()

    @property
    def notice(self) -> str:
        """The set with its licence and publisher, in one line."""
        return f"{self.name}: {self.licence} ({self.source})"

    def folder(self, data: Path) -> Path:
        """Where it lies in the folder of all sets: below its name, or with underscores in it, or in a clone."""
        names = (self.name, self.name.replace("-", "_"), *self.clones)
        return next((data / name for name in names if (data / name).is_dir()), data / self.name)

    def is_in(self, folder: Path) -> bool:
        """Whether a folder holds it."""
        if not self.marks:
            return folder.is_dir() and any(folder.iterdir())
        return any(True for mark in self.marks for _ in folder.glob(mark))


@dataclass(frozen=True, slots=True)
class SetHere:
    """A data set that fabula knows, where it is (null: nobody said where to look), and which commands take it."""

    set: DataSet
    folder: str | None
    here: bool | None
    bytes: int | None
    used_by: tuple[str, ...]

    @classmethod
    def of(cls, one: DataSet, folder: Path | None, uses: tuple[str, ...]) -> Self:
        """What there is of a set in the folder of all sets."""
        if folder is None:
            return cls(one, None, None, None, uses)
        where = one.folder(folder)
        here = one.is_in(where)
        size = sum(path.stat().st_size for path in where.rglob("*") if path.is_file()) if here else None
        return cls(one, str(where), here, size, uses)


@dataclass(frozen=True, slots=True)
class SetList:
    """The data sets."""

    folder: str | None
    sets: list[SetHere]


_STORIES: Final = "https://storage.googleapis.com/tell-me-a-story/tell-me-a-story"
_KEYS: Final = (
    "https://raw.githubusercontent.com/google-deepmind/tell_me_a_story/e4910ea1d2bae82efcaf8ba9fde50ab3a419320e"
)
_CREATIVITY: Final = (
    "https://raw.githubusercontent.com/salesforce/creativity_eval/62b660977d67c95adc7e71dcb9b07585ed6bee51"
)
_SETS: Final = (
    DataSet(
        "tell-me-a-story",
        "230 writing prompts with people's stories of about 1,500 words",
        "CC BY 4.0",
        "github.com/google-deepmind/tell_me_a_story",
        (
            *(
                PublicFile(
                    f"tell-me-a-story-{split}_encrypted.jsonl", f"{_STORIES}-{split}_encrypted.jsonl", 20_000_000
                )
                for split in ("train", "validation", "test")
            ),
            PublicFile("keys.zip", f"{_KEYS}/keys.zip", 1_000_000),
        ),
        "Published encrypted, with its keys, so that scrapers do not pick it up. fabula keeps it encrypted on the disk;"
        " do not publish the plain text.",
        ("train", "validation", "test"),
        "stories and prompts",
        ("tell-me-a-story-*.jsonl*",),
    ),
    DataSet(
        "wikiplots",
        "112,936 plots from the English Wikipedia",
        "CC BY-SA 3.0 (text of Wikipedia)",
        "github.com/markriedl/WikiPlots",
        (PublicFile("plots.zip", "https://www.dropbox.com/s/24pa44w7u7wvtma/plots.zip?dl=1", 400_000_000),),
        holds="stories",
        marks=("plots.zip", "plots"),
    ),
    DataSet(
        "writing-prompts",
        "303,358 prompts and stories from Reddit",
        "none stated for the texts, which are their authors'; the release's code is MIT",
        "github.com/facebookresearch/fairseq, examples/stories",
        (
            PublicFile(
                "writingPrompts.tar.gz",
                "https://dl.fbaipublicfiles.com/fairseq/data/writingPrompts.tar.gz",
                1_000_000_000,
            ),
        ),
        splits=("train", "valid", "test"),
        holds="stories and prompts",
        marks=("writingPrompts.tar.gz", "*.wp_target", "*/*.wp_target"),
    ),
    DataSet(
        "ttcw",
        "Experts' verdicts on 48 stories, 14 tests",
        "BSD-3-Clause",
        "github.com/salesforce/creativity_eval",
        holds="stories and prompts",
        marks=("stories.jsonl*", "stories/ttcw_short_stories.json"),
        clones=("creativity_eval/Art_or_Artifice",),
    ),
    DataSet(
        "ttcw-tests",
        "The fourteen Torrance tests of creative writing, with their backgrounds",
        "BSD-3-Clause",
        "github.com/salesforce/creativity_eval",
        (PublicFile("ttcw_all_tests.json", f"{_CREATIVITY}/Art_or_Artifice/tests/ttcw_all_tests.json", 1_000_000),),
        "`fabula evaluate ttcw --preset faithful` uses them if they are present.",
    ),
    DataSet(
        "hanna",
        "1,056 stories with ratings and metrics",
        "MIT (texts from Reddit)",
        "github.com/dig-team/hanna-benchmark-asg",
        holds="stories and prompts",
        marks=("human_stories.jsonl*", "hanna_stories_annotations.csv"),
        clones=("hanna-benchmark-asg",),
    ),
    DataSet("storysumm", "96 summaries with faithfulness labels", "MIT", "github.com/melaniesubbiah/storysumm"),
    DataSet(
        "dialogsum",
        "13,460 dialogues with summaries",
        "CC BY-NC-SA 4.0",
        "github.com/cylnlp/dialogsum",
        splits=("train", "development", "test"),
        holds="dialogues",
        marks=("dialog*.jsonl*", "dialogsum.*", "DialogSum_Data*", "train.csv", "train.jsonl*"),
    ),
    DataSet(
        "writing-quality",
        "LAMP rankings and style-mimic pairs",
        "BSD-3-Clause",
        "github.com/salesforce/creativity_eval",
    ),
    DataSet(
        "atlas",
        "Continuity errors in screenplays, and detections",
        "as the MAGNET paper",
        "MAGNET paper, App. A.2 and A.3",
    ),
    DataSet("bradley-terry", "Win matrices", "as the paper; synthetic ones CC0", "character-simulation paper, App. A"),
    DataSet("snap", "Printed numbers", "as the paper", "SNAP paper"),
)
SETS: Final[Mapping[str, DataSet]] = MappingProxyType({data.name: data for data in _SETS})


def find_set(name: str, *, public: bool = False) -> DataSet:
    """The set of that name; with `public`, among those that can be fetched.

    Raises:
        UnknownNameError: there is none; the nearest is named.
    """
    known = {data.name: data for data in _SETS if data.files or not public}
    if name not in known:
        raise UnknownNameError("data set", name, known)
    return known[name]
