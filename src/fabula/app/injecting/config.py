"""Settings of `fabula lab inject`: those of the paper's synthetic screenplays."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """The settings in the prompt of appendix A.3.3; both presets are the paper's.

    Attributes:
        stories: the number of screenplays in a set.
        least_scenes: the fewest scenes of a screenplay.
        most_scenes: the most scenes of a screenplay.
        least_pages: the fewest screenplay pages.
        most_pages: the most screenplay pages.
        least_errors: the fewest errors in each screenplay.
        most_errors: the most errors in each screenplay.
    """

    stories: int = 3
    least_scenes: int = 5
    most_scenes: int = 10
    least_pages: int = 20
    most_pages: int = 30
    least_errors: int = 15
    most_errors: int = 30

    def validate(self) -> None:
        """Check the settings before a run begins.

        Raises:
            UsageError: a number is out of range.
        """
        for one in fields(self):
            if (value := getattr(self, one.name)) < 1:
                raise UsageError(f"{one.name} = {value} must be at least 1. Use a larger number.")
        for name in ("scenes", "pages", "errors"):
            low, high = getattr(self, f"least_{name}"), getattr(self, f"most_{name}")
            if low > high:
                raise UsageError(f"least_{name} = {low} is more than most_{name} = {high}. Swap them.")
