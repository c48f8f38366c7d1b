"""Settings of the Torrance tests: the values of the paper, and that improved mode adds to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft.measuring import check_numbers
from fabula.engine.methods import Presets

MethodName: TypeAlias = Literal["auto", "plain", "reference", "hybrid"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        method: "plain" asks yes or no of the story alone (the baseline of section 4.2), "reference" compares it with a
            reference (section 3.2), "hybrid" asks the originality tests plainly and the others by reference (section 5,
            "ours_opt" in appendix A.3); "auto", in improved mode only, is "reference" if every story has one, else
            "plain".
        analyse: the judge of two stories writes an analysis before the label (section 3.3).
        temperature: of the judge; the paper names none.
        max_tokens: bounds each reply; the number is ours, and none is the model's own limit.
        tests: a JSON file with the published tests (appendix A.2); empty uses fabula's wording.
        only: tests to ask, by name or dimension, separated by commas; empty asks all fourteen.
    """

    method: MethodName = "reference"
    analyse: bool = True
    temperature: float = 0.0
    max_tokens: int | None = 1024
    tests: str = ""
    only: str = ""


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds: no setting, but prompts of its own, and it works without a reference too."""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` is by reference, in both orders, analysis first.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: works without a reference too, and thinks before any answer, as long as it likes."""
        return cls(Paper(method="auto", max_tokens=None), Ours())

    def validate(self) -> None:
        """Find now what the evaluation would stumble over.

        Raises:
            UsageError: a number is out of range, or the paper has no such method.
        """
        check_numbers(self, from_1=("max_tokens",), from_0=("temperature",))
        if self.paper.method == "auto" and self.ours is None:
            raise UsageError(
                "method = auto is of the preset improved. Say plain, reference or hybrid to the preset faithful."
            )
