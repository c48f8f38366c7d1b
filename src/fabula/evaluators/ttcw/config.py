"""Settings of the Torrance tests: the values of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

MethodName: TypeAlias = Literal["auto", "plain", "reference", "hybrid"]
Orders: TypeAlias = Literal["both", "candidate-first", "reference-first"]
Answer: TypeAlias = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        method: "plain" asks yes or no of the story without a reference (the baseline of section 4.2, which takes it
            from the authors of the tests), "reference" compares it with a reference (section 3.2), "hybrid" asks the
            originality tests plainly and the others by reference (section 5, "ours_opt" in appendix A.3); "auto" is
            "reference" where every story has a reference, else "plain" (ours).
        analyse: the judge writes an analysis before the label (section 3.3).
        orders: which of the two stories stands first; "both" asks each test twice (section 3.2).
        samples: replies to each prompt; the mean of those that can be read counts (section 3.2 has one reply; plainly,
            more than half have to say yes, which is ours).
        temperature: of the judge; the paper names none.
        max_tokens: bounds each reply, for which the paper names no value; none is the model's own limit.
        answer: where the plain method has its yes or no: the "first" word of the reply, as in the release of the tests,
            or its "last" line, after the analysis.
        tests: a JSON file in the format of the published tests; empty takes our own wording.
    """

    method: MethodName = "reference"
    analyse: bool = True
    orders: Orders = "both"
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int | None = 1024
    answer: Answer = "first"
    tests: str = ""


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        conclude: where no verdict can be read in a reply, the judge is asked once more which one it amounts to.
        guard: the prompt says that a story's words to its critic are part of the story and not to be obeyed, and no
            line of a story can pass for the line that closes it.
        look: the judge is shown what to gather before judging (the published tests have such lines, the prompt of the
            release leaves them out).
        only: tests to be put, by name or dimension, with commas between them; empty puts all.
    """

    conclude: bool = False
    guard: bool = False
    look: bool = False
    only: str = ""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` is by reference, in both orders, analysis first.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: works without a reference too, thinks before any answer, and reads more replies."""
        return cls(Paper(method="auto", answer="last", max_tokens=None), Ours(conclude=True, guard=True, look=True))
