"""Settings of `fabula lab inject`: those of the paper's synthetic screenplays, and our own."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """The settings in the prompt of appendix A.3.3; `stories` on the command line overrides the value here.

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


@dataclass(frozen=True, slots=True)
class Ours:
    """Settings that the paper does not have.

    Attributes:
        errors: the number of errors to put into a given story.
        decoys: the number of pairs of passages that look like an error but are not.
        distance: the fewest words between an error and what it contradicts; 0 allows any distance.
        tries: the number of calls to the editor, counting the first one and those that replace refused edits.
        at_once: the number of errors that one call asks for.
        window: the number of words in each of the two passages that an editor sees if the story does not fit into a
            prompt.
        proofread: whether another role judges whether each change really is a contradiction.
        one_by_one: whether a screenplay is planned, written scene by scene without errors, and then edited, so that it
            has a twin. Otherwise one call writes all files of the set, as in the paper.
    """

    errors: int = 9
    decoys: int = 6
    distance: int = 0
    tries: int = 3
    at_once: int = 15
    window: int = 3000
    proofread: bool = True
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Our settings: screenplays are written clean, then edited."""
        return cls(ours=Ours(one_by_one=True))

    def validate(self) -> None:
        """Check the settings before a run begins.

        Raises:
            UsageError: a number is out of range.
        """
        paper, ours = self.paper, self.ours
        for name, value in (
            ("stories", paper.stories), ("least_scenes", paper.least_scenes), ("least_pages", paper.least_pages),
            ("least_errors", paper.least_errors), ("errors", ours.errors), ("tries", ours.tries),
            ("at_once", ours.at_once), ("window", ours.window),
        ):  # fmt: skip
            if value < 1:
                raise UsageError(f"{name} = {value} must be at least 1. Use a larger number.")
        for name, value in (("decoys", ours.decoys), ("distance", ours.distance)):
            if value < 0:
                raise UsageError(f"{name} = {value} must be at least 0. Use a larger number.")
        for name in ("scenes", "pages", "errors"):
            low, high = getattr(paper, f"least_{name}"), getattr(paper, f"most_{name}")
            if low > high:
                raise UsageError(f"least_{name} = {low} is more than most_{name} = {high}. Swap them.")
