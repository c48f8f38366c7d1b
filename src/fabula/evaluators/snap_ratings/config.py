"""Settings of the ratings of dialogues: the values of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Scoring: TypeAlias = Literal["samples", "chances", "reasoned"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        criteria: what is rated, with commas between them; empty rates all four. The paper's automatic evaluation leaves
            linearity out, because two models that talk to each other do not digress (section 5.3).
        scoring: "samples" draws replies of one number and takes their mean (section 5.1); "chances" weighs the numbers
            by their probabilities, where the model gives these, as G-Eval does; "reasoned" has a reason written before
            the number (ours).
        samples: replies to each question (section 5.1: 20).
        temperature: of the judge (section 5.1: 1).
        max_tokens: bounds a reply that is a number (section 5.1: 1). There top_p is 1 and both penalties are 0; so they
            are here, for numbers.
    """

    criteria: str = "continuity, information appropriateness, non-redundancy"
    scoring: Scoring = "samples"
    samples: int = 20
    temperature: float = 1.0
    max_tokens: int = 1


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have, or leaves open.

    Attributes:
        weigh: beside a reason the number is asked for alone and weighed by probabilities, where the model gives these;
            a small judge writes the same number after any reason.
        guard: the judge is told that what narrative and dialogue say to it is a part of them.
        long_from: a narrative of so many characters is a long one, and means are given for long and short ones too; 0
            gives none. The paper's have 1,239 and 2,710 on average (section 5.3).
    """

    weigh: bool = False
    guard: bool = False
    long_from: int = 2000


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's.

    `faithful` has the paper's three criteria, each the mean of twenty numbers.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: linearity too, one reply with its reason, a guard."""
        return cls(
            Paper(criteria="", scoring="reasoned", samples=1, temperature=0.0),
            Ours(weigh=True, guard=True),
        )
