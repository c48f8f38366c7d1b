"""The number of threads of the embedded engine and their spin, which are measured once on a machine and stored.

The fastest choice depends on the cores, the model and other programs, and number and spin belong together: if four
threads spin, a small model is twice as fast on an idle machine but almost stops on a busy one. Some passes through
layers of the model's shape are therefore timed (`engine_process`), in at most half a second. No more threads spin than
there are free cores. The choice is not part of a call's identity, and changes no digit of a reply.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, asdict, dataclass, field
from importlib import metadata
from math import sqrt
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import FabulaError, ProjectError, UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.models.child import SPIN_POLICIES, ChildEndedError, EngineChild
from fabula.models.gguf import read_metadata
from fabula.models.known import fingerprint

if TYPE_CHECKING:
    from fabula.models.base import Json


SHORT, LONG = 1_000, 20_000
"""The spin settings to try. Threads sleep soon (after about 50 microseconds) or stay awake through a small step."""
_KIND = 1  # of what is kept; raised when the probe changes
_SECONDS: Final = 0.43  # of trials and the start of their processes
_LEAST_SECONDS: Final = 0.15  # of trials, also where the start takes long
_MOST_CORES = 32
_HOPELESS, _WORTH_ANOTHER, _SAME = 2.0, 1.3, 1.03
_HALF, _QUARTER = 0.5, 0.25
_AT_MOST_EACH = 60.0  # seconds between two measurements of one engine
_LOOKS_AGAIN = 300.0  # seconds until an engine that found a busy machine looks whether it still is
_GLANCES, _BETWEEN_GLANCES = 5, 0.005
_ENOUGH_PIECES = 16  # of text, for a speed that says something
_PACE_OVER, _PACE_AFTER = 6, 2.0

# A measurement's shape: bytes of weights in a pass, and the block and bytes of ggml's types by a GGUF's file type.
_WEIGHTS = 48e6
_FILE_TYPE: Final = "general.file_type"
_Q4_0: Final = (2, 32, 18)
_TYPES: Final = {
    0: (0, 1, 4),
    1: (1, 1, 2),
    2: _Q4_0,
    3: (3, 32, 20),
    7: (8, 32, 34),
    8: (6, 32, 22),
    9: (7, 32, 24),
    10: (10, 256, 84),
    **dict.fromkeys((11, 12, 13), (11, 256, 110)),
    **dict.fromkeys((14, 15), (12, 256, 144)),
    **dict.fromkeys((16, 17), (13, 256, 176)),
    18: (14, 256, 210),
    32: (30, 1, 2),
}
_WIDEST, _MOST_LAYERS, _MOST_WORDS = 1 << 16, 60, 1 << 18


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """The engine's threads for writing and for reading a prompt, and their spin (`None` means the default)."""

    threads: int
    spin: int | None
    reading: int


Trial: TypeAlias = "Callable[[EngineSetting], float]"
Probe: TypeAlias = "Callable[[Path, Iterable[int | None]], AbstractContextManager[Trial]]"


def usable_cores(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The cores that this process may use: its affinity, and its container's share of time (`groups`)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # cgroups, version 2
        share, period = (groups / "cpu.max").read_text(encoding="ascii").split()
        cores = min(cores, max(1, int(share) // int(period)))  # "max" is no number: no limit
    with suppress(OSError, ValueError):  # and version 1
        files = (groups / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
        share, period = (file.read_text(encoding="ascii") for file in files)
        if int(share) > 0:
            cores = min(cores, max(1, int(share) // int(period)))
    return cores


def others_running() -> float:
    """The mean number of threads of other programs that want a core now, from several samples."""
    seen = []
    for _ in range(_GLANCES):
        try:
            running = Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0]
            seen.append(max(0.0, float(running) - 1))  # without us
        except (OSError, ValueError, IndexError):
            return os.getloadavg()[0]
        time.sleep(_BETWEEN_GLANCES)
    return mean(seen)


def candidates(
    cores: int, free: int, spins: Sequence[int | None], asked: int | None = None
) -> tuple[EngineSetting, ...]:
    """The settings to try, grouped by spin, with fewer threads first.

    Args:
        cores: the number of usable cores.
        free: the number of them that no other program uses.
        spins: the spins, shortest first; threads with a longer spin get a core each.
        asked: the number of threads, if a user has set it.
    """
    most = min(cores, _MOST_CORES)
    steps = {*range(1, min(most, 4) + 1), 8, 16, most // 2, most - 1, most}
    numbers = [asked] if asked is not None else sorted(n for n in steps if 1 <= n <= most)
    return tuple(
        EngineSetting(n, spin, asked or max(n, min(free, most)))
        for spin in spins
        for n in numbers
        if spin == spins[0] or 1 < n <= free
    )


def fastest(tried: Sequence[EngineSetting], trial: Trial, clock: Callable[[], float], seconds: float) -> EngineSetting:
    """The setting with the shortest median time of interleaved trials, or an equally good one with fewer threads.

    A setting that is far behind is not tried again, and neither are more threads with the same spin.
    """
    end = clock() + seconds
    times: dict[EngineSetting, list[float]] = {}
    hopeless: dict[int | None, int] = {}
    for setting in tried:
        if clock() >= end and times:
            break
        if setting.threads < hopeless.get(setting.spin, _WIDEST):
            times[setting] = [trial(setting), trial(setting)]
            if min(times[setting]) > _HOPELESS * min(map(min, times.values())):
                hopeless[setting.spin] = setting.threads
    while len(times) > 1 and clock() < end:
        best = min(map(median, times.values()))
        for setting, taken in times.items():
            if median(taken) <= _WORTH_ANOTHER * best and clock() < end:
                taken.append(trial(setting))
    best = min(map(median, times.values()))
    return next(
        setting
        for setting in sorted(times, key=lambda setting: (setting.threads, setting.spin or 0))
        if median(times[setting]) <= _SAME * best
    )


# the probe ------------------------------------------------------------------------------------------------------------


@contextmanager
def measuring(weights: Path, spins: Iterable[int | None]) -> Iterator[Trial]:
    """A function that times one pass with a setting; it uses one process per spin, because OpenMP reads it only once.

    Raises:
        ChildEndedError, OSError: measuring is not possible here.
        UsageError: the file has no known shape.
    """
    with ExitStack() as stack:
        children: dict[int | None, EngineChild] = {}
        for spin in spins:
            children[spin] = EngineChild(spin)
            stack.callback(children[spin].close)
        said = read_metadata(weights, before="tokenizer.")
        if _FILE_TYPE not in said:
            said = read_metadata(weights)
        shape = shape_of(said, weights.stat().st_size)
        for child in children.values():
            child.send({"measure": shape})
        for child in children.values():
            if failed := child.answer().get("failed"):
                raise ChildEndedError(failed)

        def trial(setting: EngineSetting) -> float:
            child = children[setting.spin]
            child.send({"threads": setting.threads})
            return float(child.answer()["seconds"])

        for spin in children:
            trial(EngineSetting(1, spin, 1))  # the first pass of a process takes longer
        yield trial


def shape_of(said: Mapping[str, str | float], size: int) -> Json:
    """The sizes of the computation for a token, in enough layers for about 50 MB.

    Args:
        said: a GGUF file's metadata.
        size: the size of the file in bytes.

    Raises:
        UsageError: the file does not give the sizes.
    """
    architecture = str(said.get("general.architecture"))
    try:
        width, hidden, layers, heads, keys = (
            int(said[f"{architecture}.{name}"])
            for name in (
                "embedding_length",
                "feed_forward_length",
                "block_count",
                "attention.head_count",
                "attention.head_count_kv",
            )
        )
        kind, block, held = _TYPES.get(int(said.get(_FILE_TYPE, 0)), _Q4_0)
        keys = width * keys // heads
    except (KeyError, ValueError, TypeError, ZeroDivisionError) as error:
        raise UsageError(f"This model's file does not specify its shape: {error}.") from error
    if not all(0 < n <= _WIDEST for n in (width, hidden, layers, keys)):
        raise UsageError("This model's file specifies an impossible shape.")
    each = _parameters(width, hidden, keys) * held / block
    small = min(1.0, sqrt(_WEIGHTS / each))  # of very wide layers a smaller one stands for all
    width, hidden, keys = (max(256, round(n * small / 256) * 256) if small < 1 else n for n in (width, hidden, keys))
    if any(n % block for n in (width, hidden)):
        kind, block, held = _TYPES[1]
    each = _parameters(width, hidden, keys) * held / block
    taken = min(layers, _MOST_LAYERS, max(1, round(_WEIGHTS / max(each, size / layers))))
    rest = max(0.0, size - each * layers) * taken / layers  # the table of words
    words = min(_MOST_WORDS, max(256, round(rest * block / held / width)), int(_WEIGHTS * block / held / width))
    total = (taken * _parameters(width, hidden, keys) + words * width) * held / block
    return {
        "width": width,
        "hidden": hidden,
        "keys": keys,
        "layers": taken,
        "words": max(1, words),
        "kind": kind,
        "bytes": int(total) + (8 << 20),
    }


def _parameters(width: int, hidden: int, keys: int) -> int:
    return 2 * width * (width + keys) + 3 * width * hidden


# the choice -----------------------------------------------------------------------------------------------------------


@dataclass
class Tuner:
    """Chooses the setting of one engine; `None` of `cache` keeps nothing.

    Attributes:
        weights: the model's file.
        asked: the number of threads that a user has chosen; then only their spin is measured.
        cache: the folder for choices.
        environ: the environment, of which `GOMP_SPINCOUNT` and `OMP_WAIT_POLICY` are respected.
        probe: opens a function that tries a setting, given the weights and the spins.
        cores, others: give the usable cores, and those that other programs use.
        clock: a function that gives seconds.
    """

    weights: Path
    _: KW_ONLY
    asked: int | None = None
    cache: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    probe: Probe = measuring
    cores: Callable[[], int] = usable_cores
    others: Callable[[], float] = others_running
    clock: Callable[[], float] = time.monotonic
    _speed: float | None = field(default=None, init=False)
    _fell: bool = field(default=False, init=False)
    _taken: float = field(default=0.0, init=False)
    _again: float = field(default=0.0, init=False)
    _free: int = field(default=0, init=False)
    _setting: EngineSetting | None = field(default=None, init=False)

    def choose(self) -> EngineSetting:
        """The setting for the present state of this machine: a stored one, otherwise the fastest in some trials."""
        retaken = self._fell
        cores, tried = self._tried()
        kept = None if retaken else self._kept()
        self._taken, self._fell, self._speed = self.clock(), False, None
        if len(tried) == 1:
            self._setting = tried[0]
        elif kept is not None:
            self._setting, self._speed = kept
        else:
            self._again = self.clock() + (_AT_MOST_EACH if retaken else 0.0)
            self._setting = self._measure(tried) or _guess(cores, tried)
        return self._setting

    def heard(self, pieces: int, seconds: float) -> None:
        """Record a reply that was written alone: its pieces of text, and their time after the first."""
        if pieces < _ENOUGH_PIECES or seconds <= 0:
            return
        speed = pieces / seconds
        if self._speed is None:
            self._speed = speed
            self._keep()
        self._fell = self._fell or speed < _HALF * self._speed
        self._speed = max(self._speed, speed)

    def collapsed(self, pace: ReplySpeed) -> bool:
        """Whether a reply has become too slow to wait for, because other programs use the cores; this is recorded."""
        if self._speed is None or self._setting is None or not self._may_again():
            return False
        slow = pace.below(_QUARTER * self._speed)
        self._fell = self._fell or (slow and self._free_cores(self.cores(), self._setting.threads) < self._free)
        return self._fell

    def due(self) -> bool:
        """Whether to choose again, because the speed has halved, or cores that were in use may be free again."""
        if not self._may_again():
            return False
        waited = self.clock() - self._taken
        return self._fell or (self._free < self.cores() and waited >= _LOOKS_AGAIN)

    def _may_again(self) -> bool:
        return self.asked != 1 and self.clock() >= self._again

    def _tried(self) -> tuple[int, tuple[EngineSetting, ...]]:
        """The cores, and what may be tried on those that are free now."""
        cores = self.cores()
        self._free = self._free_cores(cores)
        own = any(name in self.environ for name in SPIN_POLICIES)
        return cores, candidates(cores, self._free, (None,) if own else (SHORT, LONG), self.asked)

    def _free_cores(self, cores: int, own: int = 0) -> int:
        """Of the cores that may be used, those that nobody else uses just now; `own` threads of ours are running."""
        elsewhere = max(0, (os.cpu_count() or cores) - cores)  # others may have these without taking ours
        return min(cores, max(1, cores - round(max(0.0, self.others() - own - elsewhere))))

    def _measure(self, tried: Sequence[EngineSetting]) -> EngineSetting | None:
        """The fastest, kept; `None` where this engine or file cannot be measured."""
        end = self.clock() + _SECONDS
        try:
            with self.probe(self.weights, dict.fromkeys(setting.spin for setting in tried)) as trial:
                setting = fastest(tried, trial, self.clock, max(_LEAST_SECONDS, end - self.clock()))
        except (ChildEndedError, OSError, FabulaError):
            return None
        self._setting = setting
        self._keep()
        return setting

    def _file(self) -> Path | None:
        """Where the choice for this model, machine, and number of free cores is kept."""
        if self.cache is None:
            return None
        own = [self.environ.get(name) for name in SPIN_POLICIES]
        key = [_KIND, fingerprint(self.weights), _processor(), self.cores(), self._free, self.asked, _version(), own]
        return self.cache / "threads" / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"

    def _kept(self) -> tuple[EngineSetting, float | None] | None:
        try:
            file = self._file()
            said: Json = json.loads(file.read_bytes()) if file is not None else {}
            speed = said.pop("speed")
            setting = EngineSetting(**said)
            numbers = (setting.threads, setting.reading, setting.spin or 1, speed or 1.0)
            return (setting, speed) if all(0 < number < _WIDEST for number in numbers) else None
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return None

    def _keep(self) -> None:
        """Write the choice down; where it cannot be written, the next engine measures again."""
        with suppress(OSError, ProjectError, UsageError):
            file = self._file()
            if file is not None and self._setting is not None:
                make_folder(file.parent)
                write_atomically(file, json.dumps({**asdict(self._setting), "speed": self._speed}))


def _guess(cores: int, tried: Sequence[EngineSetting]) -> EngineSetting:
    """Without a measurement: all cores but one, and a short spin."""
    wanted = cores - (cores > 2)  # noqa: PLR2004 - of two cores, both
    return max((setting for setting in tried if setting.threads <= wanted), default=tried[0], key=_by_threads)


def _by_threads(setting: EngineSetting) -> tuple[int, int]:
    return setting.threads, -(setting.spin or 0)


class ReplySpeed:
    """The speed at which a reply arrives, overall and at present."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first = self._last = 0.0
        self._lately: deque[float] = deque(maxlen=_PACE_OVER + 1)
        self.pieces = -1

    def piece(self) -> None:
        """Count a piece of text that arrived."""
        self._last = self._clock()
        self._first = self._first if self._lately else self._last
        self._lately.append(self._last)
        self.pieces += 1

    @property
    def seconds(self) -> float:
        """The seconds from the first piece to the last."""
        return self._last - self._first

    def below(self, speed: float) -> bool:
        """Whether the last pieces arrived below that speed for long enough to rule out chance."""
        if not speed or self.pieces < _PACE_OVER or self.seconds < _PACE_AFTER:
            return False
        return _PACE_OVER / (self._lately[-1] - self._lately[0]) < speed


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version() -> str:
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return ""
