"""The default model: the one in the environment, or the one used last, or else the best on this machine.

For a new project, a model on a server of this machine takes precedence over an embedded model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabula.base.addresses import is_loopback
from fabula.base.errors import FabulaError
from fabula.base.files import make_folder, read_text, write_atomically
from fabula.models.finding import best_served, look
from fabula.models.hub import fetched
from fabula.models.known import KNOWN, installed, models_home
from fabula.models.memory import free_memory
from fabula.models.providers import may_hold_key
from fabula.project.casting import SERVERS, full_name
from fabula.project.settings import ModelTable, Settings
from fabula.project.trust import Act, state_home

VARIABLE: Final = "FABULA_MODEL"
_LARGEST: Final = 10_000
_LARGEST_HERE: Final = "the largest on this machine that fits into memory"
_OF_MEMORY: Final = 0.7  # of the free memory that a model's file may have
_KEPT: Final = ("embedded", *SERVERS)


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """A model that is used if nobody names one.

    Attributes:
        name: the full name of the model.
        why: the reason for this model, in words.
        base_url: its address, if it is not the usual one.
    """

    name: str
    why: str
    base_url: str = ""

    @property
    def sentence(self) -> str:
        """What a command says about it."""
        return f"Using the model {self.name}, {self.why}. To choose another, use --model."

    @property
    def changes(self) -> dict[str, Any]:
        """Its changes to settings, as tables."""
        changes: dict[str, Any] = {"model": self.name}
        return changes | {"models": {self.name: {"base_url": self.base_url}}} if self.base_url else changes


def default_model(environ: Mapping[str, str]) -> DefaultModel | None:
    """The default model; `None` if there is none.

    Raises:
        UnknownNameError: the name in the environment is not a model.
    """
    if said := environ.get(VARIABLE, "").strip():
        return DefaultModel(full_name(said), f"set by {VARIABLE}")
    home = models_home(environ)
    if (last := _last()) is not None and not _gone(last.name, home):
        return last
    here = [(known.size, known.name) for known in KNOWN.values() if installed(known.name, home)]
    here += [(model.size, model.name) for model in fetched(home)]
    free = free_memory()
    fits = [one for one in here if free is None or one[0] < free * _OF_MEMORY] or here
    return DefaultModel(f"embedded:{max(fits)[1]}", _LARGEST_HERE) if fits else None


async def offered_model(environ: Mapping[str, str]) -> DefaultModel | None:
    """The `default_model`, except that a model on a server here takes precedence over an unnamed embedded one.

    Raises:
        UnknownNameError: the name in the environment is not a model.
    """
    chosen = await asyncio.to_thread(default_model, environ)
    if chosen is not None and chosen.why != _LARGEST_HERE:
        return chosen
    servers = await look(environ)
    if found := best_served(servers):
        return DefaultModel(found[0], f"which {found[1]} on this machine serves")
    served = (f"{server.kind}:{model.name}" for server in servers for model in server.models)
    return chosen or next((DefaultModel(name, "which answers on this machine") for name in served), None)


def remember_model(settings: Settings) -> None:
    """Remember the model that has performed as the one used last.

    An address in a settings file is not remembered, nor is a model with one: one project's file must not affect
    another project. If the file cannot be written, nothing is remembered.
    """
    name = full_name(settings.model)
    table = settings.models.get(name, ModelTable())
    address, *replicas = table.addresses
    typed = is_loopback(address) or Act("address", address) in settings.typed
    if name.partition(":")[0] not in _KEPT or table.key_env or replicas or (address and not typed):
        return
    with suppress(OSError, FabulaError):
        make_folder(_place().parent)
        write_atomically(_place(), json.dumps({"model": name, "base_url": address}) + "\n")


def _place() -> Path:
    return state_home() / "model.json"


def _last() -> DefaultModel | None:
    """The model that was used last; `None` if nothing usable was recorded."""
    with suppress(OSError, FabulaError, ValueError, RecursionError):
        said = json.loads(read_text(_place(), _LARGEST))
        if isinstance(said, dict):
            name, address = str(said.get("model", "")), str(said.get("base_url", ""))
            if name and not may_hold_key(address):
                return DefaultModel(full_name(name), "which you used last", address)
    return None


def _gone(name: str, home: Path) -> bool:
    """Whether an embedded model has been removed from this machine."""
    kind, _, rest = name.partition(":")
    if kind != "embedded":
        return False
    if rest in KNOWN:
        return not installed(rest, home)
    return rest not in {model.name for model in fetched(home)} and not Path(rest).is_file()
