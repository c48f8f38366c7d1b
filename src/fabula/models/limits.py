"""Concurrency, timeout and retry around any model."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import TypeAlias

from fabula.base.errors import ModelError, ModelTimeoutError, UnreachableError
from fabula.models.base import Capabilities, Model, OnText, Reply, Request, Wrapper
from fabula.models.servers import Servers, SharedTurns, Turns, is_sick

_MINUTE = 60
PAYS: ContextVar[Callable[[ModelError], Awaitable[None]] | None] = ContextVar("fabula_pays", default=None)
"""Pays for a failed attempt before the next one, or refuses it."""
SENT: ContextVar[Callable[[], None] | None] = ContextVar("fabula_sent", default=None)
"""Called when an attempt starts. From then on, the provider may charge for it even if it is abandoned."""
THOUGHT: ContextVar[OnText | None] = ContextVar("fabula_thought", default=None)
"""Counts the reasoning before a reply as it arrives, and can stop it."""
OnRetry: TypeAlias = "Callable[[str, int, float, str], None]"


@dataclass(eq=False)
class Limited(Wrapper):
    """A model with limits around another model.

    Calls are served in order of arrival. A call that waits for its next try lets others pass. While a reply streams,
    listeners may have seen pieces of a try that then failed. The next try starts the text again, and `Reply.text` is
    always the text of one try.

    The wait starts at `first_wait`, doubles up to `longest_wait`, and is drawn from the upper half of that range, so
    that callers do not return together. If a server's Retry-After is longer, it is used instead. An unreachable server
    is waited for only if it has answered before. Otherwise its address may be wrong, or it was never started.

    A model may have several servers (`replicas`, see `Servers`). If a call fails at one of them, it is sent to another
    server at once; it waits only if no server is available.

    Attributes:
        model: the model at its first server; the limits apply to each server.
        parallel: the number of calls at once, never more than the model's own limit; `None` means that limit.
        timeout: the seconds for one try, including streaming; `None` means no timeout.
        tries: how often one call may be tried.
        total_wait: the total seconds that a call may wait between its tries; a longer Retry-After fails at once.
        on_retry: called with (model, number of the failed try, seconds to wait, reason) before each wait.
        rng, sleep, now, clock: replaceable, so that waits are reproducible and tests take no time.
        shared: assigns the turns if other processes call the same servers, which `reached` names.
    """

    model: Model
    parallel: int | None = None
    timeout: float | None = 600.0
    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    total_wait: float = 300.0
    on_retry: OnRetry | None = field(default=None, repr=False)
    rng: random.Random = field(default_factory=random.Random, repr=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now().astimezone(), repr=False)
    replicas: Sequence[Model] = field(default=(), repr=False)
    shared: SharedTurns | None = field(default=None, repr=False)
    reached: str = ""
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _servers: Turns | None = field(default=None, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)
    _answered: bool = field(default=False, init=False, repr=False)

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities, with the number of simultaneous calls allowed at all servers together."""
        able = self.model.capabilities
        if self.parallel is None and not self.replicas:
            return able
        return replace(able, parallel=self._each(able) * (1 + len(self.replicas)))

    def _each(self, able: Capabilities) -> int:
        """Calls at once of each server."""
        return able.parallel if self.parallel is None else max(1, min(self.parallel, able.parallel))

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply, after as many tries as the limits allow.

        Raises:
            ModelError: the error does not justify another try, or all tries failed; the message gives their number.
        """
        waited = 0.0
        attempt = 1
        alike: Counter[type[ModelError]] = Counter()
        turned_away = 0
        while True:
            outcome, well = await self._turn(request, on_text)
            if isinstance(outcome, Reply):
                self._answered = True
                return outcome
            failure, elsewhere = outcome, well and turned_away < len(self.replicas)
            turned_away += elsewhere
            alike[type(failure)] += not elsewhere
            tried = failure.most_tries is not None and alike[type(failure)] >= failure.most_tries
            wait = 0.0 if elsewhere else None if tried else self._wait(failure, attempt, waited)
            if wait is None:
                raise self._given_up(failure, attempt, waited)
            if (pays := PAYS.get()) is not None:
                await pays(failure)
            if self.on_retry is not None:
                self.on_retry(self.name, attempt, wait, str(failure))
            if not elsewhere:
                await self.sleep(wait)
                waited += wait
                attempt += 1

    async def _turn(self, request: Request, on_text: OnText | None) -> tuple[Reply | ModelError, bool]:
        """The reply of a server, or its failure and whether another server is well."""
        turns, answered = self._turns(), False
        server = await turns.take()
        try:
            reply = await self._try((self.model, *self.replicas)[server], request, on_text)
        except ModelError as failure:
            return failure, bool(self.replicas) and is_sick(failure) and await turns.failed(server, failure.retry_after)
        else:
            answered = True
            return reply, False
        finally:
            turns.give(server, answered=answered)

    async def close(self) -> None:
        """Close the model at all its servers; a later call opens it again."""
        for model in (self.model, *self.replicas):
            await model.close()

    async def _try(self, model: Model, request: Request, on_text: OnText | None) -> Reply:
        """One try at a server, in time."""
        if (sent := SENT.get()) is not None:
            sent()
        clock = asyncio.timeout(self.timeout)
        try:
            async with clock:
                return await model.ask(request, on_text)
        except TimeoutError:
            if not clock.expired():
                raise
        raise ModelTimeoutError(
            f"{self.name} did not complete its reply within {self.timeout:g} s. Allow more time (timeout in "
            "fabula.toml), or request a shorter reply.",
            model=self.name,
        )

    def _turns(self) -> Turns:
        """The turns at the servers; new ones for each event loop, because a notebook may start several in turn."""
        loop = asyncio.get_running_loop()
        if self._servers is None or self._loop is not loop:
            servers, most = 1 + len(self.replicas), self._each(self.model.capabilities)
            rest = (self.first_wait, self.longest_wait)
            if self.shared is None:
                self._servers = Servers([most] * servers, rest, self.clock)
            else:
                self._servers = self.shared.turns(self.reached, servers, most, rest, self.timeout)
            self._loop = loop
        return self._servers

    def _wait(self, failure: ModelError, attempt: int, waited: float) -> float | None:
        """Seconds until the next try, or `None` if there is none."""
        back = self._answered and isinstance(failure, UnreachableError)
        if not (failure.retryable or back) or attempt >= self.tries:
            return None
        step = min(self.longest_wait, self.first_wait * 2 ** (attempt - 1))
        wait = step * self.rng.uniform(0.5, 1.0)
        if failure.retry_after is not None:
            wait = max(wait, failure.retry_after)
        return wait if waited + wait <= self.total_wait else None

    def _given_up(self, failure: ModelError, tries: int, waited: float) -> ModelError:
        """The last failure, saying what was tried and how long the server asks to wait, where that is too long."""
        said = [str(failure)]
        if not said[0].endswith((".", "!", "?")):  # a server's own words may end in nothing
            said[0] += "."
        asked = failure.retry_after
        if failure.retryable and tries < self.tries and asked is not None and waited + asked > self.total_wait:
            said.append(
                f"The server asks for a wait of {_time(asked)}{_until(self.now(), asked)}, which is longer than the "
                f"{_time(self.total_wait)} that a call may wait. Run the same command again later."
            )
        if tries > 1:
            said.append(f"fabula gave up after {tries} attempts and {waited:.0f} s of waiting.")
        if len(said) == 1:
            return failure
        last = type(failure)(" ".join(said), model=failure.model, retry_after=asked)
        last.tokens, last.may_cost = failure.tokens, failure.may_cost
        return last


def _time(seconds: float) -> str:
    """A length of time for people: "40 s", "5 min", "3 h 20 min", "2 d 4 h"."""
    if seconds < _MINUTE:
        return f"{ceil(seconds)} s"
    minutes = ceil(seconds / _MINUTE)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "d"), (hours, "h"), (0 if days else minutes, "min")]
    return " ".join(f"{count:,} {unit}" for count, unit in parts if count)


def _until(now: datetime, seconds: float) -> str:
    """When that time is over, on this machine's clock."""
    try:
        end = now + timedelta(seconds=seconds)
    except OverflowError:
        return ""
    return f", until {end:%H:%M}" if end.date() == now.date() else f", until {end:%Y-%m-%d %H:%M}"
