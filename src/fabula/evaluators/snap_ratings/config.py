"""Settings of the ratings of dialogues: the values of the paper, and what improved mode has otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        criteria: what is rated, with commas between them; empty rates all four. The paper's automatic evaluation leaves
            linearity out, because two models that talk to each other do not digress (section 5.3).
        samples: replies to each question, whose numbers have a mean (section 5.1: 20).
        temperature: of the judge (section 5.1: 1).
        max_tokens: bounds a reply that is a number (section 5.1: 1). There top_p is 1 and both penalties are 0; so they
            are here, for numbers.
        long_from: a narrative of so many characters is a long one, and means are given for long and short ones too, as
            in Tables 2 and 3; 0 gives none. The paper's have 1,239 and 2,710 on average (section 5.3).
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
