"""Turns at the servers of one model: which server answers a call, and how many calls each answers at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias
from weakref import WeakKeyDictionary

from fabula.base.errors import (
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    UnreachableError,
    UnreadableReplyError,
    UsageError,
)

STORY: ContextVar[object | None] = ContextVar("fabula_story", default=None)
"""The story of a call. All its calls go to one server because it has already read the beginning of their prompts."""
_Waiting: TypeAlias = "tuple[int, asyncio.Future[Server]]"


class Turns(Protocol):
    """Assigns the calls of a model to its servers, which are numbered, and says when a call begins."""

    async def take(self) -> int:
        """A server, as soon as it has room for the present story's call; `give` ends the turn."""

    def give(self, server: int, *, answered: bool) -> None:
        """End a turn."""

    async def failed(self, server: int, retry_after: float | None) -> bool:
        """Leave a failing server out for a while, and return whether another is available. The turn continues."""


class SharedTurns(Protocol):
    """Assigns turns if several processes call the same servers."""

    def turns(self, model: str, servers: int, most: int, rest: tuple[float, float], timeout: float | None) -> Turns:
        """The turns at a model's servers: each gets at most `most` calls at once, of at most `timeout` seconds."""


@dataclass(frozen=True)
class Part:
    """Gives an equal part of each server's calls to the `number`-th of several shards, which do not communicate."""

    number: int = 1
    of: int = 1

    def turns(
        self,
        model: str,
        servers: int,
        most: int,
        rest: tuple[float, float],
        timeout: float | None = None,  # noqa: ARG002 - each turn is ended by who took it
    ) -> Servers:
        """The turns of this shard; calls that cannot be divided equally go to the shards in turn.

        Raises:
            UsageError: this shard would have no call at any server.
        """
        calls = [most // self.of + ((self.number - 1 + one) % self.of < most % self.of) for one in range(servers)]
        if not any(calls):
            raise UsageError(
                f"{model} accepts {most * servers:,} calls at once, which is too few for {self.of} shards. Use at most "
                f'{most * servers:,} shards, or raise `parallel` under [settings.models."{model.partition(" ")[0]}"].'
            )
        return Servers(calls, rest, time.monotonic)


@dataclass(eq=False)
class Server:
    """One server of a model.

    Attributes:
        number: its position among the servers.
        most: the number of calls that it may get at once.
        busy: the number of calls that it answers now.
        stories: the stories assigned to it.
        failures: the number of failures since it last answered.
        rests_until: when it may be called again after them.
        waiting: the calls that prefer this server, by number of arrival.
    """

    number: int
    most: int
    busy: int = 0
    stories: int = 0
    failures: int = 0
    rests_until: float = 0.0
    waiting: deque[_Waiting] = field(default_factory=deque)


class Servers:
    """The turns at the servers of one model, for one event loop.

    A story is assigned to the server with the fewest calls. Its later calls go there too, unless that server is full or
    failing and another is not. A failing server is left out for a while, which doubles each time, and is then tried
    with a single call. If all servers fail, none is left out, and the caller decides how long to wait.
    """

    def __init__(self, most: Sequence[int], rest: tuple[float, float], clock: Callable[[], float]) -> None:
        """Set up the servers: `most` calls at once for each, then `rest[0]` to `rest[1]` seconds of rest on failure."""
        self._servers = tuple(Server(number, calls) for number, calls in enumerate(most))
        self._rest, self._clock = rest, clock
        self._homes: WeakKeyDictionary[object, Server] = WeakKeyDictionary()
        self._arrived = 0

    async def take(self) -> int:
        """As in `Turns`."""
        return (self._at_once() or await self._in_order()).number

    def give(self, server: int, *, answered: bool) -> None:
        """As in `Turns`."""
        one = self._servers[server]
        one.busy -= 1
        if answered:
            one.failures, one.rests_until = 0, 0.0
        self._begin_more()

    async def failed(self, server: int, retry_after: float | None) -> bool:
        """As in `Turns`."""
        one = self._servers[server]
        one.failures += 1
        rest = min(self._rest[1], self._rest[0] * 2.0 ** min(one.failures - 1, 30))
        one.rests_until = self._clock() + max(rest, retry_after or 0.0)
        well = [other for other in self._servers if other is not one and self._is_well(other)]
        while well and one.waiting:  # who waits for it would wait behind all that the others are given
            min(well, key=_load).waiting.append(one.waiting.popleft())
        return bool(well)

    def _is_well(self, server: Server) -> bool:
        return not server.failures or (self._clock() >= server.rests_until and not server.busy)

    def _with_room(self) -> list[Server]:
        """The servers that may be given a call now."""
        well = [server for server in self._servers if self._is_well(server)] or self._servers
        return [server for server in well if server.busy < server.most]

    def _at_once(self) -> Server | None:
        """A server with room, the story's own first; `None` where there is none, or others wait."""
        if not (free := self._with_room()) or any(server.waiting for server in self._servers):
            return None
        home = self._home()
        server = home if home in free else min(free, key=_load)
        server.busy += 1
        return server

    def _home(self) -> Server:
        """The server of the story at work; the one with the fewest calls where it has none, or a sick one."""
        story = STORY.get()
        home = None if story is None else self._homes.get(story)
        if home is None or not self._is_well(home):
            well = [server for server in self._servers if self._is_well(server)] or self._servers
            home = min(well, key=_load)
            home.stories += 1
            if story is not None:
                self._homes[story] = home
        return home

    async def _in_order(self) -> Server:
        """A server, in order of arrival; but each takes first what waits for it."""
        self._arrived += 1
        turn: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        queue, place = self._home().waiting, (self._arrived, turn)
        queue.append(place)
        self._begin_more()
        try:
            return await turn
        except asyncio.CancelledError:
            if place in queue:
                queue.remove(place)
            elif turn.done() and not turn.cancelled():  # the turn has come in the meantime
                turn.result().busy -= 1
                self._begin_more()
            raise

    def _begin_more(self) -> None:
        """Give servers with room to calls that wait."""
        while (queues := [one.waiting for one in self._servers if one.waiting]) and (free := self._with_room()):
            server = max(free, key=lambda one: (bool(one.waiting), -one.busy))
            queue = server.waiting or min(queues, key=lambda queue: queue[0][0])
            _, turn = queue.popleft()
            if not turn.done():
                server.busy += 1
                turn.set_result(server)


def _load(server: Server) -> tuple[int, int]:
    return server.busy + len(server.waiting), server.stories


def is_sick(failure: ModelError) -> bool:
    """Whether a failure is the server's, not the call's: the server is unreachable, overloaded or silent."""
    worked = isinstance(failure, UnreadableReplyError) or any(failure.tokens)
    return isinstance(failure, UnreachableError | OverloadedError | ModelTimeoutError) and not worked
