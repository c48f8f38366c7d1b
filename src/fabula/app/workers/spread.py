"""The number of workers, where they run, and what this machine sends to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fabula.app.workers.channels import ProcessChannel, RayCluster
from fabula.base.errors import UsageError
from fabula.models.providers import KINDS, Gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.app.workers.pool import Channel
    from fabula.project.settings import Settings


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
