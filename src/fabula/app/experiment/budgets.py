"""Budgets within a budget: what one run may spend, and what all of them may."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabula.base.errors import BudgetError, UsageError
from fabula.models.budget import Budget

if TYPE_CHECKING:
    from fabula.models.base import Usage
    from fabula.models.budget import Reservation
    from fabula.models.prices import Price


class WholeBudgetError(BudgetError):
    """The next call might pass the cap of the whole experiment, so nothing more is begun."""


@dataclass(eq=False)
class RunBudget(Budget):
    """The budget of one run, every call of which is also held and paid in the budget of the whole.

    Attributes:
        whole: of the experiment.
    """

    whole: Budget = field(default_factory=Budget)
    _shares: dict[Reservation, Reservation] = field(default_factory=dict, init=False, repr=False)

    def reserve(
        self, role: str, model_name: str, prompt_tokens_estimate: int, max_tokens: int, price: Price | None
    ) -> Reservation:
        """Hold what the next call may take, in both budgets.

        Raises:
            BudgetError: the call might pass the run's cap.
            WholeBudgetError: it might pass that of the whole.
            UsageError: there is a cap in dollars and the model's price is not known.
        """
        try:
            held = super().reserve(role, model_name, prompt_tokens_estimate, max_tokens, price)
        except BudgetError as error:
            stop = str(error).partition(" Everything finished")[0]
            raise BudgetError(
                f"{stop} That is the budget of one run. Raise `run_tokens` or `run_usd` under [budget] and say --retry."
            ) from error
        except UsageError as error:
            raise _unpriced(model_name) from error
        try:
            share = self.whole.reserve(role, model_name, prompt_tokens_estimate, max_tokens, price)
        except BudgetError as error:
            self.release(held)
            raise WholeBudgetError(str(error)) from error
        except UsageError as error:
            self.release(held)
            raise _unpriced(model_name) from error
        self._shares[held] = share
        return held

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """Put what a call really took on both bills."""
        share = self._shares.get(reservation)
        super().settle(reservation, usage)
        if share is not None:
            self.whole.settle(share, usage)

    def release(self, reservation: Reservation) -> None:
        """Give back what a failed call held; safe to call twice."""
        super().release(reservation)
        share = self._shares.pop(reservation, None)
        if share is not None:
            self.whole.release(share)


def _unpriced(model_name: str) -> UsageError:
    return UsageError(
        f"The price of {model_name} is not known, so a budget in dollars cannot be kept. Put it into the experiment's "
        f'file, in dollars per million tokens: [settings.prices."{model_name}"] input = 1.0, output = 4.0 (each on a '
        "line of its own), or give budgets in tokens."
    )
