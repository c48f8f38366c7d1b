"""TTCW: experts' and models' verdicts on 48 stories (Chakrabarty et al. 2024, "Art or Artifice?")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabula.base.errors import UsageError
from fabula.data.reading import Record, json_records, unique, wanted
from fabula.measure.items import Item
from fabula.story import Brief, Story

PEOPLE: Final = "NewYorker"
RANKED: Final = ("GPT3.5", "GPT4", "Claude")  # in the order in which the published scripts compare them
_VERDICTS: Final = {"Yes": True, "No": False}
_CALL: Final = re.compile(r"\Astory_(\d+)_(.+)_test(\d+)")


@dataclass(frozen=True, slots=True)
class _OfTest:
    """What was said of one story in one test.

    Attributes:
        plot: number of the plot, from 0; each system wrote one story of it.
        system: who wrote the story: "GPT3.5", "GPT4", "Claude" or "NewYorker".
        test: number of the test, from 1 to 14.
    """

    plot: int
    system: str
    test: int


@dataclass(frozen=True, slots=True)
class ExpertVerdict(_OfTest):
    """One expert's answer to one test of one story.

    Attributes:
        expert: number of the expert.
        passed: whether the story passes.
        reason: what the expert wrote about it.
    """

    expert: int
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelVerdict(_OfTest):
    """One model's reply to one test of one story."""

    reply: str

    @property
    def passed(self) -> bool:
        """Whether the reply begins with "yes": how the published scripts read it, and no better."""
        return self.reply.lower().startswith("yes")


# A folder is laid out as these readers like it, or as the release (`Art_or_Artifice`) is: the second name of each pair.
EXPERTS: Final = ("annotations.jsonl", "annotations/ttcw_annotations.json")
STORIES: Final = ("stories.jsonl", "stories/ttcw_short_stories.json")
VERDICTS: Final = ("verdicts_{}.jsonl", "data/annotations_{}.jsonl")


def experts(folder: Path) -> tuple[ExpertVerdict, ...]:
    """The experts' verdicts in `folder`.

    Raises:
        UsageError: the file is absent, or a line is not a verdict, or occurs twice.
    """
    records = json_records(wanted(folder, *EXPERTS))
    unique([(f"{r.text('story_id')}/{r.integer('ttcw_idx')}/{r.integer('expert_idx')}", r) for r in records])
    return tuple(_expert(record) for record in records)


def _expert(record: Record) -> ExpertVerdict:
    verdict = record.text("binary_verdict")
    if verdict not in _VERDICTS:
        raise UsageError(f"{record.where}: the verdict is {verdict!r}, neither Yes nor No. Correct the line.")
    system = record.text("story_id").partition("_")[2]
    return ExpertVerdict(
        record.integer("story_idx"),
        system,
        record.integer("ttcw_idx"),
        record.integer("expert_idx"),
        _VERDICTS[verdict],
        record.text("explanation"),
    )


def models(folder: Path) -> tuple[str, ...]:
    """The models whose verdicts `folder` holds, by name."""
    known = [pattern.partition("{}") for pattern in VERDICTS]
    found = (path.relative_to(folder).as_posix().removesuffix(".gz") for path in folder.rglob("*_*.jsonl*"))
    return tuple(
        sorted(
            {
                name.removeprefix(start).removesuffix(end)
                for name in found
                for start, _, end in known
                if name.startswith(start) and name.endswith(end)
            }
        )
    )


def verdicts(folder: Path, model: str) -> tuple[ModelVerdict, ...]:
    """A model's replies to the tests.

    Raises:
        UsageError: the file is absent, or a line is not a reply to a test, or occurs twice.
    """
    records = json_records(wanted(folder, *(name.format(model) for name in VERDICTS)))
    unique([(record.text("id"), record) for record in records])
    return tuple(_reply(record) for record in records)


def _reply(record: Record) -> ModelVerdict:
    call = _CALL.fullmatch(record.text("id"))
    if call is None:
        raise UsageError(f"{record.where}: the id {record.text('id')!r} is not story_N_SYSTEM_testN. Correct the line.")
    return ModelVerdict(int(call[1]), call[2], int(call[3]), record.text("response"))


def majority_scores(given: Iterable[ExpertVerdict]) -> Mapping[tuple[int, str], int]:
    """Tests that each story (plot, system) passes in the opinion of more than half of its experts."""
    votes: dict[tuple[int, str, int], list[bool]] = defaultdict(list)
    for verdict in given:
        votes[verdict.plot, verdict.system, verdict.test].append(verdict.passed)
    scores: dict[tuple[int, str], int] = defaultdict(int)
    for (plot, system, _), passed in votes.items():
        scores[plot, system] += 2 * sum(passed) > len(passed)
    return scores


def model_scores(given: Iterable[ModelVerdict]) -> Mapping[tuple[int, str], int]:
    """Tests that each story (plot, system) passes in a model's opinion; a missing reply counts as not passed."""
    scores: dict[tuple[int, str], int] = defaultdict(int)
    for verdict in given:
        scores[verdict.plot, verdict.system] += verdict.passed
    return scores


def stories(folder: Path) -> tuple[Item, ...]:
    """The stories with their plots as briefs; those that are only linked (the New Yorker's) are left out.

    Raises:
        UsageError: the file is absent, or a line is not a story, or occurs twice.
    """
    records = json_records(wanted(folder, *STORIES))
    unique([(record.text("story_id"), record) for record in records])
    return tuple(_story(record) for record in records if not record.text("content").startswith("https://"))


def _story(record: Record) -> Item:
    name, plot = record.text("story_id"), record.text("plot")
    return Item(
        name,
        Story.of_text(record.text("content")),
        name.partition("_")[2],
        f"ttcw-{record.integer('story_idx')}",
        Brief.of_text(plot, record.where),
    )


def published_tests(data: Path) -> Path | None:
    """The file of the published tests in the folder of all sets; `None` where it is not there."""
    places = (data / "ttcw-tests" / "ttcw_all_tests.json", data / "ttcw" / "tests.json")
    return next((place for place in places if place.is_file()), None)
