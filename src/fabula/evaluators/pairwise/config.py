"""Settings of the side-by-side judge: the values of the papers, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from fabula.base.errors import ConfigError
from fabula.engine.methods import Presets

SAME_SEED, ADAPTIVE = "same-seed", "adaptive"
MARGIN: Final = 0.1  # where the two orders say A with 95 and 94 %, one story leads by 0.05; with 95 and 90 %, by 0.19


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the papers, and of what they do not say.

    Attributes:
        questions: which are asked, separated by commas (Agents' Room section 6.1: four dimensions; its appendix E and
            Character Simulation appendix B.5 add the story as a whole).
        samples: written assessments of each pair in each order (Character Simulation section 4.3: one).
        max_tokens: length of an assessment (the papers' example has about 400); none is the model's own limit.
        ties: "half" a win for each side, or "none" for either; the papers do not say.
        prior: imagined ties between every two systems; above 0, a system that always wins has a finite strength.
        seed: of the chance baseline.
    """

    questions: str = "plot, creativity, development, language use, overall"
    samples: int = 1
    max_tokens: int | None = 1500
    ties: Literal["half", "none"] = "none"
    prior: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.samples < 1 or (self.max_tokens is not None and self.max_tokens < 1):
            raise ConfigError("pairwise: samples and max_tokens are 1 or more.")
        if not 0 <= self.prior < float("inf"):
            raise ConfigError("pairwise: prior is 0 or more.")


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        verdicts: "written" are read from the ending of the assessment, as in the papers; "logprobs" weighs A, B and
            Same by their probabilities; "auto" weighs if the judge's engine is known to give them.
        margin: by how much probability over both orders the likelier story has to lead to win a weighed pair.
        assess: whether an assessment also comes before weighed verdicts.
        pairs: which stories of two systems are compared on a prompt. "same-seed": first with first, and so on; a
            number: at most so many pairs, first those and then others; "adaptive": those pairs, a few at a time, until
            the share of wins of every two systems is known to `width`.
        width: of the interval of a share of wins at which an adaptive comparison ends.
    """

    verdicts: Literal["written", "logprobs", "auto"] = "auto"
    margin: float = MARGIN
    assess: bool = True
    pairs: str = SAME_SEED
    width: float = 0.2

    def __post_init__(self) -> None:
        if self.pairs not in {SAME_SEED, ADAPTIVE} and not (self.pairs.isdecimal() and int(self.pairs)):
            raise ConfigError(f'pairwise: pairs is "{SAME_SEED}", "{ADAPTIVE}" or a number from 1, not {self.pairs!r}.')
        if not 0 < self.width <= 1:
            raise ConfigError("pairwise: width is from above 0 to 1.")
        if not 0 <= self.margin < 1:
            raise ConfigError("pairwise: margin is from 0 to below 1.")


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: probabilities where there are any, else three samples; ties as half a win."""
        return cls(Paper(samples=3, max_tokens=None, ties="half"), Ours())

    @property
    def margin(self) -> float:
        """The margin of verdicts that were weighed, also of those that are read from a file."""
        return MARGIN if self.ours is None else self.ours.margin
