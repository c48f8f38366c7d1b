"""Settings of the editorial annotations: the values of the paper; improved mode has its own prompt."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        levels: which are read, separated by commas (section 3.4: all three).
        passages: how many scenes, and how many sentences (section 3.4: 5).
        cap: comments of one call that count (the paper names none; its release has 100).
        temperature: of the editor (appendix A.1: 0.1).
        max_tokens: bounds each reply; the number is ours, and none is the model's own limit.
        seed: of the draw of scenes and sentences; the number is ours.
    """

    levels: str = "story, chapter, sentence"
    passages: int = 5
    cap: int = 100
    temperature: float = 0.1
    max_tokens: int | None = 4096
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's."""

    paper: Paper = field(default_factory=Paper)

    @classmethod
    def improved(cls) -> Config:
        """Ours: the model's own limit; the prompt shows sentences with their neighbours."""
        return cls(Paper(max_tokens=None))
