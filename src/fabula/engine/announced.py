"""The calls announced for a run, and the question to a person before the run makes more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import MoreThanAnnouncedError

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun


_SLACK: Final = 1.2

GoOn: TypeAlias = "Callable[[Announced], Awaitable[bool]]"
"""A question before a run makes more calls than announced: whether to continue. It may call `renew` first."""


@dataclass(eq=False)
class Announced:
    """The announcement of a dry run, compared with what the run then does.

    A run may exceed an estimate by a fifth, in calls and in dollars. If the announcement lists each text (`exact`), no
    other existing text is asked for, and no more calls are made than `DryRun.most`. That leaves room for a scene with
    other turns than before, and for a new plan that names a new place. Beyond these limits `go_on` is called. Without
    it, or if it says no, the run stops. After a yes there is no further question, unless `go_on` has set another
    announcement (`renew`).

    Attributes:
        expected: the announced dry run.
        exact: whether the announcement lists each text.
        go_on: the function that asks a person.
        again: how to continue without a question, for the message.
        made: the number of announced calls made so far.
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
        """Allow the call at `path`; if it exceeds what was announced, a person must agree first.

        Raises:
            MoreThanAnnouncedError: no one agreed.
        """
        if self._is_more(path, spent_usd):
            async with self._asking:
                if self._is_more(path, spent_usd):  # not any more, where it was agreed to meanwhile
                    self._renewed = False
                    if self.go_on is None or not await self.go_on(self):
                        raise MoreThanAnnouncedError(
                            f"Stopped before exceeding what was announced: {self.sentence} The next call would be "
                            f"{path}. All finished work is kept. To continue, use {self.again}."
                        )
                    self._spent, self._lifted = spent_usd, not self._renewed
        self.made += 1

    def renew(self, expected: DryRun) -> None:
        """Replace the announcement by what is still to come, as an estimate."""
        self.expected, self.exact, self.made, self._renewed = expected, False, 0, True

    @property
    def sentence(self) -> str:
        """A sentence for a person that compares the calls announced with the calls made."""
        calls = self.expected.most if self.exact else self.expected.calls[1]
        most = "at most " if self.exact else ""
        announced = f"{most}{calls:,} {'call was' if calls == 1 else 'calls were'} announced"
        return f"{announced}, {self.made:,} {'has' if self.made == 1 else 'have'} been made, and more are to come."

    @cached_property
    def _named(self) -> frozenset[str]:
        """The texts that must be made, or that calls are planned for."""
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
