"""`evaluate`, `judge`, `rank`: measure a project's story, alone or with the stories of other projects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.bills import Billed
from fabula.app.checking import OUT, settings_to_judge
from fabula.app.evaluating import EvaluationTask, write_page
from fabula.app.item_files import Selection
from fabula.app.judging import Judged, two_stories
from fabula.app.sources import items_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.evaluators import find
from fabula.verbs.base import ModelName, MostDollars, MostTokens, OtherProject, OtherProjects, verb
from fabula.verbs.reports import ReportView, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.bills import Bill
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report

_ALL = Selection(None)


@dataclass(frozen=True, slots=True)
class Evaluated(Billed):
    """A report on the story in the format of the verb `report`, with the files that show it and its cost."""

    report: ReportView
    files: list[str]


@dataclass(frozen=True, slots=True)
class JudgedStories(Evaluated):
    """A report on two stories, with the better story for each question: its name, "same", or null if undecided."""

    better: dict[str, str | None]


@verb("POST", "/evaluate", "runs", long=True)
async def evaluate(
    project: Workspace,
    evaluator: Annotated[str, Field(min_length=1, max_length=200, description="Which one.", examples=["surface"])],
    beside: OtherProjects = (),
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Evaluated:
    """Run an evaluator on the story and on the stories of other projects.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    found, items = find(evaluator), items_of([project.folder, *map(Path, beside)], _ALL)
    made, bill = await _made(project, found, items, model, (budget_tokens, budget_usd))
    page = write_page(project.folder / OUT, found, made)
    return Evaluated(**bill.as_data(), report=await _shown(project, made), files=[str(page)])


@verb("POST", "/judge", "runs", long=True)
async def judge(
    project: Workspace,
    against: Annotated[OtherProject, Field(min_length=1)],
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> JudgedStories:
    """Have a judge compare the story with another project's story, side by side and in both orders.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    items = two_stories(project.folder, Path(against), _ALL)
    made, bill = await _made(project, find("pairwise"), items, model, (budget_tokens, budget_usd))
    better = Judged(*items, made, bill).verdicts
    return JudgedStories(**bill.as_data(), report=await _shown(project, made), files=[], better=better)


@verb("POST", "/rank", "runs", long=True)
async def rank(
    project: Workspace,
    beside: Annotated[OtherProjects, Field(min_length=1)],
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Evaluated:
    """Rank the story among the stories of other projects by side-by-side verdicts, with intervals.

    Raises:
        FabulaError: any error; finished calls are kept, and the same verb continues from there.
    """
    from fabula.app.ranking import Ranked, as_stories  # noqa: PLC0415 - heavy at start-up
    from fabula.evaluators.pairwise.algorithm import pairs_of  # noqa: PLC0415 - as above

    items = as_stories(items_of([project.folder, *map(Path, beside)], _ALL))
    pairs_of(items)  # what is wrong with the stories is said before anything is made
    made, bill = await _made(project, find("pairwise"), items, model, (budget_tokens, budget_usd))
    files = Ranked.in_(project.folder / OUT, made.evaluator, made, bill).files
    return Evaluated(**bill.as_data(), report=await _shown(project, made), files=list(map(str, files)))


async def _made(
    project: Workspace,
    evaluator: Evaluator,
    items: Sequence[Item],
    model: str,
    caps: tuple[int | None, float | None],
) -> tuple[Report, Bill]:
    """The result of an evaluator, kept in the project, and what it cost."""
    at_work = await asking(project, model=model, caps=caps)
    at_work = replace(at_work, settings=settings_to_judge(at_work.project, at_work.settings))
    config = evaluator.config(at_work.settings.preset, {})
    task = EvaluationTask(evaluator, items, config, at_work.project.folder / OUT)
    return await at_work.evaluated(task), at_work.bill


async def _shown(project: Workspace, made: Report) -> ReportView:
    return await report(project, f"{OUT}/{made.evaluator}")
