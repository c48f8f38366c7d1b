"""Settings of `fabula lab inject`: what the paper asks of its synthetic screenplays, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the prompt of appendix A.3.3 asks for; `stories` is taken from the command line where it is given there.

    Attributes:
        stories: screenplays of a set.
        least_scenes: of a screenplay.
        most_scenes: of a screenplay.
        least_pages: of a screenplay, as screenplay pages.
        most_pages: of a screenplay, as screenplay pages.
        least_errors: put into each.
        most_errors: put into each.
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
    """What the paper does not have.

    Attributes:
        errors: put into a story that is given.
        decoys: pairs of passages that look like an error and are none.
        distance: words that have to lie between an error and what it contradicts; 0 is any.
        tries: how often the editor is asked for edits that take the place of refused ones, the first time counted.
        at_once: errors that are asked for in one call.
        window: words of each of the two passages that an editor sees of a story that does not fit a prompt.
        proofread: another role says of each change whether it really is a contradiction.
        one_by_one: a screenplay is planned, written scene by scene without errors, and then edited, so that it has a
            twin; else one call writes all files of the set, as in the paper.
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
        """Ours: screenplays are written clean, then edited."""
        return cls(ours=Ours(one_by_one=True))

    def validate(self) -> None:
        """Find now what the run would stumble over.

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
                raise UsageError(f"{name} = {value} has to be at least 1. Give a larger number.")
        for name, value in (("decoys", ours.decoys), ("distance", ours.distance)):
            if value < 0:
                raise UsageError(f"{name} = {value} has to be at least 0. Give a larger number.")
        for name in ("scenes", "pages", "errors"):
            low, high = getattr(paper, f"least_{name}"), getattr(paper, f"most_{name}")
            if low > high:
                raise UsageError(f"least_{name} = {low} is more than most_{name} = {high}. Give them the other way.")
