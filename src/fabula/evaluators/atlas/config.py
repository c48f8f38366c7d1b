"""Settings of ATLAS: what the paper says, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets

MethodName: TypeAlias = Literal["paper", "reader"]
ReadingName: TypeAlias = Literal["auto", "whole", "windows", "both"]
AttrMode: TypeAlias = Literal["scene", "node"]
LARGEST_BATCH: Final = 12
_NEVER: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        attr_mode: the attribute pass once for each "node" (section 3.5) or once for each "scene".
        baseline: the plain judge reads the whole story in one call beside the method (section 3.6).
        temperature: of all roles (appendix A.1: 0).
        scene_words: length at which a story without scenes is cut (appendix A.2.1: chapters of about 2,000 words).
    """

    attr_mode: AttrMode = "node"
    baseline: bool = True
    temperature: float = 0.0
    scene_words: int = 2000


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have, or leaves open.

    Attributes:
        method: "paper" builds graphs and compares each scene with all before it (section 3.5), "reader" has the text
            read closely and each suspicion verified against it.
        reading: of the method reader. "whole" reads the story in one call, "windows" in overlapping parts with notes
            that travel from one to the next, "both" does both; "auto" reads whole what fits the model with room to
            spare, and in windows what does not.
        batch: proposals verified in one call, at most 12.
        gold: a file with the known errors, to score against; empty scores nothing.
    """

    method: MethodName = "paper"
    reading: ReadingName = "auto"
    batch: int = LARGEST_BATCH
    gold: str = ""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: a model reads the text and another call verifies, inside scenes too; no plain judge beside it."""
        return cls(Paper(attr_mode="scene", baseline=False), Ours(method="reader"))

    @property
    def scene_words(self) -> int:
        """Length at which a story without scenes is cut; to a reader it is one scene."""
        return self.paper.scene_words if self.ours.method == "paper" else _NEVER

    @property
    def asks_judge(self) -> bool:
        """Whether the plain judge is asked too."""
        return self.paper.baseline

    def validate(self) -> None:
        """Find now what the check would stumble over.

        Raises:
            UsageError: a number is out of range.
        """
        if not 1 <= self.ours.batch <= LARGEST_BATCH:
            raise UsageError(f"batch = {self.ours.batch} cannot be verified in one call. Give 1 to {LARGEST_BATCH}.")
        if self.paper.temperature < 0:
            raise UsageError(f"temperature = {self.paper.temperature} is below 0. Give 0 or more.")
        if self.paper.scene_words < 1:
            raise UsageError(f"scene_words = {self.paper.scene_words} is too few. Give 1 or more.")
