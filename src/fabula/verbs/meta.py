"""`meta`: measure how well a judge agrees with people."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.measure.ratings import parse_ratings
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.stats.meta import MetaResult

_MOST = 20_000_000
RatingsText: TypeAlias = Annotated[
    str,
    Field(
        max_length=_MOST,
        description="The contents of a ratings.jsonl file, with one verdict per line.",
        examples=['{"rater":"Ann","kind":"person","items":["a"],"question":"plot","answer":4}'],
    ),
]


@dataclass(frozen=True, slots=True)
class JudgeOnQuestion:
    """A sentence about a judge on one question, and whether the judge beats all trivial baselines; null if unknown."""

    sentence: str
    beats_baselines: bool | None
    notes: list[str]

    @classmethod
    def of(cls, found: MetaResult) -> Self:
        """Return the result on one question."""
        return cls(found.sentence, found.beats, list(found.notes))


@dataclass(frozen=True, slots=True)
class JudgeBesidePeople:
    """How well a judge agrees with people on each question, with an interval for each number."""

    questions: dict[str, JudgeOnQuestion]
    rows: list[dict[str, Any]]
    notes: list[str]


@verb("POST", "/meta", "measuring", changes=False)
async def meta(
    shelf: Shelf,
    verdicts: RatingsText,
    human: RatingsText,
    question: Annotated[str, Field(max_length=1000, description="One question; empty for all.")] = "",
    *,
    margin: Annotated[
        float | None, Field(ge=0, lt=1, description="The minimum lead for a weighted choice; empty: the default.")
    ] = None,
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Seed of the random baseline.")] = 1,
) -> JudgeBesidePeople:
    """Compare a judge's verdicts with people's verdicts on the same stories, and with trivial baselines.

    Raises:
        UsageError: a line is not a rating, or the two sides have no question or story in common.
        UnknownNameError: a question does not exist.
    """
    del shelf

    def made() -> JudgeBesidePeople:
        from fabula.app.verdict_files import compared, meta_report, side_of  # noqa: PLC0415 - heavy at start-up
        from fabula.evaluators.pairwise.config import MARGIN  # noqa: PLC0415 - as above

        lead = MARGIN if margin is None else margin
        judge = side_of(parse_ratings(verdicts, "the verdicts"), "the verdicts", lead)
        people = side_of(parse_ratings(human, "people's ratings"), "people's ratings", lead)
        found = compared(judge, people, {}, wanted=question, seed=seed)
        report = meta_report(found, judge, people, margin=lead, seed=seed)
        said = {name: JudgeOnQuestion.of(one) for name, one in found.items()}
        return JudgeBesidePeople(said, report.lines(), list(report.notes))

    return await asyncio.to_thread(made)
