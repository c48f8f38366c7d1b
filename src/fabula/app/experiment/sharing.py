"""What runs side by side share: models, opened once and closed when no run needs them, and the budget of the whole."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fabula.base.errors import BudgetError, UsageError
from fabula.engine.events import CallRetried
from fabula.engine.roles import Assignment, Cast, Person
from fabula.models.budget import Budget
from fabula.project.casting import Environment, open_cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabula.engine.events import Event
    from fabula.engine.methods import Method
    from fabula.engine.roles import Answer
    from fabula.models.base import Model, Usage
    from fabula.models.budget import Reservation
    from fabula.models.prices import Price
    from fabula.project.settings import Settings


@dataclass
class SharedModels:
    """Casts for many runs, whose models are the same objects wherever they are reached in the same way.

    Attributes:
        environ: variables that hold keys and folders.
        person: answers for roles played by a person.
        hear: hears of retries.
    """

    environ: Mapping[str, str]
    person: Answer | None = None
    hear: Callable[[Event], None] = lambda _: None
    _models: dict[str, Model] = field(default_factory=dict, init=False)
    _left: Counter[str] = field(default_factory=Counter, init=False)

    def expect(self, casts: Iterable[tuple[Settings, Method]]) -> None:
        """Say which casts will be wanted, one for each run, so that a model is closed after its last one."""
        for settings, method in casts:
            self._left.update({key for key, _ in _performers(settings, self._cast(settings, method))})

    def cast(self, settings: Settings, method: Method) -> Cast:
        """Who plays the method's roles; give it back with `done`, do not close it."""
        fresh = self._cast(settings, method)
        for key, model in _performers(settings, fresh):
            self._models.setdefault(key, model)  # one that is not kept was never started

        def with_shared_model(assigned: Assignment) -> Assignment:
            performer = assigned.performer
            if isinstance(performer, Person) and performer.model is not None:
                shared = self._models[_key(settings, performer.model)]
                return replace(assigned, performer=Person(performer.who, performer.answer, shared))
            return replace(assigned, performer=self._models.get(_key(settings, performer), performer))

        roles = {name: with_shared_model(assigned) for name, assigned in fresh.roles.items()}
        return replace(fresh, default=with_shared_model(fresh.default), roles=roles)

    async def done(self, settings: Settings, method: Method) -> None:
        """One run of those expected is over; models that no other one needs are closed."""
        for key in {key for key, _ in _performers(settings, self._cast(settings, method))}:
            self._left[key] -= 1
            if self._left[key] <= 0 and key in self._models:
                await self._models.pop(key).close()

    async def close(self) -> None:
        """Close what is still open."""
        while self._models:
            _, model = self._models.popitem()
            await model.close()

    def _cast(self, settings: Settings, method: Method) -> Cast:
        def retried(model: str, attempt: int, wait: float, reason: str) -> None:
            self.hear(CallRetried(model, attempt, wait, reason))

        world = Environment(self.environ, time.monotonic, retried, self.person)
        return open_cast(settings, method.roles, world, method.open_role)


def _performers(settings: Settings, cast: Cast) -> list[tuple[str, Model]]:
    """The models of a cast, with what they are known by; a person is looked through to the model behind."""
    found = []
    for part in (cast.default, *cast.roles.values()):
        performer: Model | None = part.performer
        if isinstance(performer, Person):
            performer = performer.model
        if performer is not None:
            found.append((_key(settings, performer), performer))
    return found


def _key(settings: Settings, model: Model) -> str:
    """A model's name and the way it is reached."""
    table = settings.models.get(model.name)
    return f"{model.name} {table.model_dump_json() if table else ''}"


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
