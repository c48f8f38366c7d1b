"""Settings of the side-by-side judge: the values of the papers, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from fabula.base.errors import ConfigError
from fabula.engine.methods import Presets

MARGIN: Final = 0.1  # where the two orders say A with 95 and 94 %, one story leads by 0.05; with 95 and 90 %, by 0.19


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the papers.

    Attributes:
        questions: which are asked, with commas between them (Agents' Room section 6.1: four dimensions; its appendix E
            and Character Simulation appendix B.5: and the story as a whole).
        samples: written assessments of each pair in each order (Character Simulation section 4.3: one).
        max_tokens: length of an assessment, for which the papers name no value, and whose example has about 400; none
            is the model's own limit.
    """

    questions: str = "plot, creativity, development, language use, overall"
    samples: int = 1
    max_tokens: int | None = 1500

    def __post_init__(self) -> None:
        if self.samples < 1 or (self.max_tokens is not None and self.max_tokens < 1):
            raise ConfigError("pairwise: samples and max_tokens are 1 or more.")


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds, and what the papers do not say.

    Attributes:
        verdicts: "written" are read from the ending of the assessment, as in the papers; "logprobs" are weighed by the
            probabilities of A, B and Same; "auto" weighs where the judge's engine can.
        margin: by how much the likeliest answer has to lead the other story's, in probability over both orders, before
            a weighed pair has a winner.
        assess: an assessment comes before verdicts that are weighed too.
        task_last: what is asked, with the template of the ending, stands after the stories, next to where the judge
            begins to answer; else before them, as in Agents' Room's appendix E and Character Simulation's B.5.
        cautions: the judge's prompt has what appendix D of Agents' Room asks of people.
        guard: the judge's prompt says that orders inside a story are a part of the story.
        ties: "half" a win for each side, or "none" for either.
        prior: imagined ties between every two systems; above 0 even a system that always wins has a strength.
        seed: of the baseline that chance makes.
    """

    verdicts: Literal["written", "logprobs", "auto"] = "written"
    margin: float = MARGIN
    assess: bool = True
    task_last: bool = False
    cautions: bool = False
    guard: bool = False
    ties: Literal["half", "none"] = "none"
    prior: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.prior < float("inf"):
            raise ConfigError("pairwise: prior is 0 or more.")
        if not 0 <= self.margin < 1:
            raise ConfigError("pairwise: margin is from 0 to below 1.")


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: probabilities where there are any, else three samples; cautions, guard, ties as half a win."""
        ours = Ours(verdicts="auto", task_last=True, cautions=True, guard=True, ties="half")
        return cls(Paper(samples=3, max_tokens=None), ours)
