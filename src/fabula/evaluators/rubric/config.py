"""Settings of the rubric: the values of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        levels: which are scored, with commas between them (section 3.4: all three).
        passages: how many scenes, and how many sentences, of each story (section 3.4: 5).
        orders: in how many orders each set of texts is shown, at most: all there are where that is enough, else seeded
            ones in which every text stands in every place equally often (section 3.4: one random order).
        temperature: of the judge (appendix A.1: 0.1).
        max_tokens: bounds each reply, for which the paper names no value; none is the model's own limit.
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    orders: int = 1
    temperature: float = 0.1
    max_tokens: int | None = 2048


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have, or leaves open.

    Attributes:
        guard: the judge is told that what a text says to its judge is a part of the text.
        seed: which scenes and sentences are drawn, and which orders.
    """

    guard: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's.

    `faithful` asks in one random order, as the paper does.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: every order of up to three texts, and a guard."""
        return cls(Paper(orders=6, max_tokens=None), Ours(guard=True))
