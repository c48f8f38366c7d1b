"""What a run was announced to ask, and what it does before it asks for more: says so, and asks a person."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import MoreThanAnnouncedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.engine.dry_run import DryRun

_SLACK: Final = 1.2

GoOn: TypeAlias = "Callable[[Announced], Awaitable[bool]]"
"""Asked before a run makes more than was announced: whether it goes on. It may say `renew` first."""


@dataclass(eq=False)
class Announced:
    """What a dry run announced, held against what the run then does.

    An estimate may be passed by a fifth, in calls and in dollars. Where it was said text by text (`exact`), no other
    text that stands is asked for, and no more calls are made than `DryRun.most`: a scene may take another turn than it
    took before, and a new plan may name a place that was not there. Beyond that `go_on` is asked, once at a time;
    without it, or where it says no, the run stops. After a yes nothing more is asked, unless `go_on` has put another
    announcement in place (`renew`).

    Attributes:
        expected: what was announced.
        exact: whether it was said text by text.
        go_on: who is asked.
        again: how to go on without being asked, for the message.
        made: calls made so far of what was announced.
    """

    expected: DryRun
    exact: bool = False
    go_on: GoOn | None = None
    again: str = "without an announcement"
    made: int = 0
    _spent: float = 0.0  # dollars of the run before this was announced
    _renewed: bool = False
    _lifted: bool = False
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def allow(self, path: str, spent_usd: float) -> None:
        """Let the call at `path` be made, after a person has agreed to it where it is more than was announced.

        Raises:
            MoreThanAnnouncedError: nobody agreed.
        """
        if self._is_more(path, spent_usd):
            async with self._asking:
                if self._is_more(path, spent_usd):  # not any more, where it was agreed to meanwhile
                    self._renewed = False
                    if self.go_on is None or not await self.go_on(self):
                        raise MoreThanAnnouncedError(
                            f"Stopped before more is asked than was announced: {self.sentence} The next would be "
                            f"{path}. Everything finished is kept; go on with {self.again}."
                        )
                    self._spent, self._lifted = spent_usd, not self._renewed
        self.made += 1

    def renew(self, expected: DryRun) -> None:
        """Put what is still to come in the place of what was announced; from here on as an estimate."""
        self.expected, self.exact, self.made, self._renewed = expected, False, 0, True

    @property
    def sentence(self) -> str:
        """What has happened, for a person."""
        calls = self.expected.most if self.exact else self.expected.calls[1]
        most = "at most " if self.exact else ""
        announced = f"{most}{calls:,} {'call was' if calls == 1 else 'calls were'} announced"
        return f"{announced}, {self.made:,} {'has' if self.made == 1 else 'have'} been made, and more are to come."

    @cached_property
    def _named(self) -> frozenset[str]:
        """The texts that are to be made, or that calls are planned for."""
        return frozenset((*self.expected.stale, *(self._text(call.path) for call in self.expected.planned)))

    def _text(self, path: str) -> str:
        """The path of the text that a call is for; empty if nobody knew of one there."""
        parts = path.split("/")
        above = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((one for one in above if one in self.expected.reached), "")

    def _is_more(self, path: str, spent_usd: float) -> bool:
        if self._lifted:
            return False
        if self.exact:
            text = self._text(path)
            return self.made + 1 > self.expected.most or bool(text and text not in self._named)
        if self.made + 1 > max(ceil(self.expected.calls[1] * _SLACK), 1):
            return True
        cost = max(one.cost or 0.0 for one in (self.expected, *self.expected.others))
        return bool(cost) and spent_usd - self._spent > cost * _SLACK
