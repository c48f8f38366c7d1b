"""The llama.cpp engine in this process, through `xllamacpp`: started, fed with bodies, freed.

Only this module and `embedded_body` know the engine's words. Everything here blocks; `embedded` runs it in threads.
"""

from __future__ import annotations

import importlib
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.base.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.models.base import Json

_MAGIC = b"GGUF"
_MOST_THREADS = 8
# Prefill is done in batches, and a call can only be cancelled between two: 256 tokens are 1-2 s on a slow machine,
# and cost 1 % of prefill speed against the engine's own 2,048.
_BATCH = 256
# Host memory for the states of prompts that lost their slot; the engine's own limit of 8 GiB would fill a laptop.
_PROMPT_CACHE_MIB = 2048


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the engine is started with: `context` tokens for each of `slots`; `adapters` in the order of their ids."""

    path: Path
    slots: int
    context: int
    threads: int | None
    adapters: tuple[Path, ...]


class Engine:
    """A running engine; made by `start_engine`, freed by `close`."""

    def __init__(self, server: Any) -> None:  # noqa: ANN401 - a compiled class without types
        self._server = server

    def stream(self, body: Json, on_chunk: Callable[[Json], bool]) -> None:
        """Answer one body, blocking; each chunk goes to `on_chunk`, which returns true to cancel.

        Errors of the engine arrive as a chunk `{"error": {...}}`, except for bodies it cannot parse.

        Raises:
            ValueError: the body cannot be parsed (a bad schema, most often).
        """
        self._server.handle_chat_completions(body, on_chunk)

    def close(self) -> None:
        """Free the engine's memory and threads."""
        self._server = None


def start_engine(settings: EngineSettings, model: str) -> Engine:
    """Load the weights and start the engine; takes 0.4 s (100 MB) to some seconds.

    Raises:
        ModelUnavailableError: xllamacpp is not installed, or a file is missing, no GGUF, or refused by the engine.
    """
    for path in (settings.path, *settings.adapters):
        check_gguf(path, model)
    xllamacpp = _import_xllamacpp(model)
    try:
        server = xllamacpp.Server(_params(xllamacpp, settings))
    except RuntimeError as error:
        with_adapters = " or an adapter does not belong to this model" if settings.adapters else ""
        raise ModelUnavailableError(
            f"The engine could not load {settings.path} ({error}). The file is damaged, of an architecture it does "
            f"not know,{with_adapters} or memory is short. Fetch the file again (`fabula models pull smollm2` gets a "
            "working one), or take a smaller context.",
            model=model,
        ) from error
    # Freeing a server whose loop has not begun to run hangs for ever; one answered call proves that it runs.
    server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})
    return Engine(server)


def check_gguf(path: Path, model: str) -> None:
    """Refuse a file that is not there or does not begin as a GGUF does, before the engine sees it.

    Raises:
        ModelUnavailableError: with what to do.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelUnavailableError(
            f"No model file at {path} ({error.strerror}). `fabula models pull smollm2` fetches a small one; any other "
            "GGUF file can be named by its path.",
            model=model,
        ) from error
    if magic != _MAGIC:
        raise ModelUnavailableError(
            f"{path} is not a GGUF file (it begins with {magic!r}). Give the path of a .gguf file, or fetch a small "
            "model with `fabula models pull smollm2`.",
            model=model,
        )


def usable_threads() -> int:
    """How many threads the engine takes when none are asked for: the cores this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def _import_xllamacpp(model: str) -> Any:  # noqa: ANN401 - a compiled module without types
    # Read by OpenMP when the library loads: with its default, threads that wait burn the cores that others need.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ModelUnavailableError(
            f"The embedded engine is not installed ({error}). `pip install xllamacpp`, or use a server "
            "(`openai-chat:MODEL --base-url URL`).",
            model=model,
        ) from error


def _params(xllamacpp: Any, settings: EngineSettings) -> Any:  # noqa: ANN401 - compiled classes without types
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots
    params.kv_unified = False  # each slot has its own share: as fast as one pool, and no call can starve another
    params.n_batch = _BATCH
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads or usable_threads()
    params.warmup = False
    params.verbosity = -1  # the engine's log lines would run through the user's progress display
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(path), 0.0) for path in settings.adapters]
    # The engine always listens on a loopback port. Nobody but us shall be able to use it.
    params.api_keys = [secrets.token_hex(32)]
    params.endpoint_slots = params.endpoint_props = params.ui = False
    return params
