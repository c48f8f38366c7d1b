"""Settings of best-of-n."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.craft.spending import Spending


@dataclass(frozen=True, slots=True)
class Config(Spending):
    """Settings of best-of-n.

    Attributes:
        drafts: how many are written, where none of tokens, calls and usd says how much the story takes.
    """

    drafts: int = 4
