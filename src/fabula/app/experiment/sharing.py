"""What concurrent runs share: models, opened once and closed when no run needs them, and the overall budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fabula.app.writing import Options, PreparedMethod
from fabula.base.errors import BudgetError, UsageError
from fabula.engine.events import AnswersAwaited, CallRetried, Event
from fabula.engine.roles import Answer, Assignment, Cast, Person, Program
from fabula.models.adapters import Adapted
from fabula.models.budget import Budget
from fabula.project.casting import Environment, open_cast
from fabula.systems import system_of

if TYPE_CHECKING:
    from fabula.engine.methods import Method
    from fabula.engine.prompts import SystemPrompts
    from fabula.models.base import Model, Usage
    from fabula.models.servers import SharedTurns
    from fabula.project.settings import Settings


@dataclass
class SharedModels:
    """Casts for many runs; models that are reached in the same way are the same objects in all of them.

    Attributes:
        environ: variables that hold keys and folders.
        person: answers for roles played by a person.
        hear: receives retry events.
        dealt: gives out turns at servers that other processes also call.
    """

    environ: Mapping[str, str]
    person: Answer | None = None
    hear: Callable[[Event], None] = lambda _: None
    dealt: SharedTurns | None = None
    _models: dict[str, Model] = field(default_factory=dict, init=False)
    _left: Counter[str] = field(default_factory=Counter, init=False)
    _known: dict[int, _Shared] = field(default_factory=dict, init=False)

    def expect(self, casts: Iterable[Settings]) -> None:
        """Announce the casts that will be needed, one for each run, so that each model is closed after its last run."""
        for settings in casts:
            self._left.update(self._of(settings).keys)

    def cast(self, settings: Settings) -> Cast:
        """The cast for the system's roles; return it with `done`, and do not close it.

        Runs with exactly the same settings have one cast. Programs are an exception: each run has its own.
        """
        known = self._of(settings)
        fresh = known.cast
        if any(isinstance(part.performer, Program) for part in (fresh.default, *fresh.roles.values())):
            fresh = self._cast(settings, known.method)
        for key, model in _performers(settings, fresh):
            self._models.setdefault(key, model)  # one that is not kept was never started

        def shared(performer: Model) -> Model:
            if isinstance(performer, Person) and performer.model is not None:
                return Person(performer.who, performer.answer, shared(performer.model))
            if isinstance(performer, Adapted):
                return replace(performer, model=shared(performer.model))
            return self._models.get(_key(settings, performer), performer)

        def with_shared_model(assigned: Assignment) -> Assignment:
            return replace(assigned, performer=shared(assigned.performer))

        if known.shared is None or fresh is not known.cast:
            roles = {name: with_shared_model(assigned) for name, assigned in fresh.roles.items()}
            known.shared = replace(fresh, default=with_shared_model(fresh.default), roles=roles)
        return known.shared

    def prompts(self, settings: Settings) -> SystemPrompts:
        """The prompts of runs with these settings, read and compiled once."""
        known = self._of(settings)
        if known.prompts is None:
            known.prompts = PreparedMethod(settings, Options(), known.method).prompts
        return known.prompts

    async def done(self, settings: Settings) -> None:
        """Report that one of the expected runs is over; models that no other run needs are closed."""
        for key in self._of(settings).keys:
            self._left[key] -= 1
            if self._left[key] <= 0 and key in self._models:
                self._known.clear()
                await self._models.pop(key).close()

    async def close(self) -> None:
        """Close what is still open."""
        self._known.clear()
        while self._models:
            _, model = self._models.popitem()
            await model.close()

    def _of(self, settings: Settings) -> _Shared:
        known = self._known.get(id(settings))
        if known is None:
            method = system_of(settings)
            cast = self._cast(settings, method)
            known = _Shared(settings, method, cast, frozenset(key for key, _ in _performers(settings, cast)))
            self._known[id(settings)] = known
        return known

    def _cast(self, settings: Settings, method: Method) -> Cast:
        def retried(model: str, attempt: int, wait: float, reason: str) -> None:
            self.hear(CallRetried(model, attempt, wait, reason))

        def waits(folder: str, files: tuple[str, ...]) -> None:
            self.hear(AnswersAwaited(folder, files))

        world = Environment(self.environ, time.monotonic, retried, self.person, waits, turns=self.dealt)
        return open_cast(settings, method.roles, world, method.open_role)


@dataclass
class _Shared:
    """What runs with exactly the same settings have in common.

    Attributes:
        settings: the settings; keeping them alive keeps their `id` valid.
        method: the system that they name.
        cast: the cast as it was opened.
        keys: the keys of its models.
        shared: the cast with the models that all runs share.
    """

    settings: Settings
    method: Method
    cast: Cast
    keys: frozenset[str]
    shared: Cast | None = None
    prompts: SystemPrompts | None = None


def _performers(settings: Settings, cast: Cast) -> list[tuple[str, Model]]:
    """The models of a cast with their keys; persons and adapters are unwrapped."""
    found = []
    for part in (cast.default, *cast.roles.values()):
        performer: Model | None = part.performer
        while isinstance(performer, (Person, Adapted)):
            performer = performer.model
        if performer is not None:
            found.append((_key(settings, performer), performer))
    return found


def _key(settings: Settings, model: Model) -> str:
    """A model's name, how it is reached, and the adapters that it is loaded with."""
    table = settings.models.get(model.name)
    adapters = model.capabilities.adapters
    return f"{model.name} {table.model_dump_json() if table else ''} {sorted(adapters)}"


class WholeBudgetError(BudgetError):
    """The next call could exceed the cap of the whole experiment, so that nothing more is begun."""


@dataclass(eq=False)
class WholeBudget(Budget):
    """The budget of a whole experiment."""

    def stopped(self, cap: str, why: str, more: str) -> BudgetError:
        """The error that stops the experiment before its cap is passed."""
        return WholeBudgetError(str(super().stopped(cap, why, more)))

    def unpriced(self, role: str, model_name: str, cap: float) -> UsageError:  # noqa: ARG002 - any role, any cap
        """The error for a price that must be known and is not."""
        return _unpriced(model_name)


@dataclass(eq=False)
class SpreadBudget(WholeBudget):
    """The budget of a whole experiment in one worker, which exchanges what is spent with the other workers."""

    spend: Callable[[Usage], None] = lambda _: None

    def charge(self, usage: Usage) -> None:
        """Count what was used, and have the other workers count it."""
        super().charge(usage)
        self.spend(usage)

    def others(self, usage: Usage) -> None:
        """Count what another worker has used."""
        super().charge(usage)


@dataclass(eq=False)
class RunBudget(Budget):
    """The budget of one run of an experiment, which is a part of the whole experiment's."""

    def stopped(self, cap: str, why: str, more: str) -> BudgetError:  # noqa: ARG002 - the experiment's file has the cap
        """The error that stops a run before its cap is passed."""
        return BudgetError(
            f"{self.stops_at(cap)}: {why}. This is the budget for one run. Raise `run_tokens` or `run_usd` "
            "under [budget] and use --retry."
        )

    def unpriced(self, role: str, model_name: str, cap: float) -> UsageError:  # noqa: ARG002 - any role, any cap
        """The error for a price that must be known and is not."""
        return _unpriced(model_name)


def _unpriced(model_name: str) -> UsageError:
    return UsageError(
        f"The price of {model_name} is unknown, so a budget in dollars cannot be enforced. Add the price to the "
        "experiment's file, in dollars per million tokens: "
        f'[settings.prices."{model_name}"] input = 1.0, output = 4.0 (each on a separate line), '
        "or set budgets in tokens."
    )
