"""The best model for writing on this machine, and its source, for the model name `best`.

It is an instruction model of a hub from the table `HUB`, or otherwise a model from the package index. Memory, disk and
measured speed decide. A model that a server on this machine already serves takes precedence: `finding.best_served`.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from fabula.base.errors import ModelError, ModelUnavailableError, UsageError
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.hub import HubUnreachableError, fetched, pull_from_hub
from fabula.models.known import DEFAULT_MODEL, KNOWN, cache_home, installed, local_path
from fabula.models.memory import free_memory
from fabula.models.pull import pull

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabula.models.hub import HubModel, Report
    from fabula.models.known import KnownModel

    Agree = Callable[[str], bool]
    Speed = Callable[[Path, Mapping[str, str]], float]

QUICK: Final = KNOWN[DEFAULT_MODEL]
BETTER: Final = KNOWN["qwen2.5-coder-1.5b"]
_LONGEST: Final = 900  # seconds that a first story may take
_PIECE: Final = 48  # tokens that are written to see how fast that is
_SPARE: Final = 1.1  # times the bytes of a file that have to be free for it
_TOKENS: Final = 5_600  # that a room writes for a story of 900 words, what it draws again among them
# Seconds a token beside those of the quick model, by the bytes that are read for each: measured on two cores with the
# two models of the package index (98 MB: 111 tokens a second, 1,117 MB: 29.5).
_SLOWER, _SLOWER_BY_GB = 0.73, 2.7
_MEGA, _GB = 1e6, 1e9


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """A model that may be the best one here.

    Attributes:
        name: the name for `--model`.
        size: the bytes of its file.
        read: the bytes of the file that are read for each token, which are fewer for a mixture of experts.
        memory: the bytes of memory that it needs while it writes, with a context of 8,192 tokens.
    """

    name: str
    size: int
    read: int
    memory: int

    def seconds(self, pace: float) -> float:
        """The seconds for a story if the quick model writes `pace` tokens a second; 0 if that is not known."""
        return _TOKENS * (_SLOWER + _SLOWER_BY_GB * self.read / _GB) / pace if pace else 0.0


HUB: Final = (
    ModelCandidate(
        "hf:mistralai/Ministral-3-8B-Instruct-2512-GGUF:Q4_K_M", 5_200_000_000, 5_200_000_000, 7_000_000_000
    ),
    ModelCandidate("hf:unsloth/Qwen3-4B-Instruct-2507-GGUF:Q4_K_M", 2_497_281_120, 2_497_281_120, 4_200_000_000),
    ModelCandidate("hf:ibm-granite/granite-4.0-h-tiny-GGUF:Q4_K_M", 4_250_000_000, 800_000_000, 5_000_000_000),
)
"""Instruction models from a hub, with better models before faster ones. None of them thinks before it writes. The
sizes are from the publishers (the first and the last are rounded). fabula compares a downloaded file with the hub's
checksum, and accepts it only under one of the `LICENCES`. It has not been measured which of the models writes better
stories.
"""
LICENCES: Final = ("apache-2.0", "mit")
_INDEX: Final = ModelCandidate(BETTER.name, BETTER.size, BETTER.size, 2_600_000_000)


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model that can write now: its name for `--model`, a sentence about it, and its file if it has one."""

    name: str
    sentence: str
    file: str = ""
    size: int = 0
    sha256: str = ""

    @classmethod
    def known(cls, one: KnownModel, home: Path, sentence: str) -> Self:
        """A known model in the folder of models."""
        return cls(one.name, sentence, str(local_path(one.name, home)), one.size, one.sha256)

    @classmethod
    def of_hub(cls, one: HubModel, sentence: str) -> Self:
        """A model that was fetched from a hub."""
        return cls(one.name, sentence, one.file, one.size, one.sha256)


def pull_best(
    home: Path, environ: Mapping[str, str], report: Report, agree: Agree, speed: Speed | None = None
) -> ChosenModel:
    """The best model that this machine can write with, fetched if needed.

    The quick model is fetched first, to measure the speed of the machine. If no better model is available, or a better
    one would take too long, the quick model is chosen, and the sentence says why.

    Args:
        home: the folder of models.
        environ: the variables of the hub and of folders.
        report: gets a sentence for each step.
        agree: asks a person to agree to a sentence about a model's origin.
        speed: tokens a second of the quick model here; measured if not given.

    Raises:
        ModelUnavailableError: not even the quick model is available.
    """
    pull(QUICK, home, report=report)
    pace = (speed or _tokens_a_second)(home, environ)
    reasons: list[str] = []
    for candidate in HUB:
        try:
            model = _of_hub(candidate, pace, home, environ, report)
        except (ModelUnavailableError, UsageError) as error:
            reasons.append(str(error).rstrip("."))
            if isinstance(error, HubUnreachableError | UsageError):
                break
        else:
            sentence = f"{model.name} writes: {_minutes(candidate.seconds(pace))}, licence {model.licence}."
            return ChosenModel.of_hub(model, sentence)
    try:
        _check_fits(_INDEX, pace, home, here=installed(BETTER.name, home))
        pull_agreed(BETTER, home, report, agree)
    except ModelUnavailableError as error:
        reasons.append(str(error).rstrip("."))
        report(f"{'. '.join(reasons)}.")
        sentence = (
            f"{QUICK.name} writes, because no better model is available here. It is fast but forgets half of its plan."
        )
        return ChosenModel.known(QUICK, home, sentence)
    sentence = f"{BETTER.name} writes: {_minutes(_INDEX.seconds(pace))}."
    return ChosenModel.known(BETTER, home, sentence)


def pull_agreed(known: KnownModel, home: Path, report: Report, agree: Agree) -> Path:
    """The path of a known model, which is fetched if needed, after a person agrees to its origin.

    Raises:
        ModelUnavailableError: no one agrees, or the model is not available.
    """
    if known.caution and not installed(known.name, home) and not agree(f"{known.name}: {known.caution}"):
        raise ModelUnavailableError(
            f"{known.name} was not downloaded: {known.caution} To download it, run `fabula models pull {known.name} "
            "--yes`.",
            model=known.name,
        )
    return pull(known, home, report=report)


def _of_hub(candidate: ModelCandidate, pace: float, home: Path, environ: Mapping[str, str], report: Report) -> HubModel:
    """The candidate, fetched where it is not here yet.

    Raises:
        ModelUnavailableError: it does not fit, or cannot be had.
        UsageError: what asks a hub is not installed.
    """
    here = next((model for model in fetched(home) if model.name == candidate.name), None)
    _check_fits(candidate, pace, home, here=here is not None)
    return here or pull_from_hub(candidate.name, home, environ, report, licences=LICENCES)


def _check_fits(candidate: ModelCandidate, pace: float, home: Path, *, here: bool) -> None:
    """Check that a model has the memory, the disk and the time that it needs.

    Raises:
        ModelUnavailableError: it has not.
    """
    name, why, free, disk = candidate.name, "", free_memory(), None
    with suppress(OSError):
        disk = shutil.disk_usage(home).free
    if free is not None and free < candidate.memory:
        why = f"needs {candidate.memory / _MEGA:,.0f} MB of memory, but {free / _MEGA:,.0f} MB are free"
    elif disk is not None and not here and disk < candidate.size * _SPARE:
        why = f"needs {candidate.size * _SPARE / _MEGA:,.0f} MB of disk space, but {disk / _MEGA:,.0f} MB are free"
    elif (seconds := candidate.seconds(pace)) > _LONGEST:
        why = f"would take about {seconds / 60:.0f} minutes for a story here"
    if why:
        raise ModelUnavailableError(f"{name} {why}.", model=name)


def _tokens_a_second(home: Path, environ: Mapping[str, str]) -> float:
    """How fast the quick model writes here now; 0 where it cannot be seen."""
    model = EmbeddedModel(local_path(QUICK.name, home), name=f"embedded:{QUICK.name}", cache=cache_home(environ))
    request = Request((Message("user", "Tell a story."),), Sampling(max_tokens=_PIECE, seed=1))

    async def measured() -> float:
        try:
            await model.ask(request)  # the first call starts the engine
            usage = (await model.ask(request)).usage
            return usage.reply / usage.seconds if usage.seconds else 0.0
        finally:
            await model.close()

    try:
        return asyncio.run(measured())
    except ModelError:
        return 0.0


def _minutes(seconds: float) -> str:
    minutes = max(round(seconds / 60), 1)
    took = f"about {minutes} {'minute' if minutes == 1 else 'minutes'} a story" if seconds else "some minutes a story"
    return f"the best that this machine can run, in {took}"
