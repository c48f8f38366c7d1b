"""Workers as processes on this machine and as actors on a Ray cluster: their number, and what this machine sends."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, Final

from fabula.app.workers.pool import Channel, WorkerError, WorkerLostError
from fabula.app.workers.worker import Message, framed, length_of, serve
from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.models.providers import KINDS, Gateway

if TYPE_CHECKING:
    from fabula.project.settings import Settings


_HEAD: Final = 8
_PATIENCE: Final = 5.0  # seconds that a worker has to end by itself
_SHOWN: Final = 500  # characters of its last words


@dataclass(eq=False)
class ProcessChannel:
    """A worker in its own process, which ends with the driver."""

    process: asyncio.subprocess.Process
    said: IO[bytes]

    @classmethod
    async def open(cls, environ: Mapping[str, str]) -> ProcessChannel:
        """A new worker; `environ` is added to this process's variables."""
        said = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "fabula.app.workers.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
            env={**os.environ, **environ},
            start_new_session=True,  # Ctrl-C is for the driver, which ends the workers
        )
        return cls(process, said)

    async def send(self, message: Message) -> None:
        """Send a message."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        if self.process.stdin.is_closing() or self.process.returncode is not None:
            return
        with suppress(ConnectionError):
            self.process.stdin.write(framed(message))
            await self.process.stdin.drain()

    async def receive(self) -> list[Message]:
        """The next message.

        Raises:
            WorkerLostError: the process has ended.
        """
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            head = await self.process.stdout.readexactly(_HEAD)
            body = await self.process.stdout.readexactly(length_of(head))
        except asyncio.IncompleteReadError:
            code = await self.process.wait()
            self.said.seek(0)
            words = self.said.read().decode(errors="replace").strip()[-_SHOWN:]
            raise WorkerLostError(f"its process ended with code {code}. {words}".strip()) from None
        return [pickle.loads(body)]  # noqa: S301 - of a process that this one has begun

    async def close(self) -> None:
        """End the process; kill it if that takes long."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        self.process.stdin.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.process.wait()
        except TimeoutError:
            pass
        finally:
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    self.process.kill()
            self.said.close()


class RayWorker:
    """A worker as a Ray actor; the driver sends it messages and fetches its messages."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[Message | None] = asyncio.Queue()
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def send(self, message: bytes) -> None:
        """Accept a message."""
        if self._task is None:
            self._task = asyncio.create_task(serve(self._came.get, self._say))
        self._came.put_nowait(pickle.loads(message))  # noqa: S301 - the driver's, as this object is

    async def receive(self) -> list[bytes]:
        """The messages since the last call; waits for the first."""
        said = [await self._said.get()]
        while not self._said.empty():
            said.append(self._said.get_nowait())
        return said

    def _say(self, message: Message) -> None:
        self._said.put_nowait(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


@dataclass(eq=False)
class RayCluster:
    """A Ray cluster that this process is connected to.

    Attributes:
        ray: the module.
    """

    ray: Any

    @classmethod
    def connected(cls, address: str) -> RayCluster:
        """The cluster at an address such as ray://HEAD:10001; without an address, one that Ray finds or a new one here.

        Raises:
            UsageError: Ray is not installed.
            WorkerError: no cluster answers at the address.
        """
        # Without this, Ray warns of what a future version will do with graphics cards.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray = extra("ray", "ray", "A cluster (--on ray)")
        if not ray.is_initialized():
            try:
                ray.init(address or None, log_to_driver=False, logging_level="error", include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
                at, why = address or "the usual address", str(error).strip().partition("\n")[0]
                raise WorkerError(
                    f"No Ray cluster responds at {at}: {why} Start one with `ray start --head` and specify its "
                    "address (--on ray://HEAD:10001). If the cluster requires a token, set RAY_AUTH_MODE=token "
                    "and RAY_AUTH_TOKEN."
                ) from error
        # What Ray says of lost nodes and workers goes to stdout, where results are.
        ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 - Ray has no setting for it
        return cls(ray)

    @property
    def processors(self) -> int:
        """The number of workers for which the cluster has processors."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    async def open(self) -> RayChannel:
        """A new worker, on the node with the most room."""
        made = self.ray.remote(RayWorker).options(num_cpus=1, scheduling_strategy="SPREAD", max_concurrency=1000)
        return RayChannel(self.ray, made.remote())


@dataclass(eq=False)
class RayChannel:
    """A worker on a Ray cluster."""

    ray: Any
    actor: Any

    async def send(self, message: Message) -> None:
        """Send a message."""
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        with suppress(self.ray.exceptions.RayError):  # `receive` says that it is lost
            await self.actor.send.remote(data)

    async def receive(self) -> list[Message]:
        """The next messages.

        Raises:
            WorkerLostError: the worker or its node has ended.
            WorkerError: fabula is not installed on the node.
        """
        try:
            return [pickle.loads(data) for data in await self.actor.receive.remote()]  # noqa: S301 - our own actor's
        except self.ray.exceptions.RayError as error:
            if "ModuleNotFoundError" in str(error):
                raise WorkerError(
                    "fabula is missing on a node of the cluster. Install the same version on each node, or "
                    "start Ray from an environment that contains it."
                ) from error
            raise WorkerLostError(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}") from None

    async def close(self) -> None:
        """End the worker."""
        with suppress(self.ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError):  # it may be gone
            self.ray.kill(self.actor)


@dataclass(frozen=True)
class Spread:
    """The number of workers, and where they run.

    Attributes:
        workers: the number of workers; `None` for one per processor of the cluster.
        on: "ray", or the address of a Ray cluster; empty for processes on this machine.
    """

    workers: int | None = None
    on: str = ""

    def __post_init__(self) -> None:
        if self.on and self.on != "ray" and not self.on.startswith("ray://"):
            raise UsageError(f"--on {self.on}: specify `ray`, or the address of a cluster, as in ray://HEAD:10001.")

    @property
    def here(self) -> bool:
        """Whether workers share a disk with the driver."""
        return not self.on

    @property
    def waits(self) -> tuple[float, ...]:
        """Seconds before each new attempt to start a worker; a cluster takes a while to notice a lost node."""
        return (0.0, 0.0) if self.here else (1.0, 5.0, 15.0, 30.0)

    @cached_property
    def _cluster(self) -> RayCluster | None:
        return None if self.here else RayCluster.connected("" if self.on == "ray" else self.on)

    def count(self, jobs: int) -> int:
        """The number of workers for the given number of jobs at the same time.

        Raises:
            UsageError: Ray is not installed.
            WorkerError: no cluster is available.
        """
        cluster = self._cluster
        return self.workers or (1 if cluster is None else min(cluster.processors, jobs))

    async def hire(self, _place: int) -> Channel:
        """A new worker.

        Raises:
            UsageError: Ray is not installed.
            WorkerError: no cluster is available.
        """
        return await ProcessChannel.open({}) if self._cluster is None else await self._cluster.open()

    def environ(self, environ: Mapping[str, str], casts: Iterable[Settings]) -> dict[str, str]:
        """The variables that workers get; on another machine, only keys and addresses of the models."""
        if self.here:
            return dict(environ)
        names: set[str] = set()
        for settings in casts:
            for model in (settings.model, *settings.cast_models):
                kind, table = KINDS.get(model.partition(":")[0]), settings.models.get(model)
                names |= {*kind.keys, kind.address_variable} if kind else set()
                names |= {table.key_env, *Gateway(table.headers, table.query).variables()} if table else set()
        return {name: environ[name] for name in names if name in environ}


def check_nobody_plays(of: str, settings: Settings) -> None:
    """Make sure that workers can ask everyone who plays a role of `of`.

    Raises:
        UsageError: a person plays a role.
    """
    if any(role.play == "me" for role in settings.roles.values()):
        raise UsageError(
            f"A person plays a role in {of}, but workers cannot ask a person. Leave out --processes and --on."
        )
