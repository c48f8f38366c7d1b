"""Settings of the end-to-end baseline: the paper's values, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        max_tokens: target length of the reply (section 5); 0 is the model's own limit.
    """

    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds and an author may set.

    Attributes:
        words: replaces the brief's word range; empty keeps it.
        chapters: a story of more than 5,000 words, or one whose brief asks for them, has chapters: one call for the
            plan, two for each. If false, the story is one text.
    """

    words: str = ""
    chapters: bool = True


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of the baseline; with `ours` the program in `improved.py` runs."""

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: a story without chatter, of the length asked for, and no limit but the model's."""
        return cls(Paper(max_tokens=0), Ours())
