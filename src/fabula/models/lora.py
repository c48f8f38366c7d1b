"""Conversion of a trained adapter (PEFT's folder) to the embedded engine's LoRA file, with only numpy.

For models of the llama architecture, the engine orders the rows of the query and key projections differently from the
training libraries (rotary pairs side by side instead of half a head apart). The rows of those `lora_B` are moved in the
same way; everything else is copied. Adapter folders may come from anywhere, so every size in them is checked.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fabula.base.errors import UsageError
from fabula.models.gguf import read_metadata, write_gguf

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fabula.models.base import Json
    from fabula.models.gguf import Value

    Matrices = dict[str, NDArray[np.float32]]

_MODULES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAME = re.compile(r"base_model\.model\.model\.layers\.(\d{1,4})\.([a-z_.]+)\.lora_([AB])(?:\.default)?\.weight")
_PERMUTED = ("llama",)
_PLAIN = ("qwen2",)
_DTYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LONGEST_HEADER = 1 << 24
_LARGEST_FILE = 1 << 32
_LARGEST_CONFIG = 1 << 20
_MATRIX = 2


def peft_to_gguf(folder: Path, target: Path, *, base: Path) -> Path:
    """Convert the PEFT LoRA adapter in `folder` for use with the GGUF file `base`, and return the finished `target`.

    `folder` holds `adapter_config.json` and `adapter_model.safetensors`. The architecture (llama or qwen2) and the
    number of heads come from the base, because PEFT's files do not have them. Tensors are written as float32.

    Raises:
        UsageError: a file is missing or damaged, or the adapter is of a kind that the engine cannot apply (DoRA,
            trained biases, whole trained modules, per-module alphas).
    """
    config = _read_config(folder / "adapter_config.json")
    metadata = read_metadata(base)
    architecture = str(metadata.get("general.architecture"))
    if architecture not in (*_PERMUTED, *_PLAIN):
        raise UsageError(
            f"{base} is a {architecture} model, but adapters can be converted only for llama and qwen2 models."
        )
    tensors = read_safetensors(folder / "adapter_model.safetensors")
    rank = int(config["r"])
    alpha = float(config["lora_alpha"]) * (math.sqrt(rank) if config.get("use_rslora") else 1.0)
    converted: Matrices = {}
    for name, matrix in sorted(tensors.items()):
        layer, module, side = _parsed(name, folder)
        if side == "B" and architecture in _PERMUTED and module in {"attn_q", "attn_k"}:
            matrix = _permuted(matrix, _heads(metadata, architecture, module), name)  # noqa: PLW2901 - same tensor
        converted[f"blk.{layer}.{module}.weight.lora_{side.lower()}"] = matrix
    _check_pairs(converted, folder)
    header: dict[str, Value] = {
        "general.type": "adapter",
        "general.architecture": architecture,
        "adapter.type": "lora",
        "adapter.lora.alpha": alpha,
    }
    write_gguf(target, header, converted)
    return target


def _read_config(path: Path) -> Json:
    """PEFT's settings, refused where they ask for more than two matrices beside each weight."""
    try:
        if path.stat().st_size > _LARGEST_CONFIG:
            raise UsageError(
                f"{path} is larger than {_LARGEST_CONFIG:,} bytes, so it does not contain the settings of an adapter."
            )
        config: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}. Specify the folder in which PEFT saved an adapter."
        ) from error
    settings: Json = config if isinstance(config, dict) else {}
    numbers = (settings.get("r"), settings.get("lora_alpha"))
    if any(not isinstance(n, int | float) or not 0 < n < _LONGEST_HEADER for n in numbers):
        raise UsageError(
            f"{path} has no positive numbers `r` and `lora_alpha`, so it does not contain the settings "
            "of a LoRA adapter."
        )
    if settings.get("bias") not in (None, "none"):
        raise UsageError(
            f"{path} has bias={settings['bias']!r}, but the engine applies only adapters with bias='none'."
        )
    if settings.get("use_rslora") and settings.get("rank_pattern"):
        raise UsageError(
            f"{path} has use_rslora with rank_pattern, which the engine cannot apply. Train without one of them."
        )
    for option in ("use_dora", "modules_to_save", "alpha_pattern", "fan_in_fan_out"):
        if settings.get(option):
            raise UsageError(
                f"{path} has {option}={settings[option]!r}, which the engine cannot apply. Train without it."
            )
    return settings


def _parsed(name: str, folder: Path) -> tuple[int, str, str]:
    match = _NAME.fullmatch(name)
    if match is None or match[2] not in _MODULES:
        known = ", ".join(m.rpartition(".")[2] for m in _MODULES)
        raise UsageError(f"The adapter in {folder} trains {name!r}, but only {known} can be converted.")
    return int(match[1]), _MODULES[match[2]], match[3]


def _heads(metadata: dict[str, str | float], architecture: str, module: str) -> int:
    heads = metadata.get(f"{architecture}.attention.head_count", 0)
    if module == "attn_k":
        heads = metadata.get(f"{architecture}.attention.head_count_kv", heads)
    return int(heads)


def _permuted(matrix: NDArray[np.float32], heads: int, name: str) -> NDArray[np.float32]:
    """Rows of each head from (first halves, second halves) to pairs side by side; see the module's first lines."""
    rows = matrix.shape[0]
    if heads <= 0 or rows % (2 * heads):
        raise UsageError(f"{name} has {rows} rows, which do not match {heads} heads, so the base is another model.")
    return matrix.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(matrix.shape)


def _check_pairs(converted: Matrices, folder: Path) -> None:
    for name, matrix in converted.items():
        partner = converted.get(name[:-1] + ("b" if name.endswith("a") else "a"))
        a, b = (matrix, partner) if name.endswith("a") else (partner, matrix)
        if a is None or b is None or a.shape[0] != b.shape[1]:
            raise UsageError(f"The adapter in {folder} has no matching lora_A and lora_B for {name[:-7]}.")
    if not converted:
        raise UsageError(f"The adapter in {folder} contains no matrices.")


def read_safetensors(path: Path) -> Matrices:
    """The matrices of a safetensors file as float32 arrays (rows, columns), by name.

    Raises:
        UsageError: the file is missing, too large or cut off, or its header does not fit its data.
    """
    try:
        size = path.stat().st_size
        if size > _LARGEST_FILE:
            raise UsageError(f"{path} has {size:,} bytes, but fabula reads adapters of up to {_LARGEST_FILE:,}.")
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            # A header said to be longer than the file or the limit is cut here, and is then no JSON.
            header = json.loads(file.read(min(length, _LONGEST_HEADER)))
            data = file.read()
        return {name: _matrix(entry, data) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as a safetensors file: {error}.") from error


def _matrix(entry: Any, data: bytes) -> NDArray[np.float32]:  # noqa: ANN401 - JSON of unknown shape
    dtype, (begin, end) = np.dtype(_DTYPES[entry["dtype"]]), entry["data_offsets"]
    rows, columns = entry["shape"] if len(entry["shape"]) == _MATRIX else (0, 0)
    if (
        not 0 <= begin <= end <= len(data)
        or rows <= 0
        or columns <= 0
        or rows * columns * dtype.itemsize != end - begin
    ):
        raise ValueError(f"shape {entry['shape']} does not fit bytes {begin} to {end} of {len(data)}")
    flat = np.frombuffer(data, dtype, count=rows * columns, offset=begin)
    if entry["dtype"] == "BF16":  # the upper half of a float32
        flat = (flat.astype("<u4") << 16).view("<f4")
    return flat.astype(np.float32).reshape(rows, columns)
