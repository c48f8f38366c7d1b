"""Spending limits of a story: rounds of work until the allowed tokens, calls or dollars are nearly used.

So a single model is given what a room took on the same brief (`match` in an experiment's file).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ConfigError, UsageError
from fabula.engine.metering import metered
from fabula.engine.methods import Presets

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.models.base import Usage


AMOUNTS: Final = ("tokens", "calls", "usd")
_MOST: Final = 1000  # rounds


@dataclass(frozen=True, slots=True)
class Spending(Presets):
    """Settings of a system that continues until what it may take is used; there is no paper, so presets are the same.

    Attributes:
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        tokens: prompt and reply tokens that the story takes, as nearly as whole rounds can; 0 does not say.
        calls: the same in calls.
        usd: the same in US dollars.
    """

    words: str = ""
    tokens: int = 0
    calls: int = 0
    usd: float = 0.0

    def __post_init__(self) -> None:
        if sum(bool(getattr(self, name)) for name in AMOUNTS) > 1:
            raise ConfigError("Only one of tokens, calls and usd can limit a story. Leave the others out.")

    @property
    def amount(self) -> float:
        """The amount of the one that is set; 0 where none is."""
        return float(self.tokens or self.calls or self.usd)

    def of(self, usage: Usage) -> float:
        """What a call took, in the unit of the one that is set.

        Raises:
            UsageError: that is dollars, and the price is not known.
        """
        if self.usd and usage.cost is None:
            raise UsageError("The price of a model is not known, so a story cannot be limited in dollars. Use tokens.")
        return usage.prompt + usage.reply if self.tokens else 1.0 if self.calls else usage.cost or 0.0


async def rounds(run: Run, spending: Spending, usual: int, *paths: str) -> AsyncIterator[int]:
    """The numbers of the rounds, from 1 on, as long as one more brings what is used nearer to what is allowed.

    A round is taken to take what the one before it took. `usual` rounds, where nothing says what is allowed. `paths`
    are where a round asks, with a place for its number.

    Raises:
        UsageError: dollars are allowed, and a price is not known.
    """
    spent = last = 0.0
    for n in range(1, _MOST + 1):
        if n > 1 and (spent + last / 2 > spending.amount if spending.amount and spent else n > usual):
            break
        with metered(run, [path.format(n) for path in paths]) as took:
            yield n
        last = sum(map(spending.of, took)) or last
        spent += sum(map(spending.of, took))
