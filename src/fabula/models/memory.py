"""The memory that a GGUF file needs when it runs, and the free memory, for a check before it is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from fabula.base.errors import UsageError
from fabula.models.gguf import read_metadata

USUAL_CONTEXT: Final = 8192
"""The default context length in tokens, if the model was trained for a context of this length."""
_PART: Final = re.compile(r"-(\d{5})-of-(\d{5})\.gguf\Z")
_MOST_PARTS: Final = 1000
_HALF: Final = 2  # bytes of a number in the states of a prompt
_FLOAT: Final = 4
_BATCH: Final = 256  # tokens that the engine reads at a time, as `engine_process` has it
_ENGINE: Final = 120_000_000  # bytes of the engine's own process, measured


def needed_memory(path: Path, context: int, slots: int = 1, size: int = 0) -> int | None:
    """The bytes of memory that the engine needs for this file: weights, prompt states, and working memory.

    Args:
        path: the GGUF file.
        context: the tokens of each slot; 0 means the default.
        slots: the number of calls at once.
        size: the size of all files of the model, if it has several.

    Returns:
        The bytes, or `None` if the file does not give its shape.
    """
    try:
        said = read_metadata(path, before="tokenizer.")
        size = size or path.stat().st_size
    except (OSError, UsageError):  # the engine says what is wrong with the file
        return None
    state = _state_of_a_token(said)
    if state is None:
        return None
    context = context or min(USUAL_CONTEXT, of_context(said) or USUAL_CONTEXT)
    return size + state * context * slots + _working(said, context) + _ENGINE


def parts_of(path: Path) -> list[Path]:
    """All files of a model, given the first one; usually only this file."""
    found = _PART.search(path.name)
    if found is None:
        return [path]
    total = int(found[2])
    names = (f"{path.name[: found.start()]}-{n:05}-of-{total:05}.gguf" for n in range(1, min(total, _MOST_PARTS) + 1))
    return [part for name in names if (part := path.with_name(name)).is_file()]


def of_context(said: Mapping[str, str | float]) -> int | None:
    """The tokens of context that a model was trained for, from a GGUF file's metadata."""
    length = said.get(f"{said.get('general.architecture')}.context_length")
    return int(length) if isinstance(length, int | float) and 0 < length < 1 << 31 else None


def context_of(path: Path) -> int | None:
    """The tokens of context that the model in a GGUF file was trained for; `None` if the file does not tell."""
    try:
        return of_context(read_metadata(path, before="tokenizer."))
    except UsageError:
        return None


def _state_of_a_token(said: Mapping[str, str | float]) -> int | None:
    """Bytes of a prompt's states for each of its tokens."""
    values = _shape(said)
    if values is None:
        return None
    layers, width, heads, keys = values
    key = int(said.get(f"{said['general.architecture']}.attention.key_length", width // heads))
    value = int(said.get(f"{said['general.architecture']}.attention.value_length", width // heads))
    return layers * keys * (key + value) * _HALF


def _shape(said: Mapping[str, str | float]) -> tuple[int, int, int, int] | None:
    """Layers, width, heads of attention, and those of keys."""
    architecture = said.get("general.architecture")
    try:
        layers, width, heads = (
            int(said[f"{architecture}.{name}"]) for name in ("block_count", "embedding_length", "attention.head_count")
        )
        keys = int(said.get(f"{architecture}.attention.head_count_kv", heads))
    except (KeyError, ValueError):
        return None
    known = all(0 < n < 1 << 20 for n in (layers, width, heads, keys))
    return (layers, width, heads, keys) if known else None


def _working(said: Mapping[str, str | float], context: int) -> int:
    """Bytes of what is computed at a time: scores of attention, the hidden layer, and the words' scores."""
    architecture = said.get("general.architecture")
    heads = int(said.get(f"{architecture}.attention.head_count", 1))
    hidden = int(said.get(f"{architecture}.feed_forward_length", 0))
    words = int(said.get(f"{architecture}.vocab_size", 0))
    return _BATCH * _FLOAT * (heads * context + 2 * hidden + words)


def free_memory(meminfo: Path = Path("/proc/meminfo"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The bytes of memory available to a program now, including the limit of its container; `None` if unknown."""
    free: int | None = None
    with suppress(OSError, ValueError, IndexError):
        lines = meminfo.read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):
        most = int((groups / "memory.max").read_text(encoding="ascii"))
        left = most - int((groups / "memory.current").read_text(encoding="ascii"))
        free = left if free is None else min(free, left)
    return free
