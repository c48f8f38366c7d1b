"""What was learned from an author: shown, and put into use. `fabula.app.learning` learns it, and needs much more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import read_text
from fabula.training.libraries import require_libraries

if TYPE_CHECKING:
    from fabula.project.learned import Learned, Place

PACKAGES: Final = ("torch", "transformers", "peft", "trl", "datasets")
WHAT: Final = "Learning from your choices"
_LONGEST_REPORT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LearningStands:
    """What was learned from an author, as somebody is shown it.

    Attributes:
        learned: the record; `None` where nothing was.
        usable: its adapter is there.
        in_use: new projects write with it.
        unfinished: something is being learned, or was left halfway.
        report: what was found, as text.
        problem: why it cannot be read; empty where it can.
    """

    learned: Learned | None = None
    usable: bool = False
    in_use: bool = False
    unfinished: bool = False
    report: str = ""
    problem: str = ""

    @classmethod
    def at(cls, place: Place) -> LearningStands:
        """What was learned at a place."""
        unfinished = place.next.exists()
        try:
            learned = place.read()
            usable = learned is not None and place.has(learned)
            report = read_text(place.report, _LONGEST_REPORT) if place.report.is_file() else ""
        except FabulaError as error:
            return cls(unfinished=unfinished, problem=str(error))
        in_use = learned is not None and usable and learned.in_use
        return cls(learned, usable, in_use, unfinished, report)

    @property
    def is_there(self) -> bool:
        """Whether there is anything that could be forgotten."""
        return bool(self.learned or self.unfinished or self.problem)


def missing_packages() -> str:
    """What has to be installed before anything can be learned, with the command; empty where nothing has to be."""
    try:
        require_libraries(PACKAGES, WHAT)
    except UsageError as error:
        return str(error)
    return ""


def put_into_use(place: Place, *, on: bool = True) -> Learned:
    """Have new projects write with what was learned, although it is not shown to be better; or without it.

    Raises:
        UsageError: nothing was learned, or the record cannot be read.
        ProjectError: the place is in use, or cannot be written.
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
