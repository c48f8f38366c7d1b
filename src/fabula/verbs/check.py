"""`check`: find contradictions in the story."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fabula.app.asking import asking
from fabula.app.bills import Billed
from fabula.app.checking import OUT, Checked, check_of
from fabula.app.findings import ProjectFindings  # noqa: TC001 - doors read it
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import ModelName, MostDollars, MostTokens, verb
from fabula.verbs.findings import findings

if TYPE_CHECKING:
    from pathlib import Path


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
