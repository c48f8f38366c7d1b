"""`meta`: how far a judge agrees with people."""

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
        description="A ratings.jsonl: a verdict a line.",
        examples=['{"rater":"Ann","kind":"person","items":["a"],"question":"plot","answer":4}'],
    ),
]


@dataclass(frozen=True, slots=True)
class JudgeOnQuestion:
    """A judge on one question in a sentence, and whether it beats all trivial baselines; null where nobody can say."""

    sentence: str
    beats_baselines: bool | None
    notes: list[str]

    @classmethod
    def of(cls, found: MetaResult) -> Self:
        """What was found on a question."""
        return cls(found.sentence, found.beats, list(found.notes))


@dataclass(frozen=True, slots=True)
class JudgeBesidePeople:
    """How far a judge agrees with people: by question, and each number with its interval."""

    questions: dict[str, JudgeOnQuestion]
    rows: list[dict[str, Any]]
    notes: list[str]


@verb("POST", "/meta", "measuring", changes=False)
async def meta(
    shelf: Shelf,
    verdicts: RatingsText,
    human: RatingsText,
    question: Annotated[str, Field(max_length=1000, description="One alone; empty for all.")] = "",
    *,
    margin: Annotated[
        float | None, Field(ge=0, lt=1, description="By which a weighed choice needs to lead; empty: as usual.")
    ] = None,
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Of the random baseline.")] = 1,
) -> JudgeBesidePeople:
    """Say how far a judge's verdicts agree with people's on the same stories, beside trivial baselines.

    Raises:
        UsageError: a line is no rating, or both sides have no question or story in common.
        UnknownNameError: there is no such question.
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
