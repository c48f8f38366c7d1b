"""How much memory and time a training needs, how much memory there is, and the settings of the machine that fit.

Both needs are estimates from the model's shape; what they were measured against stands in
`docs/design/0033-training.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.data.reading import json_object
from fabula.training.libraries import library
from fabula.training.running import Machine, TrainingSchedule

if TYPE_CHECKING:
    from fabula.training.presets import Computing


_GB: Final = 1e9
_LIBRARIES: Final = 0.55e9  # bytes of the process before a model is loaded
_HIDDEN, _INNER = 13, 5  # numbers of a token that a layer keeps for the way back, in units of its widths
_LOGITS: Final = 6  # copies of a token's logits at the peak
_SHARE: Final = 0.9  # of what is free that may be used
_MOST_AT_ONCE: Final = 2048  # tokens on a processor; more are no faster there
_FASTER: Final = 1.3  # times, for which bfloat16 is taken
_SIZE, _TRIES = 384, 6
# A processor core learns so many tokens a second times parameters of the model, in float32.
_LEARNT: Final = 94 * 135e6
_READ, _WRITTEN = 1 / 2.7, 7.8  # what a token that is read, or written, takes of the time of one that is learnt
_NARROW, _TWICE = 1 / 1.37, 1.3  # what bfloat16, and activations computed twice, make of that time
_CORES: Final = 0.85  # the power of their number by which cores are faster than one
_AROUND: Final = 10  # seconds in which a model is loaded, and its adapter written


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of a model's shape that determine its memory.

    Attributes:
        parameters: how many.
        layers: how many.
        hidden: width of the stream.
        inner: width of the layers' inner half.
        vocabulary: tokens.
        heads: of attention.
    """

    parameters: int
    layers: int
    hidden: int
    inner: int
    vocabulary: int
    heads: int


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a training on memory.

    Attributes:
        rank: of LoRA.
        tokens: of the longest sequence.
        sequences: that one example is: 1, and 2 for a pair.
        whole: whether every weight of the model is trained, and no LoRA.
    """

    rank: int
    tokens: int
    sequences: int = 1
    whole: bool = False


def shape_of(folder: Path, parameters: int) -> Shape:
    """The shape that a model's settings tell.

    Raises:
        UsageError: they cannot be read.
    """
    settings = json_object(folder / "config.json").fields

    def number(name: str, otherwise: int) -> int:
        found = settings.get(name)
        return found if isinstance(found, int) and found > 0 else otherwise

    hidden = number("hidden_size", number("d_model", 1024))
    return Shape(
        parameters,
        number("num_hidden_layers", 24),
        hidden,
        number("intermediate_size", 4 * hidden),
        number("vocab_size", 32_000),
        number("num_attention_heads", 16),
    )


def needed(shape: Shape, load: Load, machine: Machine) -> int:
    """Bytes at the peak of a training."""
    size = 2 if machine.bfloat16 else 4
    weights = shape.parameters * (2 if machine.bfloat16 and machine.device == "cuda" else 4)
    # A matrix beside each of the seven of a layer: itself, its gradient, two averages; all in float32.
    trained = 16 * load.rank * shape.layers * (8 * shape.hidden + 3 * (shape.hidden + shape.inner))
    if load.whole:  # each weight itself, its gradient, two averages; all in float32
        weights, trained = 0, 16 * shape.parameters
    tokens = machine.micro_batch * load.sequences * load.tokens
    layer = size * (_HIDDEN * shape.hidden + _INNER * shape.inner)
    kept = (layer + size * shape.layers * shape.hidden) if machine.checkpointing else layer * shape.layers
    logits = 4 * _LOGITS * shape.vocabulary
    return int(_LIBRARIES + weights + trained + tokens * (kept + logits))


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens are learnt, read and written from the beginning of a training to its end."""

    learnt: float
    read: float
    written: float


def tokens_of(schedule: TrainingSchedule, learnt: float, measured: float, written: int, *, beside: bool) -> Tokens:
    """The tokens of a training.

    Args:
        schedule: for how long.
        learnt: tokens of an example, on average.
        measured: tokens of all development examples.
        written: tokens of all answers for the model card.
        beside: whether the base reads all that the tuned model reads, as DPO's reference does.
    """
    steps = schedule.steps * schedule.batch * learnt
    read = measured * (math.ceil(schedule.steps / schedule.evaluate_every) + (1 if beside else 2))
    return Tokens(steps, (steps + 2 * read) if beside else read, written)


def seconds_needed(shape: Shape, tokens: Tokens, machine: Machine) -> float | None:
    """About how long a training takes on this processor; `None` on another device, where nothing was measured."""
    if machine.device != "cpu":
        return None
    worth = tokens.learnt + _READ * tokens.read + _WRITTEN * tokens.written
    speed = _LEARNT * library("torch").get_num_threads() ** _CORES
    slower = (_NARROW if machine.bfloat16 else 1) * (_TWICE if machine.checkpointing else 1)
    return _AROUND + float(worth * shape.parameters / speed * slower)


def free_bytes(device: str) -> int:
    """Bytes that are free on a device."""
    if device == "cuda":
        free, _ = library("torch").cuda.mem_get_info()
        return int(free)
    free = int(library("psutil").virtual_memory().available)
    limit, used = (_number(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    return free if limit is None or used is None else min(free, limit - used)


def _number(path: Path) -> int | None:
    """The number in a file of the system; `None` where it says "max", or is not there."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def fitting(shape: Shape, load: Load, batch: int, wanted: Computing, free: int | None = None) -> Machine:
    """How to compute with the memory there is: as many examples at once as fit, activations twice if they must.

    Args:
        shape: of the model.
        load: what is trained.
        batch: examples of a step; what is computed at once divides it.
        wanted: what was asked for; "auto" and 0 are found here.
        free: bytes that are free; found on the device where not given.

    Raises:
        UsageError: nothing fits; says what it needs and what there is.
    """
    device = device_of(wanted.device)
    bfloat16 = wanted.precision == "bfloat16" or (wanted.precision == "auto" and bfloat16_helps(device))
    room = free_bytes(device) if free is None else free
    most = max(1, min(batch, _MOST_AT_ONCE // (load.tokens * load.sequences))) if device == "cpu" else batch
    at_once = [n for n in range(most, 0, -1) if batch % n == 0]
    if wanted.micro_batch:
        if batch % wanted.micro_batch:
            raise UsageError(
                f"micro_batch = {wanted.micro_batch} does not divide batch = {batch}. Choose one that does."
            )
        at_once = [wanted.micro_batch]
    twice = {"on": (True,), "off": (False,), "auto": (False, True)}[wanted.checkpointing]
    tries = [Machine(device, bfloat16, number, again) for again in twice for number in at_once]
    for machine in tries:
        if needed(shape, load, machine) <= _SHARE * room:
            return machine
    least = min(needed(shape, load, machine) for machine in tries)
    raise UsageError(
        f"Training needs about {least / _GB:.1f} GB, but {room / _GB:.1f} GB are free on this machine ({device}). "
        "Use a smaller base, shorter texts (`--dry-run` names the settings) or a lower rank, or end other programs."
    )


def device_of(wanted: str) -> str:
    """The device that is meant by "auto", or the one that was asked for.

    Raises:
        UsageError: this machine has none of that kind.
    """
    torch = library("torch")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return next(device for device, is_there in there.items() if is_there)
    if not there[wanted]:
        raise UsageError(f"There is no device {wanted!r} here. Use --set device=auto.")
    return wanted


def bfloat16_helps(device: str) -> bool:
    """Whether matrices are multiplied faster in bfloat16 there; on a processor it is tried, in some milliseconds."""
    torch = library("torch")
    if device != "cpu":
        return device == "cuda" and bool(torch.cuda.is_bf16_supported())

    def seconds(kind: object) -> float:
        matrix = torch.ones((_SIZE, _SIZE), dtype=kind)
        times = []
        for _ in range(_TRIES):
            began = perf_counter()
            torch.mm(matrix, matrix)
            times.append(perf_counter() - began)
        return min(times)

    return seconds(torch.float32) > _FASTER * seconds(torch.bfloat16)
