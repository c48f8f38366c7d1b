"""Settings of ATLAS: what the paper says, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from fabula.craft.measuring import check_numbers
from fabula.engine.methods import Presets

ReadingName: TypeAlias = Literal["auto", "whole", "windows"]
_NEVER: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        baseline: the plain judge reads the whole story in one call as well (section 3.6).
        temperature: of all roles (appendix A.1: 0).
        scene_words: length at which a story without scenes is cut (appendix A.2.1: chapters of about 2,000 words).
        gold: a file with the known errors, for scores (section 3.6, appendix A.3).
    """

    baseline: bool = True
    temperature: float = 0.0
    scene_words: int = 2000
    gold: str = ""


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode has in the place of the paper's graph: a reader.

    Attributes:
        reading: "whole" reads the story in one call, "windows" in overlapping parts with notes that travel along;
            "auto" reads in windows what does not fit the model with room to spare.
    """

    reading: ReadingName = "auto"


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults are the paper's."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Ours: a model reads the text and another call verifies, inside scenes too; no plain judge next to it."""
        return cls(Paper(baseline=False), Ours())

    @property
    def by_graph(self) -> bool:
        """Whether graphs of scenes are compared, as in the paper, and no reader reads."""
        return self.ours is None

    @property
    def scene_words(self) -> int:
        """Length at which a story without scenes is cut; to a reader it is one scene."""
        return self.paper.scene_words if self.by_graph else _NEVER

    def validate(self) -> None:
        """Find now what the check would stumble over.

        Raises:
            UsageError: a number is out of range.
        """
        check_numbers(self, from_1=("scene_words",), from_0=("temperature",))
