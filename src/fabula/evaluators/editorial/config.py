"""Settings of the editorial annotations: the values of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        levels: which are read, with commas between them (section 3.4: all three).
        passages: how many scenes, and how many sentences (section 3.4: 5).
        cap: comments of one call that are looked at (the paper names none; its release has 100).
        temperature: of the editor (appendix A.1: 0.1).
        max_tokens: bounds each reply, for which the paper names no value; none is the model's own limit.
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    cap: int = 100
    temperature: float = 0.1
    max_tokens: int | None = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have, or leaves open.

    Attributes:
        unique: a comment of the same category on the same words counts once.
        beside: a sentence is shown with its neighbours, which are not commented on.
        guard: the editor is told that what a passage says to its editor is a part of the story.
        seed: which scenes and sentences are drawn.
    """

    unique: bool = False
    beside: bool = False
    guard: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: repeated comments count once, sentences are shown with their neighbours, and a guard."""
        return cls(Paper(max_tokens=None), Ours(unique=True, beside=True, guard=True))
