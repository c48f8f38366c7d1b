"""What goes over the wire of `/api/v1` beside the dataclasses of `fabula.app`: bodies of requests, and answers.

The client for Python (`fabula.Client`) reads the same classes, so nothing here needs a web framework.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from fabula.measure.ratings import Rating  # noqa: TC001 - pydantic reads it
from fabula.measure.report.beside import compared
from fabula.models.answer_files import LARGEST
from fabula.project.folder import MAX_FILE
from fabula.server.runs.record import Run
from fabula.verbs.base import Body

if TYPE_CHECKING:
    from fabula.app.learned import LearningStands
    from fabula.app.reports import FoundReport

LONGEST_NAME = 300
MOST_CALLS = 200
MOST_FACTS = 2000
MOST_VERDICTS = 2000
MOST_CONFLICTS = 200
_MOST_AT_ONCE = 200
_LONG = 10_000  # characters of a note or a reason

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
WholeText = Annotated[str, Field(max_length=MAX_FILE)]


# runs -----------------------------------------------------------------------------------------------------------------


class RunList(BaseModel):
    """The runs of a project, the newest first."""

    runs: list[Run]


class RunEvents(BaseModel):
    """What has happened in a run so far."""

    after: int = Field(description="The number after which `/api/v1/events` goes on.")
    events: list[dict[str, Any]] = Field(description="As in `/api/v1/events`, each call's text in one piece.")


class Messages(BaseModel):
    """What a run has said beside its events."""

    messages: str


class Prompt(BaseModel):
    """A prompt that somebody is to answer."""

    name: str
    prompt: str


class Prompts(BaseModel):
    """The prompts that wait for an answer."""

    prompts: list[Prompt]


class Answer(
    Body,
    json_schema_extra={
        "examples": [{"name": "0001-conflict", "text": "Odile wants to leave, and the ferry does not come."}]
    },
):
    """The answer to a prompt."""

    name: str = Field(max_length=500)
    text: str = Field(max_length=LARGEST)


# measuring ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A report in a list. `made` is in seconds since 1970; a newer one took the place of what is `earlier`."""

    name: str
    evaluator: str
    made: float
    earlier: bool

    @classmethod
    def of(cls, found: FoundReport) -> ReportLine:
        """The line of a report."""
        return cls(found.name, found.evaluator, found.changed, found.is_earlier)


@dataclass(frozen=True, slots=True)
class ReportList:
    """The reports of a project, the newest first."""

    reports: list[ReportLine]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report: each number with its interval, or why there is none; `how` says what it was made with."""

    report: ReportLine
    how: dict[str, Any]
    rows: list[dict[str, Any]]
    notes: list[str]

    @classmethod
    def of(cls, found: FoundReport) -> ReportView:
        """A report as it goes over the wire."""
        report = found.report
        return cls(ReportLine.of(found), dict(report.how), report.lines(), list(report.notes))


@dataclass(frozen=True, slots=True)
class VerdictList:
    """Verdicts of a report: how many there are, how many were looked for, and the first of those."""

    total: int
    found: int
    verdicts: list[Rating]


@dataclass(frozen=True, slots=True)
class TwiceLine:
    """A number of two reports: `apart` says by how much the second is above the first, or why nobody can say."""

    of: str
    what: str
    one: dict[str, Any]
    other: dict[str, Any]
    apart: dict[str, Any]
    said: str
    baseline: bool


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two reports beside each other: `problem` says why they cannot be compared, `settings` in what they differ."""

    one: ReportLine
    other: ReportLine
    problem: str
    settings: dict[str, list[str]]
    rows: list[TwiceLine]
    notes: list[str]

    @classmethod
    def of(cls, one: FoundReport, other: FoundReport) -> ComparisonView:
        """The comparison of two reports."""
        found = compared(one.report, other.report)
        rows = [
            TwiceLine(
                row.of, row.what, row.one.as_data(), row.other.as_data(), row.apart.as_data(), row.said, row.baseline
            )
            for row in found.rows
        ]
        settings = {name: [first, second] for name, first, second in found.settings}
        return cls(ReportLine.of(one), ReportLine.of(other), found.problem, settings, rows, list(found.notes))


@dataclass(frozen=True, slots=True)
class LearnedView:
    """What was learned from the author of a project; `missing` says what has to be installed before anything can be."""

    learned: bool
    author: str
    base: str
    made: str
    pairs: int
    in_use: bool
    usable: bool
    unfinished: bool
    report: str
    problem: str
    missing: str

    @classmethod
    def of(cls, stands: LearningStands, missing: str) -> LearnedView:
        """What was learned, as it goes over the wire."""
        one = stands.learned
        return cls(
            learned=one is not None,
            author=one.author if one else "",
            base=one.base if one else "",
            made=one.made if one else "",
            pairs=one.pairs if one else 0,
            in_use=stands.in_use,
            usable=stands.usable,
            unfinished=stands.unfinished,
            report=stands.report,
            problem=stands.problem,
            missing=missing,
        )


class UseLearned(Body, json_schema_extra={"examples": [{"use": True}]}):
    """Whether new projects write with what was learned."""

    use: bool
