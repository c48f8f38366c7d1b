"""An experiment in independent parts, such as the tasks of a SLURM array: `--shard` and `lab merge`.

Each part has its own folder next to the experiment's, `<folder>-3-of-8`, so that no two tasks write to the same file
on a shared disk. It has an N-th of each contender's runs, of the calls that servers accept at once, and of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING, Final

from fabula.app.experiment.index import CellIndex
from fabula.app.experiment.working import check_folders
from fabula.app.parts import folder_of_part, parts_beside
from fabula.base.errors import UsageError
from fabula.base.files import held, make_folder, write_error

if TYPE_CHECKING:
    from fabula.app.experiment.grid import Experiment
    from fabula.models.servers import Part


_COMING: Final = ".merging"


@dataclass(frozen=True)
class Merged:
    """The result of merging parts.

    Attributes:
        folder: the folder of the experiment.
        parts: how many runs came from each folder.
        over: how many runs are over now.
        total: how many runs the experiment has.
    """

    folder: str
    parts: dict[str, int] = field(default_factory=dict)
    over: int = 0
    total: int = 0


def shard_of(experiment: Experiment, part: Part) -> Experiment:
    """The experiment with the runs of one part, in its folder; each has its share of each contender.

    A matched run is in the same part as the run that it is matched with.

    Raises:
        UsageError: plans must first be extracted from stories, because parts cannot share them.
    """
    if missing := experiment.plans_missing():
        raise UsageError(
            f"The plan for {next(iter(missing))} must be extracted from its story first, because separate parts "
            "would extract different plans. Start the experiment without --shard, and stop it when its first "
            "run begins."
        )
    first = [trial for trial in experiment.trials if not trial.after]
    # Dealt contender by contender: else, where their number and that of the parts go into each other, a part would have
    # all runs of one of them, and with these all runs that are matched with them.
    order = {contender.label: number for number, contender in enumerate(experiment.contenders)}
    dealt = sorted(first, key=lambda trial: order[trial.contender.label])
    place = {trial.id: number % part.of for number, trial in enumerate(dealt)}
    trials = tuple(one for one in experiment.trials if place.get(one.after or one.id) == part.number - 1)
    folder = folder_of_part(experiment.folder, part)
    return replace(experiment, folder=folder, trials=trials, measures=(), plans={})


def merge_parts(experiment: Experiment, folders: Sequence[Path]) -> Merged:
    """Copy to the experiment's folder the runs of parts that are over, and begun runs that it does not have.

    Runs that are already over in the experiment's folder are kept unchanged. After a kill, each run is either complete
    or absent.

    Raises:
        UsageError: there is no part, or a run was started with another brief or other settings than the file has now.
        ProjectError: a process is working on one of the folders, or something cannot be written.
    """
    parts = folders or parts_beside(experiment.folder)
    for part in parts:
        if not (part / "runs").is_dir():
            raise UsageError(
                f"{part} contains no runs. Specify folders that `fabula lab experiment --shard` has written."
            )
    taken = {str(part): _take(experiment, part) for part in parts}
    with held(experiment.folder / ".fabula", f"The experiment in {experiment.folder}"):
        index = CellIndex(experiment.folder)
        over = sum(index.of(trial.id).outcome.state != "unfinished" for trial in experiment.trials)
    return Merged(str(experiment.folder), taken, over, len(experiment.trials))


def _take(experiment: Experiment, part: Path) -> int:
    """Copy the runs of one part, and return their number."""
    with (
        held(experiment.folder / ".fabula", f"The experiment in {experiment.folder}"),
        held(part / ".fabula", f"The part in {part}"),
    ):
        theirs, ours = CellIndex(part, keeps=False), CellIndex(experiment.folder)
        check_folders(replace(experiment, folder=part), theirs)
        count = 0
        for trial in experiment.trials:
            here, there = ours.of(trial.id), theirs.of(trial.id)
            better = there.outcome.state != "unfinished" or there.calls > here.calls
            if here.outcome.state != "unfinished" or not there.asked or not better:
                continue
            _copy(part / "runs" / trial.id, experiment.project(trial), experiment.folder / _COMING)
            ours.add(trial.id, there)
            count += 1
        rmtree(experiment.folder / _COMING, ignore_errors=True)
        return count


def _copy(source: Path, target: Path, coming: Path) -> None:
    """Copy a run's folder in one step.

    Raises:
        ProjectError: the folder cannot be written.
    """
    rmtree(coming, ignore_errors=True)
    try:
        copytree(source, coming, symlinks=True)
        make_folder(target.parent)
        rmtree(target, ignore_errors=True)
        coming.rename(target)
    except OSError as error:
        raise write_error(target, error) from error
