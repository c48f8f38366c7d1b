"""Settings of the rubric: the values of the paper; improved mode has other ones, and prompts of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        levels: which are scored, separated by commas (section 3.4: all three).
        passages: how many scenes, and how many sentences, of each story (section 3.4: 5).
        orders: most orders in which each set of texts is shown: all, or else seeded ones in which every text has every
            place equally often (section 3.4: one random order).
        temperature: of the judge (appendix A.1: 0.1).
        max_tokens: bounds each reply; the number is ours, and none is the model's own limit.
        seed: of the draw of scenes, sentences and orders; the number is ours.
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    orders: int = 1
    temperature: float = 0.1
    max_tokens: int | None = 2048
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's.

    `faithful` asks in one random order, as the paper does.
    """

    paper: Paper = field(default_factory=Paper)

    @classmethod
    def improved(cls) -> Config:
        """Ours: every order of up to three texts."""
        return cls(Paper(orders=6, max_tokens=None))
