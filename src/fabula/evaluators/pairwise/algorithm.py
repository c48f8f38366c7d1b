"""Side-by-side judging: Agents' Room section 6.2, Character Simulation section 4.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fabula.base.errors import ConfigError
from fabula.evaluators.pairwise.asking import ROLE, Judge
from fabula.evaluators.pairwise.criteria import questions_in
from fabula.evaluators.pairwise.pairs import pairs_of
from fabula.evaluators.pairwise.ranking import Counting, ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the papers'.

    Attributes:
        questions: which are asked, with commas between them.
        verdicts: "written" are read from the ending of the assessment; "logprobs" are weighed by the probabilities of
            A, B and Same; "auto" weighs where the judge's engine can.
        assess: an assessment comes before verdicts that are weighed too.
        samples: written assessments of each pair in each order.
        cautions: the judge is told what Agents' Room appendix D tells people.
        guard: the judge is told that orders inside a story are a part of the story.
        ties: "half" a win for each side, or "none" for either.
        prior: imagined ties between every two systems; above 0 it gives a strength also to who always wins.
        max_tokens: length of an assessment; the papers give none, and their example has about 400.
        resamples: of the bootstrap by prompt.
        seed: of the bootstrap.
    """

    questions: str = "plot, creativity, development, language use, overall"
    verdicts: Literal["written", "logprobs", "auto"] = "written"
    assess: bool = True
    samples: int = 1
    cautions: bool = False
    guard: bool = False
    ties: Literal["half", "none"] = "none"
    prior: float = 0.0
    max_tokens: int = 1500
    resamples: int = 1000
    seed: int = 1

    def __post_init__(self) -> None:
        if self.samples < 1 or self.resamples < 1 or not 0 <= self.prior < float("inf"):
            raise ConfigError("pairwise: samples and resamples are 1 or more, prior is 0 or more.")

    @classmethod
    def faithful(cls) -> Config:
        """The papers."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: probabilities where there are any, else three samples; cautions, guard, ties as half a win."""
        return cls(verdicts="auto", samples=3, cautions=True, guard=True, ties="half", max_tokens=700)

    @property
    def counting(self) -> Counting:
        """How verdicts become strengths."""
        return Counting(ties=self.ties, prior=self.prior, resamples=self.resamples, seed=self.seed)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Every pair of stories of one prompt is judged in both orders; the verdicts become strengths of their systems.

    Raises:
        UsageError: there is no pair to judge.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    questions = questions_in(config.questions)
    pairs = pairs_of(items)
    able = run.context.cast.assignment(ROLE).performer.capabilities.logprobs
    weighs = config.verdicts == "logprobs" or (config.verdicts == "auto" and able)
    ratings = await Judge(run, config, questions, weighs).judged(pairs)
    how = {
        "verdicts": "weighed by probabilities, averaged over both orders"
        if weighs
        else "written, read from the ending",
        "samples in each order": 1 if weighs else config.samples,
        "assessment first": config.assess or not weighs,
        "cautions of appendix D": config.cautions,
        "guard against orders in stories": config.guard,
        "pairs of stories": len(pairs),
    }
    return ranked(ratings, {item.id: item.story.text for item in items}, config.counting, how)
