"""Settings of self-revision."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.craft.spending import Spending


@dataclass(frozen=True, slots=True)
class Config(Spending):
    """Settings of self-revision.

    Attributes:
        revisions: how often the whole is revised, unless tokens, calls or usd is set.
    """

    revisions: int = 4
