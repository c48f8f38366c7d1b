"""Settings of ROUGE."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets
from fabula.evaluators.rouge.scoring import VARIANTS


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the defaults give what rouge-score gives without any.

    `faithful` is what Agents' Room prints: ROUGE-L.

    Attributes:
        variants: separated by commas: rouge1, rouge2, rougeL (whole texts), rougeLsum (line by line).
        stemmer: words of more than three letters count as their Porter stems.
        parts: precision and recall too, as "rougeL/precision" and "rougeL/recall".
    """

    variants: str = "rougeL"
    stemmer: bool = False
    parts: bool = False

    @classmethod
    def improved(cls) -> Config:
        """All four, with precision and recall."""
        return cls(variants=",".join(VARIANTS), parts=True)
