"""Settings of the ratings of dialogues: the values of the paper, and what improved mode has otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        criteria: what is rated, separated by commas; empty rates all four. The paper's automatic evaluation omits
            linearity, because two models do not digress (section 5.3).
        samples: replies to each question, of which the mean counts (section 5.1: 20).
        temperature: of the judge (section 5.1: 1).
        max_tokens: bounds a reply that is a number (section 5.1: 1). For numbers top_p is 1 and both penalties are 0,
            as there.
        long_from: characters of a long narrative; means are given for long and short ones too. 0 gives none.
    """

    criteria: str = "continuity, information appropriateness, non-redundancy"
    samples: int = 20
    temperature: float = 1.0
    max_tokens: int = 1
    long_from: int = 2000


@dataclass(frozen=True, slots=True)
class Ours:
    """Improved mode asks for a reason and warns its judge; there is nothing to set."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's.

    `faithful` has the paper's three criteria, each the mean of twenty numbers.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Linearity too, and one reply with its reason."""
        return cls(Paper(criteria="", samples=1, temperature=0.0), Ours())
