"""Settings of Agents' Room: the paper's values, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Variant: TypeAlias = Literal["plan", "write", "plan+write"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        variant: which agents take part (section 5, "Agents' Room Variants").
        orchestrator: "deterministic" (section 4.1), "llm", or a Python function as `file.py:name`.
        max_steps: T of Algorithm 1; the paper gives no value, ours is over twice the nine it needs.
        max_tokens: target length of one reply (section 5); 0 is the model's own limit.
    """

    variant: Variant = "plan+write"
    orchestrator: str = "deterministic"
    max_steps: int = 20
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds, and can be chosen.

    Attributes:
        words: replaces the brief's word range ("1300-1350", "~950"); empty keeps it.
        shares: the five parts' shares of the words, as "10,30,30,20,10".
        final_reading: the finalizer reads the whole once, against the brief, the plan and itself, and gives small edits
            that you can refuse (`fabula text edits`).
    """

    words: str = ""
    shares: tuple[float, ...] = (20, 25, 20, 17.5, 17.5)
    final_reading: bool = True


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a room."""

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: replies as long as the model can make them."""
        return cls(Paper(max_tokens=0), Ours())
