"""`learn`, `learned`, `use_learned`, `forget_learned`: an author's preferences, learned from edits and choices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabula.app.asking import ForeseenError
from fabula.app.bills import Estimate
from fabula.app.learned import AdapterStatus, activate
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.engine.dry_run import DryRun
from fabula.project.folder import ProjectFolder
from fabula.project.learned import place_for, place_of, the_author
from fabula.verbs.base import OtherProjects, verb

if TYPE_CHECKING:
    from fabula.project.learned import LearnedFolder


@verb("POST", "/learning", "measuring", long=True)
async def learn(
    project: Workspace,
    beside: OtherProjects = (),
    base: Annotated[str, Field(max_length=500, description="The model to tune; empty: the projects' model.")] = "",
    *,
    quick: Annotated[
        bool | None, Field(description="True: one training; false: six trainings; null: as many as needed.")
    ] = None,
    use_anyway: Annotated[
        bool, Field(description="Use what was learned even if it has not been shown to be better.")
    ] = False,
) -> AdapterStatus:
    """Learn your preferences from your edits, retakes and choices; all data stays on this machine.

    Raises:
        UsageError: there is too little to learn from, or a package must be installed.
        FabulaError: any error; the same verb continues from there.
    """
    from fabula.app.learning import learn as learn_from  # noqa: PLC0415 - slow, and few learn
    from fabula.app.learning import proposed, trainer_for  # noqa: PLC0415 - as above
    from fabula.app.training import Listener  # noqa: PLC0415 - as above

    opened = [ProjectFolder.open(folder) for folder in dict.fromkeys([project.folder, *map(Path, beside)])]
    author = the_author(one.settings.author.name for one in opened)
    place = place_of(author, project.environ)
    proposal = proposed(opened, author, place, project.environ, base=base, quick=quick)
    proposal.check()
    if project.only_foresees:
        pairs, trainings = len(proposal.pairs), proposal.trainings
        said = (
            f"Learning uses {pairs:,} pairs of texts in {trainings} trainings of {proposal.base}, and calls no model."
        )
        raise ForeseenError(Estimate.of(DryRun(notices=[said])))
    trainer = trainer_for(proposal, project.environ, project.training or Listener())
    learn_from(proposal, place, trainer, time.strftime("%Y-%m-%d"), project.told, anyway=use_anyway)
    return AdapterStatus.at(place)


@verb("GET", "/learning", "measuring")
async def learned(project: Workspace) -> AdapterStatus:
    """Return what was learned from the author, and whether new projects use it."""
    return AdapterStatus.at(_place(project))


@verb("PUT", "/learning", "measuring")
async def use_learned(
    project: Workspace,
    *,
    use: Annotated[bool, Field(description="Whether new projects use it.", examples=[True])],
) -> AdapterStatus:
    """Set whether new projects use what was learned; existing projects do not change.

    Raises:
        UsageError: nothing has been learned.
    """
    activate(_place(project), on=use)
    return AdapterStatus.at(_place(project))


@verb("DELETE", "/learning", "measuring")
async def forget_learned(project: Workspace) -> AdapterStatus:
    """Permanently remove everything that was learned: adapters, pairs and the report."""
    place = _place(project)
    if AdapterStatus.at(place).is_there:
        place.forget()
    return AdapterStatus.at(place)


def _place(project: Workspace) -> LearnedFolder:
    return place_for(project.settings().author.name, project.environ)
