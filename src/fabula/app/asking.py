"""The context of a verb that calls models: its project, the settings in force, its budget, and its bill."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fabula.app.beginning import with_system_of
from fabula.app.bills import Bill, Estimate
from fabula.app.evaluating import EvaluationTask, dry_run_evaluation, evaluate_in
from fabula.app.writing import Options, check_prices, settings_as_last_time
from fabula.base.errors import PausedError
from fabula.models.budget import Budget
from fabula.project.casting import full_name
from fabula.project.default_model import offered_model
from fabula.story import slug
from fabula.systems import find

if TYPE_CHECKING:
    from fabula.app.workspace import Workspace
    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Kept
    from fabula.measure.report import Report
    from fabula.project.folder import FileChange, ProjectFolder
    from fabula.project.settings import Settings


Approve: TypeAlias = Literal["", "plans", "all"]


class ForeseenError(Exception):
    """Ends a verb before any model is called, and carries the estimate."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__("This was only an estimate: no model was called.")
        self.estimate = estimate


@dataclass(frozen=True)
class Asking:
    """A running verb.

    Attributes:
        project: the project that it works in.
        settings: the settings in force.
        options: how the work is done; the listeners include the bill.
        bill: what the verb costs.
        begun: whether the project was written in before.
        only_foreseen: whether the verb only estimates its calls.
    """

    project: ProjectFolder
    settings: Settings
    options: Options
    bill: Bill
    begun: bool
    only_foreseen: bool

    async def begin(self, look: Callable[[], Awaitable[DryRun]], changes: Sequence[FileChange] = ()) -> None:
        """Prepare for the first call: a verb that only estimates its calls ends here.

        Raises:
            ForeseenError: the verb only estimates its calls.
            UsageError: there is a cap in dollars, and a planned call has no known price.
        """
        if self.only_foreseen:
            raise ForeseenError(Estimate.of(await look(), changes=changes))
        cap = self.options.whole.usd if self.options.whole else None
        if cap is not None or self.settings.budget.usd is not None:
            check_prices(await look(), self.settings, cap)

    async def evaluated(self, task: EvaluationTask) -> Report:
        """The report of an evaluator that ran with the settings in force; it is kept in the evaluator's folder.

        Raises:
            FabulaError: an error of any kind; all finished calls are kept.
        """
        await self.begin(lambda: dry_run_evaluation(task, self.settings, self.options))
        report = (await evaluate_in(task, self.settings, self.options)).report
        self.bill.remember(self.settings)
        return report


async def asking(
    workspace: Workspace,
    *,
    model: str = "",
    words: str = "",
    system: str = "",
    approve: Approve = "",
    caps: tuple[int | None, float | None] = (None, None),
) -> Asking:
    """The context of a verb: the last settings with the caller's changes, and the offered model if none is named.

    Raises:
        FabulaError: a setting is invalid, or a name is unknown.
    """
    project = workspace.project()
    named = find(system).spec if system else ""
    settings = workspace.cast(settings_as_last_time(project, named))
    with project.journal as journal:
        begun = journal.last_settings() is not None
    changes: dict[str, Any] = {"system": named} if named else {}
    changes |= {"config": {"words": words}} if words else {}
    if model:
        changes["model"] = full_name(model)
    elif not begun and "model" not in settings.model_fields_set and (offered := await offered_model(workspace.environ)):
        changes |= offered.changes
    settings = settings.with_(with_system_of(project, changes), "the call")
    if not workspace.at_home:
        settings = settings.said_by(project.settings_file)
    bill = Bill()
    options = replace(
        workspace.options,
        whole=Budget(*caps),
        listeners=(bill, *workspace.listeners),
        approve=_waits(approve, project.folder) if approve else None,
    )
    return Asking(project, settings, options, bill, begun, workspace.only_foresees)


def file_of(folder: Path, kept: Kept) -> Path:
    """The file of an artefact in a project, including its number if it has one."""
    name = re.escape(f"{slug(kept.path.removeprefix(f'{kept.folder}/'))}.{kept.suffix}")
    place = folder / kept.folder
    return next((file for file in place.glob("*") if re.fullmatch(rf"(\d+-)?{name}", file.name)), place)


def waiting_for(folder: Path, kept: Kept) -> PausedError:
    """The error that tells the author that a text waits for approval."""
    return PausedError(
        f"{file_of(folder, kept)} waits for your approval. Edit the file, or run `fabula text approve -C "
        f"{folder}`. Then give the same command again.",
        path=kept.path,
    )


def _waits(approve: Approve, folder: Path) -> Callable[[Kept], Awaitable[str]]:
    """A function that ends the run if a text waits for approval."""

    async def approved(kept: Kept) -> str:
        if approve == "plans" and kept.folder != "plan":
            return kept.text
        raise waiting_for(folder, kept)

    return approved
