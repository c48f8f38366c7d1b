"""What the rest of a run needs of its caps, before anything is asked that can be left out."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import FabulaError
from fabula.engine.dry_run import DryRun

if TYPE_CHECKING:
    from fabula.engine.context import RunContext
    from fabula.models.base import Usage

_STEP: Final = 0.1  # of what the rest takes, after which it is worked out anew; more, where more is left
_AMPLE: Final = 2.0  # times what the rest takes
_MARGIN: Final = 1.05  # times what the rest takes, as far as that is known


@dataclass(eq=False)
class Rest:
    """What the rest of a run takes at least, worked out by a dry run over what is recorded so far.

    In it everything that can be left out is left out, and replies are as long as those that came so far suggest. Calls
    that are on their way count as still to come.

    Attributes:
        tokens: of the rest, when it was worked out.
        usd: the same in US dollars.
        spent: tokens that the run had taken by then; -1 before it was worked out.
        let_in: tokens of calls since then that could have been left out.
    """

    tokens: int = 0
    usd: float = 0.0
    spent: int = -1
    let_in: int = 0
    _step: float = field(default=0.0, repr=False)
    _working: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def allows(self, context: RunContext, wanted: Usage, part: float = 1.0) -> bool:
        """Whether the caps have room for a call, which can be left out, beside what the rest needs.

        Of turns of which only `part` of the usual number was had, as many have room as their share of what is left is.
        """
        async with self._working:
            budget = context.budget
            since = budget.spent_tokens - self.spent
            if self.spent < 0 or since > self._step:
                await self._work_out(context)
                since = 0
            tokens = _MARGIN * max(self.tokens - since + self.let_in, 0)
            usd = self.usd * tokens / self.tokens if self.tokens else 0.0
            if part < 1:
                return part < budget.share_left(tokens, usd)
            took = wanted.prompt + wanted.reply
            if budget.share_left(took + tokens, (wanted.cost or 0.0) + usd) < 1:
                return False
            self.let_in += took
            return True

    async def _work_out(self, context: RunContext) -> None:
        """Walk over the rest, on a line of its own."""
        assert context.rehearse is not None  # noqa: S101 - nobody asks otherwise
        found = DryRun(bare=True)
        walk = context.walked(found)
        walk.listeners, walk.on_kept, walk.approve, walk.announced = (), None, None, None
        try:
            await asyncio.create_task(_walked(context.rehearse, walk), context=Context())
        except FabulaError:  # the run itself will come to it, and say so
            return
        self.tokens, self.usd = found.walked, sum(call.cost or 0.0 for call in found.planned)
        self.spent, self.let_in = context.budget.spent_tokens, 0
        over = min(context.budget.share_left(_MARGIN * self.tokens, _MARGIN * self.usd), _AMPLE) - 1
        self._step = max(_STEP, over / 2) * self.tokens


async def _walked(rehearse: Any, walk: RunContext) -> None:  # noqa: ANN401 - `RunContext.rehearse`
    await rehearse(walk)
