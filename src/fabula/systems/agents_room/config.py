"""Settings of Agents' Room: the paper's values, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Variant: TypeAlias = Literal["plan", "write", "plan+write"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper; improved mode changes the last two.

    Attributes:
        variant: which agents take part (section 5, "Agents' Room Variants").
        orchestrator: "deterministic" (section 4.1), "llm", or a Python function as `file.py:name`.
        max_steps: T of Algorithm 1; the paper gives no value; 20, over twice the nine it needs.
        max_tokens: target length of one reply (section 5); 0 is the model's own limit.
        instruction_first: an agent's instruction stands before the scratchpad (appendix B); else after it, which lets
            prefix caches hit.
    """

    variant: Variant = "plan+write"
    orchestrator: str = "deterministic"
    max_steps: int = 20
    max_tokens: int = 4096
    instruction_first: bool = True


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        tidy: what a model says around its text is taken out: greetings, headings, labels, marks of chat templates.
        length_control: the brief's word range is met, section by section.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        plan_tokens: bounds the reply of a planning agent; 0 leaves that to `max_tokens` and the model.
    """

    tidy: bool = False
    length_control: bool = False
    words: str = ""
    plan_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a room."""

    paper: Paper = Paper()
    ours: Ours = Ours()

    @classmethod
    def improved(cls) -> Config:
        """Ours: length control, no chatter, prompts that caches can reuse, and no limit but the model's."""
        return cls(Paper(max_tokens=0, instruction_first=False), Ours(tidy=True, length_control=True))
