"""`check`, `findings`, `dismiss`, `count_again`: contradictions in the story, and which findings are dismissed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from fabula.app import findings as found_in
from fabula.app.asking import asking
from fabula.app.bills import Billed
from fabula.app.checking import OUT, Checked, check_of
from fabula.app.findings import ProjectFindings  # noqa: TC001 - doors read it
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONG, ModelName, MostDollars, MostTokens, verb

if TYPE_CHECKING:
    from pathlib import Path

FindingName: TypeAlias = Annotated[
    str, Field(max_length=100, description="The finding, by its key.", examples=["dcf5212a-ae60"])
]


@verb("GET", "/findings", "story")
async def findings(project: Workspace) -> ProjectFindings:
    """Return the contradictions that the last check found, matched against the current story.

    Each finding contains both sentences and, if it was dismissed, the reason.

    Raises:
        UsageError: the report or the dismissals cannot be read.
    """
    return project.last_check()


@verb("PUT", "/findings/{finding}/dismissal", "story")
async def dismiss(
    project: Workspace,
    finding: FindingName,
    reason: Annotated[
        str,
        Field(min_length=1, max_length=LONG, description="Why this is not an error.", examples=["He had two of them."]),
    ],
) -> ProjectFindings:
    """Dismiss a finding with a reason, so that it no longer counts.

    Raises:
        UsageError: the reason is missing, or the story was not checked.
        UnknownNameError: the finding does not exist.
    """
    with project.locked() as texts:
        found_in.dismiss_finding(texts.folder, finding, reason)
    return await findings(project)


@verb("DELETE", "/findings/{finding}/dismissal", "story")
async def count_again(project: Workspace, finding: FindingName) -> ProjectFindings:
    """Count a dismissed finding again.

    Raises:
        UnknownNameError: the finding is not dismissed.
    """
    with project.locked() as texts:
        found_in.count_again(texts.folder, finding)
    return await findings(project)


@dataclass(frozen=True, slots=True)
class CheckedStory(Billed):
    """The findings of a check, in the format of the verb `findings`, with the page that shows them and their cost."""

    found: ProjectFindings
    page: str


@verb("POST", "/check", "runs", long=True)
async def check(
    project: Workspace, model: ModelName = "", *, budget_tokens: MostTokens = None, budget_usd: MostDollars = None
) -> CheckedStory:
    """Find contradictions in the story, and quote both passages of each.

    `findings` returns the latest findings.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    at_work = await asking(project, model=model, caps=(budget_tokens, budget_usd))
    task, settings = check_of(at_work.project, at_work.settings)
    report = await replace(at_work, settings=settings).evaluated(task)
    folder: Path = at_work.project.folder
    found = Checked.in_(folder / OUT, report.as_data(), ["fabula", "check", str(folder)], at_work.bill)
    return CheckedStory(**at_work.bill.as_data(), found=await findings(project), page=str(found.page))
