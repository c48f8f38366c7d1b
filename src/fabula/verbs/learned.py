"""`learn`, `learned`, `use_learned`, `forget_learned`: what an author prefers, learned from edits and choices."""

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
    base: Annotated[
        str, Field(max_length=500, description="The model that is tuned; empty: the one that the projects write with.")
    ] = "",
    *,
    quick: Annotated[
        bool | None, Field(description="One training, or with false six; null: as many as are useful.")
    ] = None,
    use_anyway: Annotated[
        bool, Field(description="Write with what was learned although it is not shown to be better.")
    ] = False,
) -> AdapterStatus:
    """Learn from your edits, retakes and choices what you prefer; all of it stays on this machine.

    Raises:
        UsageError: there is too little to learn from, or something has to be installed.
        FabulaError: any of its kinds; the same again goes on from there.
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
        said = f"It learns from {pairs:,} pairs of texts, in {trainings} trainings of {proposal.base}; nobody is asked."
        raise ForeseenError(Estimate.of(DryRun(notices=[said])))
    trainer = trainer_for(proposal, project.environ, project.training or Listener())
    learn_from(proposal, place, trainer, time.strftime("%Y-%m-%d"), project.told, anyway=use_anyway)
    return AdapterStatus.at(place)


@verb("GET", "/learning", "measuring")
async def learned(project: Workspace) -> AdapterStatus:
    """What was learned from the author, and whether new projects write with it."""
    return AdapterStatus.at(_place(project))


@verb("PUT", "/learning", "measuring")
async def use_learned(
    project: Workspace,
    *,
    use: Annotated[bool, Field(description="Whether new projects write with it.", examples=[True])],
) -> AdapterStatus:
    """Have new projects write with what was learned, or without it; one that is begun stays as it began.

    Raises:
        UsageError: nothing was learned.
    """
    activate(_place(project), on=use)
    return AdapterStatus.at(_place(project))


@verb("DELETE", "/learning", "measuring")
async def forget_learned(project: Workspace) -> AdapterStatus:
    """Remove what was learned for good: adapters, pairs and report."""
    place = _place(project)
    if AdapterStatus.at(place).is_there:
        place.forget()
    return AdapterStatus.at(place)


def _place(project: Workspace) -> LearnedFolder:
    return place_for(project.settings().author.name, project.environ)
