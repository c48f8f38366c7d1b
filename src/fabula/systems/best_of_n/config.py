"""Settings of best-of-n."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.craft.spending import Spending


@dataclass(frozen=True, slots=True)
class Config(Spending):
    """Settings of best-of-n.

    Attributes:
        drafts: how many are written, unless tokens, calls or usd is set.
    """

    drafts: int = 4
