"""Settings of ATLAS: what the paper says, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets

MethodName: TypeAlias = Literal["paper", "hybrid", "rules"]
AttrMode: TypeAlias = Literal["scene", "node"]
LARGEST_BATCH: Final = 12


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
        method: "paper" builds graphs and compares each scene with all before it (section 3.5), "hybrid" lets rules
            and a model propose from local facts and verifies in local windows, "rules" asks no model and reports only
            name variants and collisions for which a strict rule holds.
        batch: proposals verified in one call, at most 12.
        gold: a file with the known errors, to score against; empty scores nothing.
    """

    method: MethodName = "paper"
    batch: int = LARGEST_BATCH
    gold: str = ""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's.

    Attributes:
        paper: values of the paper.
        ours: what is ours.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: the hybrid, which also looks inside scenes."""
        return cls(Paper(attr_mode="scene"), Ours(method="hybrid"))

    @property
    def asks_judge(self) -> bool:
        """Whether the plain judge is asked too; the rules ask nobody."""
        return self.paper.baseline and self.ours.method != "rules"

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
