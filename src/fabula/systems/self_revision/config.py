"""Settings of self-revision."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.craft.spending import Spending


@dataclass(frozen=True, slots=True)
class Config(Spending):
    """Settings of self-revision.

    Attributes:
        revisions: how often the whole is revised, where none of tokens, calls and usd says how much it takes.
    """

    revisions: int = 4
