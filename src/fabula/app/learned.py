"""What was learned from an author: showing and using it. `fabula.app.learning` learns it, and needs more packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import read_text
from fabula.project.learned import Learned, LearnedFolder, learned_for, without_learned
from fabula.systems import system_of
from fabula.training.libraries import require_libraries

if TYPE_CHECKING:
    from fabula.project.settings import Settings


PACKAGES: Final = ("torch", "transformers", "peft", "trl", "datasets")
WHAT: Final = "Learning from your choices"
_LONGEST_REPORT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class AdapterStatus:
    """The state of what was learned from an author.

    Attributes:
        learned: the record; `None` if nothing was learned.
        usable: whether its adapter exists.
        in_use: whether new projects write with it.
        unfinished: whether learning is in progress, or was interrupted.
        report: the results as text.
        problem: why the record cannot be read; empty if it can.
        missing: the packages that must be installed before learning; empty if there are none.
    """

    learned: Learned | None = None
    usable: bool = False
    in_use: bool = False
    unfinished: bool = False
    report: str = ""
    problem: str = ""
    missing: str = ""

    @classmethod
    def at(cls, place: LearnedFolder) -> AdapterStatus:
        """The state of what was learned, in this folder."""
        unfinished, missing = place.next.exists(), _missing_packages()
        try:
            learned = place.read()
            usable = learned is not None and place.has(learned)
            report = read_text(place.report, _LONGEST_REPORT) if place.report.is_file() else ""
        except FabulaError as error:
            return cls(unfinished=unfinished, problem=str(error), missing=missing)
        in_use = learned is not None and usable and learned.in_use
        return cls(learned, usable, in_use, unfinished, report, missing=missing)

    @property
    def is_there(self) -> bool:
        """Whether there is anything to forget."""
        return bool(self.learned or self.unfinished or self.problem)


def _missing_packages() -> str:
    try:
        require_libraries(PACKAGES, WHAT)
    except UsageError as error:
        return str(error)
    return ""


def activate(place: LearnedFolder, *, on: bool = True) -> Learned:
    """Have new projects write with what was learned, even if it is not shown to be better, or without it.

    Raises:
        UsageError: nothing was learned, or the record cannot be read.
        ProjectError: the folder is in use, or cannot be written.
    """
    if place.read() is None:  # looking makes no folder
        raise UsageError(f"Nothing was learned from {place.folder.name}.")
    with place.hold():
        before = place.read()
        if before is None:
            raise UsageError(f"Nothing was learned from {place.folder.name}.")
        after = (
            replace(before, anyway=before.anyway or not before.better, off=False) if on else replace(before, off=True)
        )
        if after != before:
            place.write(after)
        return after


def with_learned(
    settings: Settings, environ: Mapping[str, str], *, begun: bool, wanted: bool | None = None
) -> tuple[Settings, Learned | None]:
    """The settings with what was learned from the author, if it is `wanted`, or by default if the project is new.

    Raises:
        UsageError: it is wanted, but nothing was learned that the system can use.
    """
    if begun and wanted is None:
        return settings, None
    if wanted is not None:
        settings = without_learned(settings, environ)
    if wanted is False:
        return settings, None
    found = learned_for(settings, system_of(settings).roles, environ)
    if found is None and wanted:
        raise UsageError(
            f"Nothing that was learned can be used by {settings.system} with {settings.model}. `fabula learn "
            "--status` shows what was learned, for which model, and whether it is in use."
        )
    if found is None:
        return settings, None
    learned, adapters = found
    return settings.with_({"adapters": adapters}), learned
